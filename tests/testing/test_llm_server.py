from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, AsyncStream, OpenAI
from openai.types.chat import ChatCompletionChunk

from goat.records.models import ToolCall
from goat.testing.llm_answers import (
    LEAKS,
    Tokens,
    calls,
    error_inside,
    fails,
    leaks,
    no_choices,
    page,
    refuses,
    says,
    says_nothing,
    thinks,
)
from goat.testing.llm_server import LlmServer

HI: Any = [{"role": "user", "content": "Hi"}]
ADD = ToolCall("call_1", "add", '{"a": 1, "b": 2}')


def tool(name: str = "add", **fields: Any) -> Any:
    parameters = {"type": "object", "properties": {"a": {"type": "number"}}}
    return {"type": "function", "function": {"name": name, "description": "Adds", "parameters": parameters, **fields}}


@pytest.fixture(scope="module")
def running() -> Iterator[LlmServer]:
    with LlmServer() as server:
        yield server


@pytest.fixture
def server(running: LlmServer) -> LlmServer:
    running.clear()
    return running


async def ask(client: AsyncOpenAI, **fields: Any) -> Any:
    return await client.chat.completions.create(**{"model": "test-model", "messages": HI, **fields})


async def stream(client: AsyncOpenAI, **fields: Any) -> AsyncStream[ChatCompletionChunk]:
    opened: AsyncStream[ChatCompletionChunk] = await ask(client, stream=True, **fields)
    return opened


async def text_of(chunks: AsyncStream[ChatCompletionChunk]) -> list[str]:
    return [c.choices[0].delta.content async for c in chunks if c.choices and c.choices[0].delta.content]


async def test_a_text_is_answered_whole_with_its_usage(server: LlmServer, client: AsyncOpenAI) -> None:
    server.script(says("Hello you", pieces=3))
    reply = await ask(client)
    assert reply.choices[0].message.content == "Hello you"
    assert (reply.choices[0].finish_reason, reply.model) == ("stop", "test-model")
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    assert reply.usage.prompt_tokens > 0


async def test_a_text_is_streamed_in_the_given_pieces(server: LlmServer, client: AsyncOpenAI) -> None:
    server.script(says("", pieces=["<th", "ink>", "Hi"]))
    chunks = [chunk async for chunk in await stream(client)]
    assert [c.choices[0].delta.content for c in chunks] == ["", "<th", "ink>", "Hi", None]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [c.choices[0].finish_reason for c in chunks] == [None] * 4 + ["stop"]
    assert all(c.usage is None for c in chunks)


async def test_usage_comes_in_a_last_chunk_only_when_it_is_asked_for(server: LlmServer, client: AsyncOpenAI) -> None:
    server.script(says("Hi").costing(Tokens(100, 7, cached=64, reasoning=3)))
    chunks = [chunk async for chunk in await stream(client, stream_options={"include_usage": True})]
    assert chunks[-1].choices == []
    usage = chunks[-1].usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (100, 7, 107)
    assert usage.prompt_tokens_details is not None
    assert usage.prompt_tokens_details.cached_tokens == 64
    assert usage.completion_tokens_details is not None
    assert usage.completion_tokens_details.reasoning_tokens == 3
    assert all(chunk.usage is None for chunk in chunks[:-1])


@pytest.mark.parametrize("pieces", [0, 1, 5])
async def test_tool_calls_come_whole_or_in_pieces(server: LlmServer, client: AsyncOpenAI, pieces: int) -> None:
    other = ToolCall("call_2", "now", "{}")
    server.script(*[calls(ADD, other, text="Let me see.", pieces=pieces)] * 2)
    message = (await ask(client, tools=[tool(), tool("now")])).choices[0].message
    assert message.content == "Let me see."
    assert [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls] == [
        ("call_1", "add", ADD.arguments),
        ("call_2", "now", "{}"),
    ]

    joined: dict[int, list[str]] = {}
    finish = None
    async for chunk in await stream(client, tools=[tool(), tool("now")]):
        finish = chunk.choices[0].finish_reason or finish
        for part in chunk.choices[0].delta.tool_calls or ():
            assert part.function is not None
            joined.setdefault(part.index, [part.id or ""]).append(part.function.arguments or "")
    assert finish == "tool_calls"
    assert ["".join(parts) for parts in joined.values()] == ["call_1" + ADD.arguments, "call_2{}"]
    assert len(joined[0]) == 2 + pieces


async def test_reasoning_comes_beside_the_text_or_alone(server: LlmServer, client: AsyncOpenAI) -> None:
    server.script(thinks("Let me think"), thinks("Let me think", "Hello"))
    message = (await ask(client)).choices[0].message
    assert (message.content, message.reasoning_content) == (None, "Let me think")
    deltas = [chunk.choices[0].delta async for chunk in await stream(client)]
    assert "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas) == "Let me think"
    assert "".join(delta.content or "" for delta in deltas) == "Hello"


async def test_refusals_empty_texts_and_missing_choices_are_told_apart(server: LlmServer, client: AsyncOpenAI) -> None:
    server.script(refuses("I will not"), says_nothing(), says_nothing(""), no_choices(), no_choices())
    refusal = (await ask(client)).choices[0].message
    assert (refusal.content, refusal.refusal) == (None, "I will not")
    assert (await ask(client)).choices[0].message.content is None
    assert (await ask(client)).choices[0].message.content == ""
    assert (await ask(client)).choices == []
    assert [chunk.choices async for chunk in await stream(client)] == [[]]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_an_answer_can_end_for_another_reason(server: LlmServer, client: AsyncOpenAI, reason: str) -> None:
    server.script(says("Hel").finishing(reason), says("Hel").finishing(reason))
    assert (await ask(client)).choices[0].finish_reason == reason
    assert [c.choices[0].finish_reason async for c in await stream(client)][-1] == reason


@pytest.mark.parametrize("style", sorted(LEAKS))
async def test_a_tool_call_leaks_into_the_text(server: LlmServer, client: AsyncOpenAI, style: str) -> None:
    server.script(leaks(style, "add", {"a": 1, "b": "x"}, around="Sure. {} Done.", pieces=9))
    text = "".join(await text_of(await stream(client)))
    assert text.startswith("Sure. ")
    assert text.endswith(" Done.")
    assert "add" in text


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (529, openai.InternalServerError),
    ],
)
async def test_an_error_comes_with_its_code_and_retry_after(
    server: LlmServer, client: AsyncOpenAI, status: int, error: type[openai.APIStatusError]
) -> None:
    server.script(fails(status, "not now", code="some_code", retry_after=2.5))
    with pytest.raises(error, match="not now") as caught:
        await ask(client)
    assert (caught.value.status_code, caught.value.code) == (status, "some_code")
    assert caught.value.response.headers["retry-after"] == "2.5"


async def test_the_client_retries_after_the_named_time(server: LlmServer) -> None:
    server.script(fails(429, retry_after=0.05), says("Now"))
    async with AsyncOpenAI(base_url=server.base_url, api_key="any", max_retries=1) as client:
        assert (await ask(client)).choices[0].message.content == "Now"
    assert len(server.prompts) == 2


async def test_a_gateways_page_and_an_error_inside_a_good_status_come_as_they_are(
    server: LlmServer, client: AsyncOpenAI
) -> None:
    server.script(page(), error_inside("no upstream"), error_inside())
    with pytest.raises(openai.InternalServerError) as caught:
        await ask(client)
    assert (caught.value.status_code, caught.value.response.text) == (502, page().chunks[0].decode())
    reply = await ask(client)
    assert reply.choices is None
    assert reply.error["message"] == "no upstream"


async def test_a_script_that_is_used_up_is_an_error_and_always_goes_on(server: LlmServer, client: AsyncOpenAI) -> None:
    server.script(says("once"))
    assert (await ask(client)).choices[0].message.content == "once"
    with pytest.raises(openai.InternalServerError, match="no answer is scripted for request 2"):
        await ask(client)
    server.always(lambda prompt: says(f"You said {prompt.messages[-1]['content']}"))
    assert (await ask(client)).choices[0].message.content == "You said Hi"
    server.always(says("again"))
    assert (await ask(client)).choices[0].message.content == "again"


async def test_every_prompt_is_recorded_as_bytes_and_parsed(server: LlmServer, client: AsyncOpenAI) -> None:
    server.always(says("ok"))
    first: Any = [{"role": "system", "content": "Sei höflich"}, *HI]
    await ask(client, messages=first)
    await ask(client, messages=[*first, {"role": "assistant", "content": "ok"}, *HI])
    one, two = server.prompts
    assert json.loads(one.body) == one.json
    assert (one.number, one.messages, one.refusal) == (1, first, "")
    assert two.message_bytes[:2] == one.message_bytes
    assert "höflich".encode() in one.message_bytes[0]
    assert one.headers["authorization"] == "Bearer any"


async def test_what_the_protocol_forbids_is_refused_by_name_and_uses_up_no_answer(
    server: LlmServer, client: AsyncOpenAI
) -> None:
    server.script(says("ok"))
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, tools=[tool(), tool()])
    assert (caught.value.param, caught.value.type) == ("tools[1].function.name", "invalid_request_error")
    assert server.prompts[0].refusal == "tool names must be unique, 'add' is there twice"
    assert server.prompts[0].json["tools"] == [tool(), tool()]
    assert (await ask(client)).choices[0].message.content == "ok"


async def test_a_whole_tool_exchange_is_taken(server: LlmServer, client: AsyncOpenAI) -> None:
    server.script(calls(ADD), says("3"))
    asked = (await ask(client, tools=[tool()])).choices[0].message
    said = asked.model_dump(include={"role", "content", "tool_calls"}, mode="json")
    answered = {"role": "tool", "tool_call_id": ADD.id, "content": "3"}
    reply = await ask(client, tools=[tool()], messages=[*HI, said, answered])
    assert reply.choices[0].message.content == "3"


async def test_a_providers_own_field_is_taken_where_it_is_known() -> None:
    async with (
        LlmServer(extra_fields=("thinking",)) as server,
        AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client,
    ):
        server.script(says("ok"))
        assert (await ask(client, extra_body={"thinking": {"type": "disabled"}})).choices[0].message.content == "ok"


async def test_it_forgets_what_was_before(server: LlmServer, client: AsyncOpenAI) -> None:
    server.script(says("old"), says("old"))
    server.always(says("older"))
    await ask(client)
    server.clear()
    assert server.prompts == []
    with pytest.raises(openai.InternalServerError, match="no answer is scripted for request 1"):
        await ask(client)


def test_it_serves_a_caller_without_an_event_loop(server: LlmServer) -> None:
    server.script(says("Hello"), says("Hello", pieces=2))
    with OpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client:
        assert client.chat.completions.create(model="test-model", messages=HI).choices[0].message.content == "Hello"
        with client.chat.completions.create(model="test-model", messages=HI, stream=True) as chunks:
            assert [c.choices[0].delta.content for c in chunks] == ["", "He", "llo", None]


async def test_a_server_that_keeps_few_prompts_still_numbers_all_of_them() -> None:
    with LlmServer(keep=2) as server:
        server.always(says("Hi"))
        async with AsyncOpenAI(base_url=server.base_url, api_key="k") as client:
            for _ in range(4):
                await ask(client)
        assert [prompt.number for prompt in server.prompts] == [3, 4]
