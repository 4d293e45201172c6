from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from goat.adapters.model_openai import OpenAIModel
from goat.errors import ModelError
from goat.records.models import ChatMessage, ModelRequest
from goat.settings import ModelEndpoint, ModelSettings, endpoint_at, providers

KEY = "sk-test-key"
HELLO = ModelRequest((ChatMessage("user", "Hello?"),))
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def says(body: object, status: str = "200 OK", kind: str = "application/json") -> bytes:
    text = body if isinstance(body, str) else json.dumps(body)
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()


def refuses(status: str, message: str) -> bytes:
    return says({"error": {"message": message}}, status)


def streams(*events: object) -> bytes:
    lines = (event if isinstance(event, str) else json.dumps(event) for event in events)
    text = "".join(f"data: {line}\n\n" for line in lines)
    return f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{text}".encode()


@asynccontextmanager
async def answering(reply: bytes, hold: bool = False) -> AsyncIterator[str]:
    """A server that answers one request with these bytes and closes, or holds the connection until the client goes."""
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await reader.readexactly(int(head.partition("content-length: ")[2].partition("\r")[0]))
        writer.write(reply)
        await writer.drain()
        if hold:
            await reader.read()
        writer.close()
        await writer.wait_closed()
        done.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        await done.wait()


async def refusal(reply: bytes, stream: bool = False, hold: bool = False, timeout: float = 10) -> ModelError:
    """The error that an answer of these bytes leads to."""
    async with answering(reply, hold) as url:
        endpoint = ModelEndpoint("groq", "m-1", url, SecretStr(KEY), "GROQ_API_KEY")
        async with OpenAIModel(endpoint, ModelSettings(timeout_seconds=timeout)) as model:
            with pytest.raises(ModelError) as refused:
                await model.reply(HELLO, (lambda _: None) if stream else None)
    return refused.value


async def test_a_refused_request_is_not_repeated_for_other_reasons() -> None:
    error = await refusal(refuses("400 Bad Request", "max_tokens is too large: 2048; the context holds 1024 tokens"))
    assert str(error) == (
        "The model m-1 gave no answer: the request was refused (HTTP 400: max_tokens is too large: 2048; the context "
        "holds 1024 tokens). Check [model] name, temperature and max_tokens; a smaller [aits] budget_hard_cap makes it "
        "shorter."
    )


@pytest.mark.parametrize(
    ("status", "problem", "remedy"),
    [
        ("401 Unauthorized", "the key was refused", "Check GROQ_API_KEY, or run `goat setup --reconfigure`."),
        ("403 Forbidden", "the key was refused", "Check GROQ_API_KEY"),
        ("402 Payment Required", "the account has no credit left", "Top it up"),
        ("404 Not Found", "knows no such model or path", "Check [model] name and base_url"),
        ("429 Too Many Requests", "takes no more calls for now", "Wait a little"),
        ("500 Internal Server Error", "the endpoint failed", "Try again"),
        ("503 Service Unavailable", "the endpoint failed", "Try again"),
    ],
)
@both
async def test_a_refusal_says_what_is_wrong_and_what_to_do(
    status: str, problem: str, remedy: str, stream: bool
) -> None:
    error = await refusal(refuses(status, "the provider's words"), stream=stream)
    assert error.model == "m-1"
    assert problem in error.problem
    assert f"(HTTP {status[:3]}: the provider's words)" in error.problem
    assert error.remedy.startswith(remedy)


async def test_a_key_that_the_endpoint_repeats_is_not_shown() -> None:
    error = await refusal(refuses("401 Unauthorized", f"Incorrect API key provided: {KEY}"))
    assert KEY not in str(error)
    assert "[key]" in str(error)


async def test_a_web_page_as_an_error_is_not_repeated() -> None:
    error = await refusal(says("<!doctype html><p>no</p>", "404 Not Found", "text/html"))
    assert "(HTTP 404)" in error.problem


async def test_nobody_there_is_said_with_the_address() -> None:
    endpoint = endpoint_at(providers()["other"], "m", "http://127.0.0.1:1/v1", SecretStr(""))
    async with OpenAIModel(endpoint, ModelSettings()) as model:
        with pytest.raises(
            ModelError, match=r"connection to http://127\.0\.0\.1:1/v1 failed .*Check \[model\] base_url"
        ):
            await model.reply(HELLO)


async def test_an_ollama_that_does_not_run_is_to_be_started() -> None:
    endpoint = endpoint_at(providers()["ollama"], "m", "http://127.0.0.1:1/v1", SecretStr(""))
    async with OpenAIModel(endpoint, ModelSettings()) as model:
        with pytest.raises(ModelError, match="ollama serve"):
            await model.reply(HELLO)


@both
async def test_silence_ends_after_the_timeout(stream: bool) -> None:
    error = await refusal(streams() if stream else b"", stream, hold=True, timeout=0.1)
    assert "was silent for 0.1 seconds" in error.problem
    assert "raise [model] timeout_seconds" in error.remedy


async def test_a_connection_that_breaks_in_the_middle_is_no_answer() -> None:
    half = json.dumps({"choices": [{"delta": {"content": "half"}}]})
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000\r\n\r\n"
    error = await refusal(f"{head}data: {half}\n\n".encode(), stream=True)
    assert "the connection to" in error.problem


@pytest.mark.parametrize(
    "answer",
    [
        says("<html>Welcome</html>", kind="text/html"),
        says("{broken"),
        says("[]"),
        says({"message": "hello"}),
        says({"choices": "none"}),
        says({"choices": [{"message": {"content": {"a": 1}}}]}),
    ],
    ids=["page", "broken", "list", "other", "text", "object"],
)
async def test_an_answer_of_another_kind_is_named_as_such(answer: bytes) -> None:
    error = await refusal(answer)
    assert "does not answer in OpenAI's chat protocol" in error.problem
    assert "/v1" in error.remedy


@pytest.mark.parametrize(
    "answer",
    [says("<html>Welcome</html>", kind="text/html"), streams("{broken"), streams({"a": 1}), streams()],
    ids=["page", "broken", "other", "nothing"],
)
async def test_a_stream_of_another_kind_is_named_as_such(answer: bytes) -> None:
    error = await refusal(answer, stream=True)
    assert "does not answer in OpenAI's chat protocol" in error.problem


@both
async def test_an_error_in_the_place_of_an_answer_is_passed_on(stream: bool) -> None:
    body = {"error": {"message": "no provider is free", "code": 502}}
    error = await refusal(streams(body) if stream else says(body), stream=stream)
    assert "no provider is free" in error.problem


@pytest.mark.parametrize(
    ("message", "finish", "problem"),
    [
        ({"content": " \n"}, "stop", "the answer is empty"),
        ({"content": None}, "length", "it used up its answer before the first word"),
        ({"content": ""}, "content_filter", "the provider's filter held the answer back"),
    ],
)
async def test_an_empty_answer_is_no_answer(message: dict[str, Any], finish: str, problem: str) -> None:
    assert (await refusal(says({"choices": [{"message": message, "finish_reason": finish}]}))).problem == problem
    assert (
        await refusal(streams({"choices": [{"delta": message, "finish_reason": finish}]}), stream=True)
    ).problem == problem
