"""Updates that Telegram pushes, instead of polls: the same inbox, behind a secret that each request must carry."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from goat.errors import BackendUnavailable, BotUnusable
from goat.interfaces.telegram.ingress import Intake
from goat.interfaces.telegram.status import State, Status

SECRET_HEADER: Final = "X-Telegram-Bot-Api-Secret-Token"
MOST_BYTES: Final = 1024 * 1024
"""A larger body is no update."""


class Webhook:
    """Answers the pushes. An update is taken with 200 only when it is committed; otherwise Telegram sends it again."""

    def __init__(self, intake: Intake, status: Status, url: str, secret: str) -> None:
        self._intake = intake
        self._status = status
        self._secret = secret.encode()
        self.app = Starlette(routes=[Route(urlsplit(url).path or "/", self._pushed, methods=["POST"])])

    async def _pushed(self, request: Request) -> Response:
        given = request.headers.get(SECRET_HEADER, "").encode()
        if not hmac.compare_digest(given, self._secret):
            return Response(status_code=403)
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_BYTES:
                return Response(status_code=413)
        try:
            update = json.loads(body)
        except ValueError:
            return Response(status_code=400)
        if not isinstance(update, dict):
            return Response(status_code=400)
        try:
            await self._intake.take([update])
        except BackendUnavailable as failure:
            self._status.troubled(State.WAITING, str(failure))
            return Response(status_code=503)
        self._status.polled()
        return Response()


class _Server(uvicorn.Server):
    """Says when it listens, and leaves the signals to the program that it runs in."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()
        self.port = 0

    async def startup(self, sockets: object = None) -> None:
        await super().startup()
        if self.started:
            self.port = self.servers[0].sockets[0].getsockname()[1]
        self.listens.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def listening(webhook: Webhook, host: str, port: int) -> AsyncIterator[int]:
    """Serve the webhook until the context ends; gives the port. Raises `BotUnusable` when it cannot listen there."""
    config = uvicorn.Config(
        webhook.app, host=host, port=port, ws="none", lifespan="off", log_config=None, timeout_graceful_shutdown=5
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve(), name="webhook")
    listens = asyncio.create_task(server.listens.wait())
    await asyncio.wait({running, listens}, return_when=asyncio.FIRST_COMPLETED)
    listens.cancel()
    try:
        if not server.started:
            raise BotUnusable(
                f"its webhook cannot listen on {host}:{port}", "Set another [telegram] webhook_host or webhook_port."
            )
        yield server.port
    finally:
        server.should_exit = True
        await asyncio.gather(running, return_exceptions=True)
