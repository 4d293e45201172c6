"""The HTTP side: every call is recorded, meets its fault if one is planned, and is answered in Telegram's form."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from goat.testing.bot_api import methods_bot, methods_media, methods_messages
from goat.testing.bot_api.errors import ApiError, not_found, unauthorized
from goat.testing.bot_api.faults import Fault, FaultPlan
from goat.testing.bot_api.host import sever
from goat.testing.bot_api.params import read_params
from goat.testing.bot_api.world import World

_METHODS: Final = {
    name.lower(): (name, method)
    for methods in (methods_bot.METHODS, methods_media.METHODS, methods_messages.METHODS)
    for name, method in methods.items()
}
_TOKEN_FORM: Final = re.compile(r"\d+:[\w-]{5,}")


@dataclass(slots=True)
class Call:
    """One call as it came, and how it ended.

    `params` are as they were sent: in a form objects are JSON texts. `status` is 0 while the call runs and where it got
    no answer; `error` is Telegram's sentence.
    """

    method: str
    params: Mapping[str, Any]
    files: tuple[str, ...]
    at: datetime
    status: int = 0
    error: str = ""
    result: Any = None


class Endpoint:
    """Answers the calls of one bot. `token` may be set to another one, which revokes the first."""

    def __init__(self, world: World, token: str) -> None:
        self.token = token
        self.calls: list[Call] = []
        self.faults = FaultPlan()
        self.bugs: list[Exception] = []
        self._world = world
        self.app = Starlette(
            routes=[
                Route("/bot{token}/{method}", self._call, methods=["GET", "POST"]),
                Route("/file/bot{token}/{path:path}", self._download),
            ]
        )

    async def _call(self, request: Request) -> Response:
        name, _ = _METHODS.get(request.path_params["method"].lower(), (request.path_params["method"], None))
        call = Call(name, {}, (), self._world.clock.now())
        self.calls.append(call)
        try:
            return await self._ended(request, call)
        except ClientDisconnect:  # whoever called has gone while the call was still being read
            return Response()
        except Exception as bug:
            self.bugs.append(bug)
            raise
        finally:
            self._world.touch()

    async def _ended(self, request: Request, call: Call) -> Response:
        """Run a call to its end, good or bad."""
        reading = await self._answered(request, call, reading=True)
        self._world.touch()
        fault = self.faults.strike(call.method, call.params.get("chat_id"))
        if fault is not None and not fault.late and (broken := await self._broken(request, call, fault)) is not None:
            return broken
        body = reading if call.error else await self._answered(request, call)
        if fault is not None and fault.late and (broken := await self._broken(request, call, fault, body)) is not None:
            return broken
        return Response(body, call.status, media_type="application/json")

    async def _answered(self, request: Request, call: Call, reading: bool = False) -> bytes:
        """The body of the true answer; with `reading` only the parameters are taken in."""
        try:
            if reading:
                request.state.params = params = await read_params(request)
                call.params, call.files = params.values, tuple(sorted(params.files))
                return b""
            self._admit(request)
            call.result = await self._run(request)
            call.status, body = 200, {"ok": True, "result": call.result}
        except ApiError as refused:
            call.status, call.error, body = refused.code, refused.description, refused.as_json()
        return json.dumps(body, ensure_ascii=False).encode()

    async def _run(self, request: Request) -> Any:
        _, method = _METHODS.get(request.path_params["method"].lower(), ("", None))
        if method is None:
            raise ApiError(404, "Not Found: method not found")
        result = method(self._world, request.state.params)
        return await result if inspect.isawaitable(result) else result

    def _admit(self, request: Request) -> None:
        token = request.path_params["token"]
        if not _TOKEN_FORM.fullmatch(token):
            raise not_found()
        if token != self.token:
            raise unauthorized()

    async def _broken(self, request: Request, call: Call, fault: Fault, body: bytes = b"") -> Response | None:
        """What the caller gets of a fault; None when after all it is the true answer."""
        if fault.way == "trickle":
            return StreamingResponse(_drops(body, fault.delay), call.status, media_type="application/json")
        if fault.delay:
            await self._pause(fault.delay)
        match fault.way:
            case "answer":
                call.status, call.error = fault.status, call.error or fault.body.decode()
                return Response(fault.body, fault.status, media_type="application/json")
            case "cut":
                return Response(body[: len(body) // 2], call.status, media_type="application/json")
            case "hang":
                call.status = 0
                await self._gone(request)
                return Response(status_code=503)
            case "drop" | "reset":
                call.status = 0
                sever(request.scope["transport"], reset=fault.way == "reset")
                await request.receive()
                return Response()
        return None

    async def _pause(self, seconds: float) -> None:
        """Take time, as long as the server is there; a caller who has gone meanwhile changes nothing."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._world.ended.wait(), seconds)

    async def _gone(self, request: Request) -> None:
        """Wait until the caller or the server goes away."""
        waits = [asyncio.ensure_future(request.receive()), asyncio.create_task(self._world.ended.wait())]
        _, late = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in late:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)

    async def _download(self, request: Request) -> Response:
        """The content of a file that getFile named."""
        call = Call("download", {"path": request.path_params["path"]}, (), self._world.clock.now())
        self.calls.append(call)
        await request.body()
        fault = self.faults.strike("download", None)
        if fault is not None and (broken := await self._broken(request, call, fault)) is not None:
            return broken
        try:
            self._admit(request)
            file = next((one for one in self._world.files.values() if one.path == request.path_params["path"]), None)
            if file is None:
                raise not_found()
        except ApiError as refused:
            call.status, call.error = refused.code, refused.description
            return Response(json.dumps(refused.as_json()), refused.code, media_type="application/json")
        call.status = 200
        return Response(file.content, media_type="application/octet-stream")


async def _drops(body: bytes, pause: float) -> AsyncIterator[bytes]:
    for byte in body:
        await asyncio.sleep(pause)
        yield bytes([byte])
