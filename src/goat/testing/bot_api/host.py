"""An HTTP server in the running event loop that can break its connections and go away and come back."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from goat.testing.http_host import KEEP_ALIVE_SECONDS

_START_SECONDS = 10


class _Connection(H11Protocol):
    """Hands its transport to the app in the scope, so that the app can break the connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        connection: socket.socket = transport.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or a reply of two writes takes 40 ms
        app = self.app

        async def with_transport(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "transport": transport}, receive, send)

        self.app = with_transport


class _Server(uvicorn.Server):
    """Says when it listens, and leaves the signals to the program that it runs in."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Host:
    """Serves an app on a port of 127.0.0.1 that stays the same over stops and starts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._transports: set[asyncio.Transport] = set()
        self._server: _Server | None = None
        self._running: asyncio.Task[None] | None = None
        self.port = 0

    async def start(self) -> None:
        """Begin to listen; the first time on any free port."""
        listening = socket.create_server(("127.0.0.1", self.port))
        self.port = listening.getsockname()[1]
        config = uvicorn.Config(
            self._noted,
            http=_Connection,
            interface="asgi3",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            log_level="critical",  # a broken connection is wanted here
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=1,
        )
        self._server = _Server(config)
        self._running = asyncio.create_task(self._server.serve(sockets=[listening]), name="fake bot api")
        await asyncio.wait_for(self._server.listens.wait(), _START_SECONDS)

    async def stop(self) -> None:
        """Break all connections and stop listening."""
        if self._server is None or self._running is None:
            return
        self._server.should_exit = True
        for transport in list(self._transports):
            transport.abort()
        await self._running
        self._server = self._running = None

    async def _noted(self, scope: Scope, receive: Receive, send: Send) -> None:
        transport: asyncio.Transport = scope["transport"]
        self._transports.add(transport)
        try:
            await self._app(scope, receive, send)
        finally:
            self._transports.discard(transport)


def sever(transport: asyncio.Transport, reset: bool) -> None:
    """End a connection at once, with a reset or as if the other side had closed it."""
    if reset:
        connection: socket.socket = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
