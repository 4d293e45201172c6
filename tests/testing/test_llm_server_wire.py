from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI, AsyncStream
from openai.types.chat import ChatCompletionChunk

from goat.records.models import ToolCall
from goat.testing.llm_answers import (
    hangs,
    raw,
    says,
)
from goat.testing.llm_server import LlmServer

HI: Any = [{"role": "user", "content": "Hi"}]
ADD = ToolCall("call_1", "add", '{"a": 1, "b": 2}')


@pytest.fixture
def server() -> Iterator[LlmServer]:
    """A server of the test's own: a request whose client gave up early may still arrive after the test."""
    with LlmServer() as server:
        yield server


async def ask(client: AsyncOpenAI, **fields: Any) -> Any:
    return await client.chat.completions.create(**{"model": "test-model", "messages": HI, **fields})


async def stream(client: AsyncOpenAI, **fields: Any) -> AsyncStream[ChatCompletionChunk]:
    opened: AsyncStream[ChatCompletionChunk] = await ask(client, stream=True, **fields)
    return opened


async def text_of(chunks: AsyncStream[ChatCompletionChunk]) -> list[str]:
    return [c.choices[0].delta.content async for c in chunks if c.choices and c.choices[0].delta.content]


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
    waiting = asyncio.create_task(ask(client))
    assert await asyncio.to_thread(server.wait_for, lambda: len(server.prompts) == 2)
    waiting.cancel()
    await asyncio.wait((waiting,))
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


def test_two_servers_stand_side_by_side_and_each_is_gone_after_its_end(server: LlmServer) -> None:
    with LlmServer() as other:
        assert other.base_url != server.base_url
        address = other.base_url
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{address}/models")
    with pytest.raises(RuntimeError, match="not running"):
        _ = other.base_url
    assert httpx2.get(f"{server.base_url}/models").status_code == 200
