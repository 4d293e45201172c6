from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Self

import pytest
from pydantic import SecretStr

from goat.adapters.model_openai import OpenAIModel
from goat.errors import ModelError
from goat.records.models import ChatMessage, ModelRequest, Reply, ToolCall, ToolSpec, Usage
from goat.settings import ModelEndpoint, ModelSettings, endpoint_at, providers

KEY = "sk-test-key"
HELLO = ModelRequest((ChatMessage("system", "Be brief."), ChatMessage("user", "Hello?")))
FIELDS = {
    "model",
    "messages",
    "tools",
    "stream",
    "stream_options",
    "temperature",
    "max_tokens",
    "max_completion_tokens",
}
MESSAGE_FIELDS = {"assistant": {"tool_calls"}, "tool": {"tool_call_id"}}
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

Send = Callable[[bytes], Awaitable[None]]
Answer = Callable[[Mapping[str, Any], Send], Awaitable[None]]


class Endpoint:
    """A strict chat completions endpoint that follows a script and records what it was sent.

    What a strict server would refuse is refused with HTTP 418 and takes nothing from the script. `left` is set when the
    client goes away before its answer ends.
    """

    def __init__(self, *answers: Answer, key: str = "sk-test-key", extra: Iterable[str] = ()) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.left = asyncio.Event()
        self._answers = list(answers)
        self._key = key
        self._fields = FIELDS | set(extra)
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await asyncio.gather(*self._running)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/v1"

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def send(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        self.bodies.append(body)
        self.headers.append(headers)
        fault = self._fault_of(head[0], headers, body)
        answer = says({"error": {"message": fault}}, "418 Strict") if fault else self._answers.pop(0)
        await answer(body, send)

    def _fault_of(self, line: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> str | None:
        if line != "POST /v1/chat/completions HTTP/1.1":
            return f"no such path: {line}"
        if headers.get("authorization") != f"Bearer {self._key}":
            return "wrong authorization"
        if unknown := set(body) - self._fields:
            return f"unknown fields {sorted(unknown)}"
        for message in body["messages"]:
            if set(message) - {"role", "content"} - MESSAGE_FIELDS.get(message["role"], set()):
                return f"unknown fields in {message}"
            if not isinstance(message["content"], str) and not message.get("tool_calls"):
                return f"no content in {message}"
        return None


def says(body: object, status: str = "200 OK") -> Answer:
    text = json.dumps(body)
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: application/json",
        f"Content-Length: {len(text.encode())}",
        "Connection: close",
    ]

    async def answer(request: Mapping[str, Any], send: Send) -> None:
        await send(("\r\n".join(lines) + "\r\n\r\n" + text).encode())

    return answer


def refuses(status: str, message: str, **more: str) -> Answer:
    return says({"error": {"message": message, **more}}, status)


def streams(*chunks: object) -> Answer:
    async def answer(request: Mapping[str, Any], send: Send) -> None:
        await send(STREAM_HEAD)
        for one in chunks:
            await send(event(one))
        await send(event("[DONE]"))

    return answer


def event(data: object) -> bytes:
    return f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def completion(message: Mapping[str, Any], finish: str = "stop") -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
    return {"id": "c1", "object": "chat.completion", "model": "m-2", "choices": [choice], "usage": usage}


def chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m-2", "choices": [choice]}


def called(name: str, arguments: object, **more: object) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def model_at(url: str, key: str = KEY, **request: Any) -> OpenAIModel:
    endpoint = ModelEndpoint("groq", "m-1", url, SecretStr(key), "GROQ_API_KEY", request)
    return OpenAIModel(endpoint, ModelSettings())


async def ask(
    url: str, request: ModelRequest = HELLO, on_text: Callable[[str], None] | None = None, **how: Any
) -> Reply:
    async with model_at(url, **how) as model:
        return await model.reply(request, on_text)


async def test_a_reply_carries_text_model_usage_and_reason() -> None:
    async with Endpoint(says(completion({"content": "Hi."}, "length"))) as server:
        reply = await ask(server.url)
    note = "The answer ends at its limit of 2048 tokens ([model] max_tokens)."
    assert reply == Reply("Hi.", (), "m-2", Usage(12, 3), "length", notes=(note,))


async def test_the_request_carries_the_prompt_and_the_settings() -> None:
    async with Endpoint(says(completion({"content": "Hi."}))) as server:
        await ask(server.url)
    assert server.bodies == [
        {
            "model": "m-1",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}],
            "temperature": 0.5,
            "max_tokens": 2048,
        }
    ]


async def test_tools_and_tool_results_are_passed_through() -> None:
    parameters = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    request = ModelRequest(
        (
            ChatMessage("user", "Look it up."),
            ChatMessage("assistant", "", (ToolCall("c1", "search", '{"q": "goat"}'),)),
            ChatMessage("tool", "found", tool_call_id="c1"),
        ),
        (ToolSpec("search", "Searches.", parameters),),
    )
    async with Endpoint(says(completion({"content": None, "tool_calls": [called("search", "{}", id="c2")]}))) as server:
        reply = await ask(server.url, request)
    assert server.bodies[0]["tools"] == [
        {"type": "function", "function": {"name": "search", "description": "Searches.", "parameters": parameters}}
    ]
    assert server.bodies[0]["messages"][1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call00001", "type": "function", "function": {"name": "search", "arguments": '{"q": "goat"}'}}
            ],
        },
        {"role": "tool", "content": "found", "tool_call_id": "call00001"},
    ]
    assert reply.tool_calls == (ToolCall("c2", "search", "{}"),)


async def test_calls_without_ids_or_with_arguments_as_an_object_are_mended() -> None:
    calls = [called("a", {"q": "ü"}), called("b", ""), called("c", None)]
    async with Endpoint(says(completion({"tool_calls": calls}))) as server:
        reply = await ask(server.url)
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("a", '{"q": "ü"}'), ("b", "{}"), ("c", "{}")]
    assert len({call.id for call in reply.tool_calls}) == 3
    assert all(call.id for call in reply.tool_calls)


async def test_streamed_text_comes_in_pieces_and_whole() -> None:
    pieces: list[str] = []
    usage = {"model": "m-2", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    script = [
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Salut"}),
        chunk({"content": ", 猫"}),
        chunk({}, "stop"),
        usage,
    ]
    async with Endpoint(streams(*script)) as server:
        reply = await ask(server.url, on_text=pieces.append)
    assert pieces == ["Salut", ", 猫"]
    assert reply == Reply("Salut, 猫", (), "m-2", Usage(5, 2), "stop")
    assert server.bodies[0]["stream_options"] == {"include_usage": True}


async def test_a_piece_is_handed_on_before_the_answer_ends() -> None:
    seen = asyncio.Event()

    async def answer(request: Mapping[str, Any], send: Send) -> None:
        await send(STREAM_HEAD)
        await send(event(chunk({"content": "first"})))
        await seen.wait()
        await send(b"data: [DONE]\n\n")

    async with Endpoint(answer) as server:
        reply = await ask(server.url, on_text=lambda _: seen.set())
    assert reply.text == "first"


async def test_streamed_calls_are_put_together_by_their_index() -> None:
    script = [
        chunk({"tool_calls": [called("one", "", index=0, id="c1")]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]}),
        chunk({"tool_calls": [called("two", '{"b"', index=1, id="c2"), {"index": 0, "function": {"arguments": "1}"}}]}),
        chunk({"tool_calls": [{"index": 1, "id": "", "function": {"name": "", "arguments": ":2}"}}]}, "tool_calls"),
    ]
    async with Endpoint(streams(*script)) as server:
        reply = await ask(server.url, on_text=lambda _: None)
    assert reply.tool_calls == (ToolCall("c1", "one", '{"a":1}'), ToolCall("c2", "two", '{"b":2}'))
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize("index", [{"index": 0}, {}], ids=["same-index", "no-index"])
async def test_streamed_calls_that_share_an_index_are_kept_apart_by_their_ids(index: dict[str, int]) -> None:
    script = [chunk({"tool_calls": [called("one", "{}", id="c1", **index), called("two", "{}", id="c2", **index)]})]
    async with Endpoint(streams(*script)) as server:
        reply = await ask(server.url, on_text=lambda _: None)
    assert reply.tool_calls == (ToolCall("c1", "one", "{}"), ToolCall("c2", "two", "{}"))


async def test_leaving_a_stream_closes_its_connection() -> None:
    first = asyncio.Event()

    async def endless(request: Mapping[str, Any], send: Send) -> None:
        await send(STREAM_HEAD)
        while True:
            await send(event(chunk({"content": "x"})))
            await asyncio.sleep(0)

    async with Endpoint(endless) as server, model_at(server.url) as model:
        call = asyncio.create_task(model.reply(HELLO, lambda _: first.set()))
        await first.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.left.wait()


async def test_an_endpoint_without_a_key_gets_no_foreign_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "foreign")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    async with Endpoint(says(completion({"content": "Hi."})), key="none") as server:
        await ask(server.url, key="")
    assert "foreign" not in json.dumps(server.headers)


async def test_what_a_provider_needs_besides_is_sent() -> None:
    async with Endpoint(says(completion({"content": "Hi."})), extra=["thinking"]) as server:
        at = endpoint_at(providers()["deepseek"], "", server.url, SecretStr(KEY))
        async with OpenAIModel(at, ModelSettings()) as model:
            await model.reply(HELLO)
    assert server.bodies[0]["thinking"] == {"type": "disabled"}
    assert server.bodies[0]["model"] == providers()["deepseek"].models[0]


async def test_a_field_that_the_endpoint_refuses_is_left_out_from_then_on() -> None:
    good = says(completion({"content": "Hi."}))
    async with (
        Endpoint(
            refuses(
                "400 Bad Request", message="Unsupported value: this one does not support 0.5.", param="temperature"
            ),
            refuses("400 Bad Request", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
            refuses("422 Unprocessable Entity", "Extra inputs are not permitted: thinking"),
            good,
            good,
            extra=["thinking"],
        ) as server,
        model_at(server.url, thinking={}) as model,
    ):
        await model.reply(HELLO)
        await model.reply(HELLO)
    assert [set(body) - {"model", "messages"} for body in server.bodies] == [
        {"temperature", "max_tokens", "thinking"},
        {"max_tokens", "thinking"},
        {"max_completion_tokens", "thinking"},
        {"max_completion_tokens"},
        {"max_completion_tokens"},
    ]


async def test_calls_are_not_repeated_by_the_client_library() -> None:
    async with Endpoint(refuses("500 Internal Server Error", "x"), says(completion({"content": "Hi."}))) as server:
        with pytest.raises(ModelError):
            await ask(server.url)
    assert len(server.bodies) == 1


async def test_calls_run_side_by_side_and_the_model_can_be_closed_unused() -> None:
    good = says(completion({"content": "Hi."}))
    async with Endpoint(good, good, good) as server, model_at(server.url) as model:
        replies = await asyncio.gather(*(model.reply(HELLO) for _ in range(3)))
    assert [reply.text for reply in replies] == ["Hi."] * 3
    async with model_at("http://127.0.0.1:1/v1") as unused:
        assert unused.name == "m-1"


def test_importing_the_adapter_does_not_import_the_client_library() -> None:
    script = "import sys, goat.adapters.model_openai; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
