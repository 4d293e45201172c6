"""The port `ChatModel` over any endpoint that speaks OpenAI's chat completions protocol."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ValidationError

from goat.errors import ModelError
from goat.records.models import ChatMessage, ModelRequest, Reply, ToolCall, ToolSpec, Usage
from goat.settings.endpoint import ModelEndpoint
from goat.settings.sections import ModelSettings

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI, OpenAIError

PATH = "/chat/completions"
PLACEHOLDER_KEY = "none"
"""Sent where the endpoint needs no key: the client refuses to work without one."""

REPLACEMENTS = {"max_tokens": "max_completion_tokens"}
"""Fields that newer models know under another name."""

REFUSAL = re.compile(
    r"unsupported|not supported|n[o']t support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|deprecated",
    re.IGNORECASE,
)


class OpenAIModel:
    """A model behind an HTTP endpoint. Nothing is opened before the first call.

    A field of the request that the endpoint refuses by name (`temperature`, `max_tokens`, `stream_options`, an extra
    field of the provider) is left out from then on, so that models with different rules need no settings of their own.
    """

    def __init__(self, endpoint: ModelEndpoint, settings: ModelSettings) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._refused: set[str] = set()
        self._client: AsyncOpenAI | None = None

    @property
    def name(self) -> str:
        """The model's name as the endpoint knows it."""
        return self._endpoint.model

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """Answer the request; with `on_text` the text is streamed to it in pieces.

        Raises `ModelError`.
        """
        client = await self._opened()
        from openai import OpenAIError

        try:
            answer = await self._call(client, request, on_text)
        except OpenAIError as error:
            raise self._explained(error) from error
        except _Reported as error:
            raise self._error(f"the endpoint reported: {self._short(str(error))}", "Try again in a moment.") from error
        except (_Foreign, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise self._error(
                f"{self._endpoint.base_url} does not answer in OpenAI's chat protocol",
                "Check [model] base_url; it mostly ends in /v1.",
            ) from error
        return self._checked(answer)

    async def _opened(self) -> AsyncOpenAI:
        """The client; importing its library takes most of a second, so that happens in a thread."""
        if self._client is None:
            openai = await asyncio.to_thread(__import__, "openai")
        if self._client is None:
            self._client = openai.AsyncOpenAI(
                api_key=self._endpoint.key.get_secret_value() or PLACEHOLDER_KEY,
                base_url=self._endpoint.base_url,
                timeout=self._settings.timeout_seconds,
                max_retries=0,
            )
            # The library takes these two from the environment and would send them to any provider.
            self._client.organization = None
            self._client.project = None
        return self._client

    async def _call(
        self, client: AsyncOpenAI, request: ModelRequest, on_text: Callable[[str], None] | None
    ) -> _Gathered:
        from openai import APIStatusError

        while True:
            body = self._body(request, stream=on_text is not None)
            try:
                if on_text is None:
                    return _whole(await client.post(PATH, body=body, cast_to=object))
                return await _streamed(client, body, on_text)
            except APIStatusError as error:
                if not self._learned(error, body):
                    raise

    def _body(self, request: ModelRequest, stream: bool) -> dict[str, Any]:
        optional: dict[str, Any] = {
            "temperature": self._settings.temperature,
            "max_tokens": self._settings.max_tokens,
            **self._endpoint.request,
        }
        if stream:
            optional["stream_options"] = {"include_usage": True}
        for field, replacement in REPLACEMENTS.items():
            if field in self._refused:
                optional[replacement] = optional[field]
        body = {field: value for field, value in optional.items() if field not in self._refused}
        body |= {"model": self._endpoint.model, "messages": [_message(message) for message in request.messages]}
        if request.tools:
            body["tools"] = [_tool(spec) for spec in request.tools]
        if stream:
            body["stream"] = True
        return body

    def _learned(self, error: APIStatusError, body: dict[str, Any]) -> bool:
        """Whether the endpoint named an optional field that it does not take; the next body lacks it."""
        if error.status_code not in {400, 422} or not REFUSAL.search(f"{error.code} {error.message}"):
            return False
        required = {"model", "messages", "tools", "stream"}
        named = [
            field
            for field in body
            if field not in required and (error.param == field or re.search(rf"\b{field}\b", error.message))
        ]
        self._refused.update(named)
        return bool(named)

    def _checked(self, answer: _Gathered) -> Reply:
        reply = answer.reply(self._endpoint.model)
        if reply.text.strip() or reply.tool_calls:
            return reply
        if reply.finish_reason == "length":
            raise self._error(
                "it used up its answer before the first word",
                "Raise [model] max_tokens, or choose a model that thinks less.",
            )
        if reply.finish_reason == "content_filter":
            raise self._error("the provider's filter held the answer back", "Say it in other words.")
        raise self._error("the answer is empty", "Ask again, or choose another model with `goat setup --reconfigure`.")

    def _explained(self, error: OpenAIError) -> ModelError:
        import openai

        seconds = f"{self._settings.timeout_seconds:g}"
        match error:
            case openai.APITimeoutError():
                return self._error(
                    f"{self._endpoint.base_url} was silent for {seconds} seconds",
                    "Try again, raise [model] timeout_seconds, or choose a faster model.",
                )
            case openai.APIConnectionError():
                cause = self._short(str(error.__cause__ or error))
                return self._error(
                    f"the connection to {self._endpoint.base_url} failed ({cause})", self._connection_remedy()
                )
            case openai.APIStatusError():
                return self._by_status(error.status_code, self._short(_said(error)))
            case _:
                return self._error(f"the endpoint broke off: {self._short(str(error))}", "Try again.")

    def _by_status(self, status: int, message: str) -> ModelError:
        key = self._endpoint.key_name or "the key"
        if status in {401, 403}:
            problem, remedy = "the key was refused", f"Check {key}, or run `goat setup --reconfigure`."
        elif status == 402:
            problem, remedy = "the account has no credit left", "Top it up, or choose another provider."
        elif status == 404:
            problem = f"{self._endpoint.base_url} knows no such model or path"
            remedy = "Check [model] name and base_url; a base_url mostly ends in /v1."
        elif status == 429:
            problem, remedy = "the provider takes no more calls for now", "Wait a little, or check your plan's limits."
        elif status >= 500:
            problem, remedy = "the endpoint failed", "Try again in a moment."
        else:
            problem = "the request was refused"
            remedy = (
                "Check [model] name, temperature and max_tokens; a smaller [aits] budget_hard_cap makes it shorter."
            )
        return self._error(f"{problem} (HTTP {status}{': ' if message else ''}{message})", remedy)

    def _connection_remedy(self) -> str:
        if self._endpoint.provider == "ollama":
            return "Start Ollama (`ollama serve`), or check [model] base_url."
        return "Check [model] base_url and your connection."

    def _error(self, problem: str, remedy: str) -> ModelError:
        return ModelError(self._endpoint.model, problem, remedy)

    def _short(self, text: str) -> str:
        """One line of foreign text, without the key."""
        key = self._endpoint.key.get_secret_value()
        line = " ".join(text.split())
        return (line.replace(key, "[key]") if key else line)[:200]


def _message(message: ChatMessage) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["content"] = message.content or None
        body["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    return body


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}


class _Function(BaseModel):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _Call(BaseModel):
    index: int | None = None
    id: str | None = None
    function: _Function = _Function()


class _Message(BaseModel):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Message | None = None
    delta: _Message | None = None
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Answer(BaseModel):
    """A completion or a chunk of one, as far as it is read. `choices` is what makes it one of the protocol."""

    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


class _Reported(Exception):
    """The endpoint put an error into a body that should hold an answer."""


class _Foreign(Exception):
    """The body is not of the protocol."""


def _parsed(data: object) -> _Answer:
    if isinstance(data, dict) and data.get("error"):
        error = data["error"]
        raise _Reported(error.get("message", error) if isinstance(error, dict) else error)
    try:
        return _Answer.model_validate(data)
    except ValidationError as wrong:
        raise _Foreign from wrong


def _said(error: APIStatusError) -> str:
    """The endpoint's own sentence, empty when it sent a web page."""
    body = error.body
    text = str(body.get("message") or body) if isinstance(body, dict) else str(body or "")
    return "" if text.lstrip().startswith("<") else text


class _Gathered:
    """An answer as it comes together from one completion or many chunks."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: list[_Call] = []
        self._model = ""
        self._usage = Usage()
        self._finish = "stop"

    def take(self, answer: _Answer) -> str:
        """Add a part; returns its text."""
        self._model = answer.model or self._model
        if answer.usage:
            self._usage = Usage(answer.usage.prompt_tokens or 0, answer.usage.completion_tokens or 0)
        text = ""
        for choice in answer.choices[:1]:
            part = choice.message or choice.delta or _Message()
            text = part.content or ""
            self._finish = choice.finish_reason or self._finish
            for call in part.tool_calls or ():
                self._take_call(call, whole=choice.message is not None)
        self._text.append(text)
        return text

    def _take_call(self, part: _Call, whole: bool) -> None:
        """Begin a call, or continue the one with the index of this part unless the part has an id of its own."""
        same = [call for call in self._calls if call.index == part.index and part.id in {None, "", call.id}]
        if whole or not same:
            self._calls.append(part.model_copy(deep=True))
            return
        known = same[-1].function
        known.name = known.name or part.function.name
        known.arguments = _arguments(known) + _arguments(part.function)

    def reply(self, model: str) -> Reply:
        """The whole answer; a call without an id gets one, a call without arguments gets none (`{}`)."""
        calls = tuple(
            ToolCall(
                call.id or f"call_{uuid.uuid4().hex[:16]}", call.function.name or "", _arguments(call.function) or "{}"
            )
            for call in self._calls
        )
        return Reply("".join(self._text), calls, self._model or model, self._usage, self._finish)


def _arguments(function: _Function) -> str:
    given = function.arguments
    return json.dumps(given, ensure_ascii=False) if isinstance(given, dict) else given or ""


def _whole(data: object) -> _Gathered:
    gathered = _Gathered()
    answer = _parsed(data)
    if not answer.choices:
        raise _Foreign
    gathered.take(answer)
    return gathered


async def _streamed(client: AsyncOpenAI, body: dict[str, Any], on_text: Callable[[str], None]) -> _Gathered:
    from openai import AsyncStream

    gathered, chunks = _Gathered(), 0
    async with await client.post(PATH, body=body, cast_to=object, stream=True, stream_cls=AsyncStream[object]) as parts:
        async for part in parts:
            chunks += 1
            text = gathered.take(_parsed(part))
            if text:
                on_text(text)
    if not chunks:
        raise _Foreign
    return gathered
