from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import httpx2
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
    hangs,
    in_pieces,
    leaks,
    no_choices,
    page,
    raw,
    refuses,
    says,
    says_nothing,
    thinks,
)
from goat.testing.llm_endpoint import LlmServer

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


@pytest.fixture
async def client(server: LlmServer) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=server.base_url, api_key="any", max_retries=0, timeout=20) as client:
        yield client


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


def test_the_dsml_leak_is_written_with_two_fullwidth_bars() -> None:
    [delta] = leaks("dsml", "add", {"a": 1, "b": "x"}).deltas
    assert delta["content"] == (
        '<｜｜DSML｜｜tool_calls><｜｜DSML｜｜invoke name="add">'
        '<｜｜DSML｜｜parameter name="a" string="false">1</｜｜DSML｜｜parameter>'
        '<｜｜DSML｜｜parameter name="b" string="true">x</｜｜DSML｜｜parameter>'
        "</｜｜DSML｜｜invoke></｜｜DSML｜｜tool_calls>"
    )


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


@pytest.mark.parametrize(
    "events",
    [
        ('data: {"id": "x", "choices": [{"ind\n\n',),
        ('data: {"a": 1}{"b": 2}\n\n',),
        ("data: not json\n\n",),
    ],
)
async def test_a_malformed_stream_reaches_the_client(
    server: LlmServer, client: AsyncOpenAI, events: tuple[str, ...]
) -> None:
    server.script(raw(*events))
    with pytest.raises(json.JSONDecodeError):
        await text_of(await stream(client))


async def test_a_malformed_body_reaches_the_client(server: LlmServer, client: AsyncOpenAI) -> None:
    server.script(raw('{"id": "x", "cho', stream=False))
    with pytest.raises(json.JSONDecodeError):
        await ask(client)


async def test_keep_alive_comments_and_a_missing_done_are_in_the_bytes(server: LlmServer) -> None:
    server.script(
        says("Hi"),
        says("Hi").without_done(),
        raw(": comment\n\n", b"data: \xff\n\n"),
        replace(says("Hi"), comments=True),
    )
    async with httpx2.AsyncClient(base_url=server.base_url) as client:
        ask_stream = {"model": "test-model", "messages": HI, "stream": True}
        bodies = [(await client.post("/chat/completions", json=ask_stream)).content for _ in range(4)]
    assert bodies[0].endswith(b"data: [DONE]\n\n")
    assert b"[DONE]" not in bodies[1]
    assert bodies[2] == b": comment\n\ndata: \xff\n\n"
    assert bodies[3].startswith(b": keep-alive\n\ndata: {")


async def test_a_stream_breaks_off_after_so_many_chunks(server: LlmServer, client: AsyncOpenAI) -> None:
    server.script(says("abcdef", pieces=6).cut(after=2), says("abc").cut(after=0))
    got: list[str | None] = []

    async def read() -> None:
        async for chunk in await stream(client):
            got.extend(choice.delta.content for choice in chunk.choices)

    with pytest.raises(openai.APIConnectionError):
        await read()
    assert got == ["", "a", "b"]
    with pytest.raises(openai.APIConnectionError):
        await ask(client)


async def test_the_first_byte_and_the_chunks_take_their_time(server: LlmServer, client: AsyncOpenAI) -> None:
    server.script(says("abc", pieces=3).slow(first=5), says("abc", pieces=3).slow(between=0.02), hangs())
    with pytest.raises(openai.APITimeoutError):
        await ask(client, timeout=0.1)
    assert await text_of(await stream(client)) == ["a", "b", "c"]
    with pytest.raises(openai.APITimeoutError):
        await ask(client, stream=True, timeout=0.1)


async def test_a_client_that_leaves_is_noticed(server: LlmServer, client: AsyncOpenAI) -> None:
    server.script(says("abcdef", pieces=6).hang(after=3), hangs(), says("Still here"))
    got = asyncio.Event()

    async def read() -> None:
        async for chunk in await stream(client):
            if chunk.choices[0].delta.content == "c":
                got.set()

    reading = asyncio.create_task(read())
    await got.wait()
    assert server.abandoned == []
    reading.cancel()
    await asyncio.wait((reading,))
    assert await asyncio.to_thread(server.wait_for, lambda: server.abandoned == [1])
    with pytest.raises(openai.APITimeoutError):
        await ask(client, timeout=0.1)
    assert await asyncio.to_thread(server.wait_for, lambda: server.abandoned == [1, 2])
    assert (await ask(client)).choices[0].message.content == "Still here"


async def test_it_stops_although_a_client_waits() -> None:
    async with LlmServer() as server, AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client:
        server.script(hangs(), says("ab", pieces=2).hang(after=1))
        waiting = [asyncio.create_task(ask(client))]
        assert await asyncio.to_thread(server.wait_for, lambda: len(server.prompts) == 1)
        waiting.append(asyncio.create_task(text_of(await stream(client))))
        await server.__aexit__(None, None, None)
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(outcome, openai.OpenAIError) for outcome in outcomes)


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


async def test_a_key_is_asked_for_and_never_told(server: LlmServer) -> None:
    async with LlmServer(key="secret-key") as locked:
        locked.always(says("in"))
        wrong = AsyncOpenAI(base_url=locked.base_url, api_key="wrong", max_retries=0)
        with pytest.raises(openai.AuthenticationError) as caught:
            await ask(wrong)
        assert caught.value.code == "invalid_api_key"
        assert "secret-key" not in str(caught.value)
        with pytest.raises(openai.AuthenticationError):
            await wrong.models.list()
        right = AsyncOpenAI(base_url=locked.base_url, api_key="secret-key", max_retries=0)
        assert (await ask(right)).choices[0].message.content == "in"
        await wrong.close()
        await right.close()


async def test_models_are_listed_and_shown_and_an_unknown_one_is_not_there() -> None:
    async with (
        LlmServer(models=("small", "org/large")) as server,
        AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client,
    ):
        assert [model.id async for model in client.models.list()] == ["small", "org/large"]
        assert (await client.models.retrieve("small")).id == "small"
        for unknown in (client.models.retrieve("gone"), ask(client, model="gone")):
            with pytest.raises(openai.NotFoundError) as caught:
                await unknown
            assert caught.value.code == "model_not_found"


async def test_another_address_is_not_found_in_the_protocols_own_words(server: LlmServer) -> None:
    async with httpx2.AsyncClient(base_url=server.base_url) as client:
        gone, wrong = await client.get("/completions"), await client.get("/chat/completions")
    assert (gone.status_code, wrong.status_code) == (404, 405)
    assert gone.json()["error"]["type"] == wrong.json()["error"]["type"] == "invalid_request_error"


def assistant(*asked: ToolCall, **fields: Any) -> Any:
    listed = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in asked]
    return {"role": "assistant", "content": None, **({"tool_calls": listed} if asked else {}), **fields}


def answer(name: str = "call_1", **fields: Any) -> Any:
    return {"role": "tool", "tool_call_id": name, "content": "3", **fields}


TWO = (ADD, ToolCall("call_2", "add", "{}"))
GOOD: list[dict[str, Any]] = [
    {"messages": [*HI, assistant(*TWO), answer("call_2"), answer("call_1"), *HI]},
    {
        "messages": [
            {"role": "system", "content": "x"},
            {"role": "developer", "content": [{"type": "text", "text": "y"}]},
        ]
    },
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}], "name": "ana"}]},
    {"messages": [assistant(content="", refusal=None), *HI]},
    {"tools": [tool(), tool("other")], "tool_choice": "auto", "parallel_tool_calls": True},
    {"tools": [tool()], "tool_choice": {"type": "function", "function": {"name": "add"}}},
    {"tools": [{"type": "function", "function": {"name": "bare"}}]},
    {"temperature": 0, "top_p": 1, "seed": 7, "stop": ["a"], "max_completion_tokens": 5, "reasoning_effort": "low"},
    {"temperature": None, "tools": None, "stream": False},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}},
]


@pytest.mark.parametrize("fields", GOOD)
async def test_what_the_protocol_allows_is_taken(
    server: LlmServer, client: AsyncOpenAI, fields: dict[str, Any]
) -> None:
    server.script(says("ok"))
    assert (await ask(client, **fields)).choices[0].message.content == "ok"


BAD: list[tuple[dict[str, Any], str | None]] = [
    ({"model": ""}, "model"),
    ({"messages": []}, "messages"),
    ({"messages": ["Hi"]}, "messages[0]"),
    ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "function", "content": "x", "name": "f"}]}, "messages[0].role"),
    ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": []}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": [{"type": "picture"}]}]}, "messages[0].content[0].type"),
    ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": "x", "name": "Ana Pop"}]}, "messages[0].name"),
    ({"messages": [{"role": "user", "content": "x", "at": 1}]}, "messages[0].at"),
    ({"messages": [*HI, assistant(content="x", reasoning_content="y")]}, "messages[1].reasoning_content"),
    ({"messages": [*HI, assistant()]}, "messages[1].content"),
    ({"messages": [*HI, assistant(tool_calls=[])]}, "messages[1].tool_calls"),
    ({"messages": [*HI, answer()]}, "messages[1].role"),
    ({"messages": [*HI, assistant(ADD)]}, "messages"),
    ({"messages": [*HI, assistant(ADD), *HI]}, "messages[2]"),
    ({"messages": [*HI, assistant(*TWO), answer(), *HI]}, "messages[3]"),
    ({"messages": [*HI, assistant(ADD), answer("other")]}, "messages[2].tool_call_id"),
    ({"messages": [*HI, assistant(ADD), answer(), answer()]}, "messages[3].tool_call_id"),
    ({"messages": [*HI, assistant(ADD), answer(tool_call_id="")]}, "messages[2].tool_call_id"),
    ({"messages": [*HI, assistant(ADD), answer(content=None)]}, "messages[2].content"),
    ({"messages": [*HI, assistant(ADD, ADD), answer()]}, "messages[1].tool_calls[1].id"),
    ({"messages": [*HI, assistant(ToolCall("c", "", "{}")), answer("c")]}, "messages[1].tool_calls[0].function.name"),
    ({"tools": []}, "tools"),
    ({"tools": [tool(), tool("other"), tool()]}, "tools[2].function.name"),
    ({"tools": [tool("functions.add")]}, "tools[0].function.name"),
    ({"tools": [tool("a" * 65)]}, "tools[0].function.name"),
    ({"tools": [{"name": "add"}]}, "tools[0].name"),
    ({"tools": [tool(parameters={"properties": {}})]}, "tools[0].function.parameters"),
    ({"tools": [tool(risk="high")]}, "tools[0].function.risk"),
    ({"tool_choice": "auto"}, "tool_choice"),
    ({"tools": [tool()], "tool_choice": "maybe"}, "tool_choice"),
    ({"tools": [tool()], "tool_choice": {"type": "function", "function": {"name": "gone"}}}, "tool_choice"),
    ({"parallel_tool_calls": True}, "parallel_tool_calls"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"stream": True, "stream_options": {"usage": True}}, "stream_options"),
    ({"max_tokens": 1, "max_completion_tokens": 1}, "max_tokens"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"temperature": 2.5}, "temperature"),
    ({"temperature": True}, "temperature"),
    ({"n": 2}, "n"),
    ({"stop": list("abcde")}, "stop"),
    ({"response_format": {"type": "json"}}, "response_format"),
    ({"extra_body": {"thinking": {"type": "disabled"}}}, "thinking"),
]


@pytest.mark.parametrize(("fields", "param"), BAD)
async def test_what_the_protocol_forbids_is_refused_by_name_and_uses_up_no_answer(
    server: LlmServer, client: AsyncOpenAI, fields: dict[str, Any], param: str | None
) -> None:
    server.script(says("ok"))
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, **fields)
    assert (caught.value.param, caught.value.type) == (param, "invalid_request_error")
    assert server.prompts[0].refusal
    assert (await ask(client)).choices[0].message.content == "ok"


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"model": NaN}', b"\xff", b"[" * 100_000])
async def test_a_body_that_is_no_object_is_refused(server: LlmServer, body: bytes) -> None:
    async with httpx2.AsyncClient(base_url=server.base_url, headers={"content-type": "application/json"}) as client:
        response = await client.post("/chat/completions", content=body)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert server.prompts[0].body == body


async def test_a_form_is_no_request(server: LlmServer) -> None:
    async with httpx2.AsyncClient(base_url=server.base_url) as client:
        response = await client.post("/chat/completions", data={"model": "test-model"})
    assert "content type" in response.json()["error"]["message"]


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


def test_two_servers_stand_side_by_side_and_each_is_gone_after_its_end(server: LlmServer) -> None:
    with LlmServer() as other:
        assert other.base_url != server.base_url
        address = other.base_url
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{address}/models")
    with pytest.raises(RuntimeError, match="not running"):
        _ = other.base_url
    assert httpx2.get(f"{server.base_url}/models").status_code == 200


def test_a_text_is_cut_into_parts_that_add_up() -> None:
    assert in_pieces("abcde", 2) == ["ab", "cde"]
    assert len(in_pieces("a" * 17, 5)) == 5
    assert in_pieces("ab", 5) == ["a", "b"]
    assert in_pieces("", 3) == []
