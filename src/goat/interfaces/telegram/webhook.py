"""Updates that Telegram pushes, instead of polls: the same inbox, behind a secret that each request must carry."""

from __future__ import annotations

import asyncio
import hmac
import json
import socket
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
    """Leaves the signals to the program that it runs in."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def listening(webhook: Webhook, host: str, port: int) -> AsyncIterator[int]:
    """Serve the webhook until the context ends; gives the port. Raises `BotUnusable` when it cannot listen there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        taken = socket.create_server((host, port), family=family)
    except OSError as failure:
        raise BotUnusable(
            f"its webhook cannot listen on {host}:{port} ({failure.strerror or failure})",
            "Set another [telegram] webhook_host or webhook_port.",
        ) from failure
    config = uvicorn.Config(webhook.app, ws="none", lifespan="off", log_config=None, timeout_graceful_shutdown=5)
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[taken]), name="webhook")
    try:
        yield taken.getsockname()[1]
    finally:
        server.should_exit = True
        await asyncio.gather(running, return_exceptions=True)
