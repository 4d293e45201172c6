"""A model endpoint for tests: OpenAI chat completions over real HTTP, scripted, and strict with what it is sent.

    async with LlmServer() as server:          # or `with LlmServer() as server:` where there is no event loop
        server.script(says("Hello", pieces=3), fails(429, retry_after=1), hangs())
        … a client with base_url=server.base_url …
        assert server.prompts[0].messages[-1]["content"] == "Hi"

It listens on a free port of 127.0.0.1, in a thread with an event loop of its own, so a blocked client never blocks it.
A request that the protocol does not allow is answered with 400 and uses up no answer. Needs the extra `testing`.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NoReturn, Self

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from goat.testing.http_host import HttpHost
from goat.testing.llm_answers import Answer, Json, Said, Silence, Tokens, Verbatim, error_body, fails, merged
from goat.testing.llm_checks import Refused, check_request


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as it came: its number from 1, the bytes of its body, and those parsed.

    `json` is empty when the body is no JSON object; `refusal` says why the endpoint did not take the request.
    """

    number: int
    body: bytes
    headers: Mapping[str, str]
    json: Json = field(default_factory=dict)
    refusal: str = ""

    @property
    def messages(self) -> list[Json]:
        """The messages of the prompt."""
        messages: list[Json] = self.json.get("messages", [])
        return messages

    @property
    def message_bytes(self) -> tuple[bytes, ...]:
        """Each message as compact JSON with its fields in their order: equal bytes make an equal prefix to a cache."""
        return tuple(json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode() for one in self.messages)


class LlmServer:
    """The endpoint. It answers with `script`, in order; when that is used up with `always`, or else with 500.

    `key`, when given, must come as the bearer token. `models` are those that exist. `extra_fields` are fields of a
    request that this provider knows beyond the protocol. `keep`, when given, is how many of the newest prompts are
    recorded.
    """

    def __init__(
        self,
        *,
        key: str = "",
        models: Collection[str] = ("test-model",),
        extra_fields: Collection[str] = (),
        keep: int | None = None,
    ) -> None:
        self._key = key
        self._models = tuple(models)
        self._extra_fields = tuple(extra_fields)
        self._answers: deque[Answer] = deque()
        self._always: Callable[[Prompt], Answer] | None = None
        self._changed = threading.Condition()
        self._prompts: deque[Prompt] = deque(maxlen=keep)
        self._asked = 0
        self._abandoned: list[int] = []
        self._host: HttpHost | None = None

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        if self._host is None:
            raise RuntimeError("The server is not running; enter it first.")
        return f"http://127.0.0.1:{self._host.port}/v1"

    @property
    def prompts(self) -> list[Prompt]:
        """The requests for completions so far, refused ones among them; the newest of them where `keep` says so."""
        with self._changed:
            return list(self._prompts)

    @property
    def abandoned(self) -> list[int]:
        """The numbers of the prompts whose client left before the answer was complete."""
        with self._changed:
            return list(self._abandoned)

    def script(self, *answers: Answer) -> None:
        """Put answers at the end of the script."""
        with self._changed:
            self._answers.extend(answers)

    def always(self, answer: Answer | Callable[[Prompt], Answer]) -> None:
        """What is answered when the script is used up."""
        self._always = answer if callable(answer) else lambda _: answer

    def clear(self) -> None:
        """Forget the script, `always`, and what was recorded: one server can serve many tests, one after the other."""
        with self._changed:
            self._answers.clear()
            self._always = None
            self._prompts.clear()
            self._abandoned.clear()
            self._asked = 0

    def wait_for(self, condition: Callable[[], bool], timeout: float = 30.0) -> bool:
        """Block until a condition over `prompts` and `abandoned` holds; False when it did not in time."""
        with self._changed:
            return self._changed.wait_for(condition, timeout)

    def __enter__(self) -> Self:
        app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/v1/models", self._list_models, methods=["GET"]),
                Route("/v1/models/{name:path}", self._show_model, methods=["GET"]),
            ],
            exception_handlers={Refused: _refused, HTTPException: _not_here},
        )
        self._host = HttpHost(app)
        self._host.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._host is not None:
            self._host.stop()
            self._host = None

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    async def _complete(self, request: Request) -> Response:
        body = await request.body()
        refusal: Refused | None = None
        asked: Json = {}
        try:
            self._authorize(request)
            asked = _parsed(body, request)
            check_request(asked, self._models, self._extra_fields)
        except Refused as problem:
            refusal = problem
        with self._changed:
            self._asked = number = self._asked + 1
            prompt = Prompt(number, body, dict(request.headers), asked, refusal.message if refusal else "")
            self._prompts.append(prompt)
            self._changed.notify_all()
        if refusal is not None:
            raise refusal
        return _Playing(self._next_answer(prompt), prompt, self._gone)

    def _next_answer(self, prompt: Prompt) -> Answer:
        with self._changed:
            if self._answers:
                return self._answers.popleft()
        if self._always is not None:
            return self._always(prompt)
        return fails(500, f"no answer is scripted for request {prompt.number}", code="no_script")

    def _gone(self, prompt: Prompt) -> None:
        with self._changed:
            if any(prompt is one for one in self._prompts):  # else it is of the time before `clear`
                self._abandoned.append(prompt.number)
                self._changed.notify_all()

    def _authorize(self, request: Request) -> None:
        if self._key and request.headers.get("authorization") != f"Bearer {self._key}":
            raise Refused("incorrect API key provided", status=401, code="invalid_api_key")

    async def _list_models(self, request: Request) -> Response:
        self._authorize(request)
        return _json({"object": "list", "data": [_model(name) for name in self._models]})

    async def _show_model(self, request: Request) -> Response:
        self._authorize(request)
        name = request.path_params["name"]
        if name not in self._models:
            raise Refused(f"the model {name!r} does not exist", "model", status=404, code="model_not_found")
        return _json(_model(name))


class _ClientLeft(Exception):
    """The client closed the connection, or the server stops."""


class _Playing(Response):
    """Plays one answer to one client."""

    def __init__(self, answer: Answer, prompt: Prompt, gone: Callable[[Prompt], None]) -> None:
        super().__init__()
        self._answer = answer
        self._prompt = prompt
        self._gone = gone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.create_task(_left(receive, scope["stopping"]))
        try:
            match self._answer:
                case Silence():
                    await _pause(None, leaving)
                case Verbatim():
                    await self._send_verbatim(self._answer, send, leaving)
                case Said() if self._prompt.json.get("stream"):
                    await self._stream(self._answer, send, leaving)
                case Said():
                    await self._send_whole(self._answer, send, leaving)
        except _ClientLeft:
            self._gone(self._prompt)
        finally:
            leaving.cancel()

    async def _send_verbatim(self, answer: Verbatim, send: Send, leaving: asyncio.Task[None]) -> None:
        await _pause(answer.first, leaving)
        await _start(send, answer.status, {"content-type": answer.content_type, **answer.headers})
        for place, chunk in enumerate(answer.chunks):
            await _pause(answer.between if place else 0, leaving)
            await _body(send, chunk)
        await _body(send, b"", more=False)

    async def _send_whole(self, answer: Said, send: Send, leaving: asyncio.Task[None]) -> None:
        await _pause(answer.first + answer.between * max(0, len(answer.deltas) - 1), leaving)
        choice = {"index": 0, "message": merged(answer.deltas), "logprobs": None, "finish_reason": answer.finish}
        reply = self._frame("chat.completion", [choice] if answer.choices else [])
        if answer.usage:
            reply["usage"] = self._usage(answer)
        body = json.dumps(reply).encode()
        await _start(send, 200, {"content-type": "application/json", "content-length": str(len(body))})
        if answer.ending in ("cut", "hang"):
            await _body(send, body[: len(body) // 2])
            await self._break_off(answer, leaving)
        else:
            await _body(send, body, more=False)

    async def _stream(self, answer: Said, send: Send, leaving: asyncio.Task[None]) -> None:
        await _pause(answer.first, leaving)
        await _start(send, 200, {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"})
        options = self._prompt.json.get("stream_options") or {}
        with_usage = answer.usage and options.get("include_usage", False)
        events = self._events(answer, with_usage)
        for place, event in enumerate(events):
            if place > answer.upto:  # the event before the first delta only names the role
                break
            await _pause(answer.between if place > 1 else 0, leaving)
            comment = ": keep-alive\n\n" if answer.comments else ""
            await _body(send, f"{comment}data: {json.dumps(event)}\n\n".encode())
        if answer.ending in ("cut", "hang"):
            await self._break_off(answer, leaving)
        else:
            await _body(send, b"data: [DONE]\n\n" if answer.ending == "done" else b"", more=False)

    async def _break_off(self, answer: Said, leaving: asyncio.Task[None]) -> None:
        """Return with the response unfinished, upon which uvicorn closes the connection."""
        if answer.ending == "hang":
            await _pause(None, leaving)

    def _events(self, answer: Said, with_usage: bool) -> list[Json]:
        nothing: Json = {"usage": None} if with_usage else {}
        events = []
        if answer.choices:
            deltas = [{"role": "assistant", "content": ""}, *answer.deltas, {}]
            for place, delta in enumerate(deltas):
                finish = answer.finish if place == len(deltas) - 1 else None
                choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
                events.append({**self._frame("chat.completion.chunk", [choice]), **nothing})
        else:
            events.append({**self._frame("chat.completion.chunk", []), **nothing})
        if with_usage:
            events.append({**self._frame("chat.completion.chunk", []), "usage": self._usage(answer)})
        return events

    def _frame(self, kind: str, choices: list[Json]) -> Json:
        return {
            "id": f"chatcmpl-{self._prompt.number}",
            "object": kind,
            "created": int(time.time()),
            "model": self._prompt.json["model"],
            "system_fingerprint": "fp_scripted",
            "choices": choices,
        }

    def _usage(self, answer: Said) -> Json:
        said = json.dumps(merged(answer.deltas), ensure_ascii=False)
        tokens = answer.tokens or Tokens(_count(b"".join(self._prompt.message_bytes)), _count(said.encode()))
        return {
            "prompt_tokens": tokens.prompt,
            "completion_tokens": tokens.completion,
            "total_tokens": tokens.prompt + tokens.completion,
            "prompt_tokens_details": {"cached_tokens": tokens.cached},
            "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
        }


async def _left(receive: Receive, stopping: asyncio.Event) -> None:
    """Returns when the client leaves or the server stops."""
    stop = asyncio.create_task(stopping.wait())
    gone = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait((stop, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.cancel()
        gone.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _pause(seconds: float | None, leaving: asyncio.Task[None]) -> None:
    """Wait so many seconds, None for ever. Raises `_ClientLeft` as soon as nobody waits for the answer."""
    await asyncio.wait((leaving,), timeout=seconds)
    if leaving.done():
        raise _ClientLeft


async def _start(send: Send, status: int, headers: Mapping[str, str]) -> None:
    listed = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})


async def _body(send: Send, data: bytes, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": more})


def _parsed(body: bytes, request: Request) -> Json:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Refused("the content type must be application/json")
    try:
        parsed = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise Refused(f"the body is not JSON ({problem})") from problem
    if not isinstance(parsed, dict):
        raise Refused("the body must be an object")
    return parsed


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _count(text: bytes) -> int:
    """About a token in four bytes."""
    return -(-len(text) // 4)


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "goat"}


def _json(value: Json) -> Response:
    return Response(json.dumps(value), media_type="application/json")


async def _refused(_: Request, problem: Any) -> Response:
    body = error_body(problem.message, problem.kind, param=problem.param, code=problem.code)
    return Response(body, problem.status, media_type="application/json")


async def _not_here(request: Request, problem: Any) -> Response:
    message = f"invalid URL ({request.method} {request.url.path})"
    return Response(error_body(message, "invalid_request_error"), problem.status_code, media_type="application/json")
