from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from goat.setup import find_ollama


@asynccontextmanager
async def answering(reply: bytes | None) -> AsyncIterator[str]:
    """A server that answers every request with the same bytes, or never."""
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if reply is not None and request.startswith(b"GET /api/tags "):
            writer.write(reply)
            await writer.drain()
        else:
            await reader.read()
        writer.close()
        await writer.wait_closed()
        done.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await done.wait()


def http(body: str, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body.encode())}\r\nConnection: close\r\n\r\n{body}".encode()


async def test_the_chat_models_are_named_in_their_order() -> None:
    body = '{"models": [{"name": "llama3.2:latest"}, {"name": "nomic-embed-text:latest"}, {"name": "qwen3:8b"}]}'
    async with answering(http(body)) as url:
        assert await find_ollama(url) == ["llama3.2:latest", "qwen3:8b"]


@pytest.mark.parametrize(
    "reply",
    [
        http("<html>"),
        http("[]"),
        http('{"models": null}'),
        http('{"models": [1, {"size": 2}, {"name": 3}]}'),
        http("", "500 Internal Server Error"),
        b"not http\r\n\r\n",
        None,
    ],
    ids=["page", "list", "null", "rows", "failing", "garbage", "silent"],
)
async def test_whatever_answers_otherwise_is_no_ollama(reply: bytes | None) -> None:
    async with answering(reply) as url:
        assert await find_ollama(url) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://[", "nonsense"])
async def test_nobody_there_is_no_ollama(url: str) -> None:
    assert await find_ollama(url) == []
