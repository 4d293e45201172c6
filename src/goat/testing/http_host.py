"""A thread with an event loop of its own, in which a fake service listens."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Final

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

KEEP_ALIVE_SECONDS: Final = 75
"""How long an idle connection stays open: longer than a client keeps one, or a call may meet its end."""

_SECONDS: Final = 10.0


class HttpHost:
    """Serves an app on a free `port` of 127.0.0.1 from a thread, until it is stopped.

    The app finds an `asyncio.Event` in its scope under `stopping`: what waits for a client for ever must wait for that
    too. Breaking off a response, by returning before it is complete, closes the connection.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._socket = socket.create_server(("127.0.0.1", 0))
        # handed on to every connection; without it a reply of two writes takes 40 ms
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            self._with_stop,
            interface="asgi3",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",  # a reply that breaks off on purpose is an error to uvicorn
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="http-host", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._ready = threading.Event()
        self._failures: list[Exception] = []

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()
        self._ready.wait(_SECONDS)

    def stop(self) -> None:
        """End all requests and the thread. Raises what the app raised, which its clients saw as a bare 500."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._server.should_exit = True
        self._thread.join(_SECONDS)
        if self._thread.is_alive():
            raise RuntimeError("The server did not stop.")
        if self._failures:
            raise self._failures[0]

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        await self._server.serve(sockets=[self._socket])

    async def _with_stop(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["stopping"] = self._stopping
        try:
            await self._app(scope, receive, send)
        except Exception as failure:
            self._failures.append(failure)
            raise
