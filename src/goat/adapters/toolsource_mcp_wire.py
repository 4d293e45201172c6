"""How an MCP server is reached, and what its messages come to: streams that tell when they end, and results as text.

The protocol is that of modelcontextprotocol.io; the SDK speaks it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Self, TextIO

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent
from mcp.types import TextResourceContents as TextResource

from goat.records.tools import ToolAnswer
from goat.settings.section_mcp import McpServer

LAST_WORDS = 2000
"""How much of a program's standard error is kept, in bytes; it may write without end."""

LAST_WORDS_SECONDS = 5.0
MOST_CHARS = 200_000
READ_SECONDS = 300.0

for _name in ("mcp", "client"):  # the SDK's loggers; they would write messages of a server on the person's screen
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


class LastWords:
    """Takes what a program writes to its standard error, and keeps the end of it."""

    def __init__(self) -> None:
        self._tail = b""
        self._reader: threading.Thread | None = None

    def open(self) -> TextIO:
        """A new place for a program to write to; the file is to be closed once the program has it."""
        self._tail = b""
        out, into = os.pipe()
        self._reader = threading.Thread(target=self._read, args=(out,), name="standard error", daemon=True)
        self._reader.start()
        return os.fdopen(into, "w")

    def _read(self, out: int) -> None:
        with os.fdopen(out, "rb", buffering=0) as stream, suppress(OSError):
            while piece := stream.read(65536):
                self._tail = (self._tail + piece)[-LAST_WORDS:]

    async def heard(self, response: httpx2.Response) -> None:
        """Take an answer of a server over HTTP that says what is wrong."""
        if response.status_code >= 400:
            self._tail = f"HTTP {response.status_code} {response.reason_phrase}".encode()

    async def complete(self) -> None:
        """Wait a moment for what an ended program has written already; a child of it may go on writing."""
        if self._reader is not None:
            await asyncio.to_thread(self._reader.join, LAST_WORDS_SECONDS)

    @property
    def line(self) -> str:
        """The last line that says something."""
        lines = [line.strip() for line in self._tail.decode("utf-8", errors="replace").splitlines()]
        return next((line for line in reversed(lines) if line), "")


class Watched:
    """A stream of messages that tells when it has ended, and of each item that is no message."""

    def __init__(self, stream: Any, ended: Callable[[], None], noise: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended
        self._noise = noise

    @property
    def last_context(self) -> Any:
        """The context of the last message, where the transport has one."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next item."""
        return await self.__anext__()

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await self._stream.__anext__()
        except BaseException:
            self._ended()
            raise
        if isinstance(item, Exception):
            self._noise()
        return item

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        given: bool | None = await self._stream.__aexit__(kind, raised, trace)
        return given


@asynccontextmanager
async def connected(
    server: McpServer, words: LastWords, ended: Callable[[], None], noise: Callable[[], None]
) -> AsyncIterator[TransportStreams]:
    """The streams to a server: one that is started now and ended afterwards, or one that runs elsewhere."""
    if server.url:
        headers = {name: server.filled(text) for name, text in server.headers.items()}
        logging.getLogger("httpx2").setLevel(logging.WARNING)  # at INFO it writes addresses, which may hold a key
        timeout = httpx2.Timeout(server.start_seconds, read=READ_SECONDS)
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks={"response": [words.heard]}) as client,
            streamable_http_client(server.filled(server.url), http_client=client) as (read, write),
        ):
            yield Watched(read, ended, noise), write
        return
    program = StdioServerParameters(
        command=server.filled(server.command),
        args=[server.filled(text) for text in server.args],
        env={name: server.filled(text) for name, text in server.env.items()},
        encoding_error_handler="replace",
    )
    with words.open() as errors:
        async with stdio_client(program, errors) as (read, write):
            errors.close()
            yield Watched(read, ended, noise), write


def answer_of(result: CallToolResult) -> ToolAnswer:
    """A result as text; what is no text is named with its kind and size."""
    text = "\n".join(_part(one) for one in result.content)
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False)
    if len(text) > MOST_CHARS:
        text = f"{text[:MOST_CHARS]}\n[cut: {len(text):,} characters in all]"
    return ToolAnswer(text or "(no output)", not result.is_error)


def _part(content: object) -> str:
    match content:
        case TextContent():
            return content.text
        case ImageContent() | AudioContent():
            return f"[{content.mime_type}, {len(content.data) * 3 // 4:,} bytes, not shown]"
        case ResourceLink():
            return f"[{content.name}: {content.uri}]"
        case EmbeddedResource(resource=TextResource() as inner):
            return inner.text
        case EmbeddedResource():
            return f"[{content.resource.uri}, not shown]"
        case _:
            return "[content of an unknown kind, not shown]"


def innermost(failure: BaseException) -> BaseException:
    """The first failure inside groups of failures."""
    while isinstance(failure, BaseExceptionGroup):
        inner: Sequence[BaseException] = failure.exceptions
        failure = inner[0]
    return failure
