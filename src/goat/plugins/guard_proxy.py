"""A forward proxy on this machine through which a browser reaches the open internet only.

Whatever a page asks for (pictures, scripts, redirects, sockets) comes here, so one place checks each host's address and
connects to the very address that it checked. The bytes of all connections together are limited.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from goat.errors import ToolError
from goat.plugins.safe_http import Guard

MOST_BYTES = 30 * 1024 * 1024
HEAD_BYTES = 64 * 1024
CONNECT_SECONDS = 10.0
PIECE = 65536
DENIED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
FAILED = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class GuardProxy:
    """The proxy at work. `denied` says why it did not let through what was for a host, `exhausted` that no more bytes
    are passed.
    """

    def __init__(self, guard: Guard, most_bytes: int = MOST_BYTES) -> None:
        self.denied: dict[str, str] = {}
        self.exhausted = asyncio.Event()
        self.port = 0
        self._guard = guard
        self._room = most_bytes
        self._open: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the browser, until it ends."""
        self._open.add(writer)
        try:
            await self._answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass  # the browser or the host broke off; the browser knows
        finally:
            self._open.discard(writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, rest = head.partition(b"\r\n")
        method, target, version = line.decode("latin-1").split(" ")
        tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if tunnel else target)
        host, port = parts.hostname or "", parts.port or 80
        try:
            address = await self._guard.address(host, port)
        except ToolError as refused:
            self.denied[host] = refused.problem
            writer.write(DENIED)
            return
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                there = await asyncio.open_connection(address, port, limit=HEAD_BYTES)
        except OSError:  # a TimeoutError is one
            writer.write(FAILED)
            return
        self._open.add(there[1])
        try:
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = parts._replace(scheme="", netloc="").geturl() or "/"
                there[1].write(f"{method} {path} {version}\r\n".encode("latin-1") + _closing(rest))
            await self._both_ways((reader, writer), there)
        finally:
            self._open.discard(there[1])
            there[1].close()

    async def _both_ways(self, here: Streams, there: Streams) -> None:
        """Pass bytes on until the host has no more."""
        upwards = asyncio.ensure_future(self._pass(here[0], there[1]))
        try:
            await self._pass(there[0], here[1])
        finally:
            upwards.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await upwards

    async def _pass(self, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        while piece := await source.read(PIECE):
            self._room -= len(piece)
            if self._room < 0:
                self.exhausted.set()
                return
            to.write(piece)
            await to.drain()

    def close(self) -> None:
        """Break off every connection."""
        for writer in self._open:
            writer.transport.abort()


def _closing(headers: bytes) -> bytes:
    """The headers of a request, which asks for one answer on its connection: the next one may be for another host."""
    lines = headers.split(b"\r\n")
    kept = [line for line in lines if not line.lower().startswith((b"proxy-", b"connection:"))]
    return b"\r\n".join([b"Connection: close", *kept])


@asynccontextmanager
async def guard_proxy(guard: Guard, most_bytes: int = MOST_BYTES) -> AsyncIterator[GuardProxy]:
    """A proxy on a free port of 127.0.0.1, for as long as the context lasts."""
    proxy = GuardProxy(guard, most_bytes)
    tasks: set[asyncio.Task[None]] = set()
    server = await asyncio.start_server(_kept(proxy.serve, tasks), "127.0.0.1", 0, limit=HEAD_BYTES)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.close()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def _kept(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], tasks: set[asyncio.Task[None]]
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """The handler of a connection, whose task is known while it runs."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            tasks.discard(task)

    return handle
