"""The port `ChatModel` over any endpoint that speaks OpenAI's chat completions protocol."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from goat.adapters import model_openai_wire as wire
from goat.adapters.model_openai_failures import Failures
from goat.errors import ModelFault
from goat.records.models import ModelRequest, Reply
from goat.settings.endpoint import ModelEndpoint
from goat.settings.sections import ModelSettings

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

PATH = "/chat/completions"
PLACEHOLDER_KEY = "none"
"""Sent where the endpoint needs no key: the client refuses to work without one."""

REPLACEMENTS = {"max_tokens": "max_completion_tokens"}
"""Fields that newer models know under another name."""

REQUIRED = {"model", "messages", "tools", "stream"}

REFUSAL = re.compile(
    r"unsupported|not supported|n[o']t support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|deprecated"
    r"|unavailable",
    re.IGNORECASE,
)


class OpenAIModel:
    """A model behind an HTTP endpoint. Nothing is opened before the first call, and no call is repeated.

    A field of the request that the endpoint refuses by name (`temperature`, `max_tokens`, `stream_options`, an extra
    field of the provider) is left out from then on, so that models with different rules need no settings of their own.
    """

    def __init__(self, endpoint: ModelEndpoint, settings: ModelSettings) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._failures = Failures(endpoint, settings)
        self._refused: set[str] = set()
        self._headless = False
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
        """Answer the request; with `on_text` the text is streamed to it in pieces. Thoughts are left out of both.

        Raises `ModelError`, with what the call used where the endpoint told it.
        """
        client = await self._opened()
        from openai import OpenAIError

        call = _Call(self._settings, self._headless)
        try:
            await self._answered(client, request, call, on_text)
        except OpenAIError as error:
            raise self._failures.of_library(error, call.begun, call.gathered.usage) from error
        except TimeoutError as error:
            if not call.late:
                raise self._failures.silent(call.patience, call.begun, call.gathered.usage) from error
            raise self._failures.overtime(call.gathered.usage) from error
        except wire.Reported as error:
            raise self._failures.reported(str(error), call.gathered.usage) from error
        except wire.BrokenOff as error:
            raise self._failures.broken_off(call.gathered.usage) from error
        except (wire.Foreign, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise self._failures.foreign(call.gathered.usage) from error
        rest, reply = call.gathered.finish(self._endpoint.model)
        self._headless = call.gathered.headless or self._headless
        reply = self._checked(request, reply, call.gathered.thought)
        if rest and on_text is not None:
            on_text(rest)
        return reply

    async def _opened(self) -> AsyncOpenAI:
        """The client; importing its library takes most of a second, so that happens in a thread."""
        if self._client is None:
            openai = await asyncio.to_thread(__import__, "openai")
        if self._client is None:
            self._client = openai.AsyncOpenAI(
                api_key=self._endpoint.key.get_secret_value() or PLACEHOLDER_KEY,
                base_url=self._endpoint.base_url,
                timeout=max(self._settings.timeout_seconds, self._settings.stall_seconds),
                max_retries=0,
            )
            # The library takes these two from the environment and would send them to any provider.
            self._client.organization = None
            self._client.project = None
        return self._client

    async def _answered(
        self, client: AsyncOpenAI, request: ModelRequest, call: _Call, on_text: Callable[[str], None] | None
    ) -> None:
        from openai import APIStatusError

        while True:
            body = self._body(request, stream=on_text is not None)
            try:
                async with asyncio.timeout_at(call.deadline()) as patience:
                    if on_text is None:
                        call.take_whole(await client.post(PATH, body=body, cast_to=object))
                    else:
                        await call.take_stream(client, body, on_text, patience)
            except APIStatusError as error:
                if not self._learned(error, body):
                    raise
            else:
                return

    def _body(self, request: ModelRequest, stream: bool) -> dict[str, Any]:
        optional: dict[str, Any] = {
            "temperature": self._settings.temperature,
            "max_tokens": self._settings.max_tokens,
            **self._endpoint.request,
        }
        if request.schema is not None:
            optional["response_format"] = wire.answer_format(request.schema)
        if stream:
            optional["stream_options"] = {"include_usage": True}
        for field, replacement in REPLACEMENTS.items():
            if field in self._refused:
                optional[replacement] = optional[field]
        body = {field: value for field, value in optional.items() if field not in self._refused}
        body |= {"model": self._endpoint.model, "messages": wire.messages(request.messages)}
        if request.tools:
            body["tools"] = wire.tools(request.tools)
        if stream:
            body["stream"] = True
        return body

    def _learned(self, error: APIStatusError, body: dict[str, Any]) -> bool:
        """Whether the endpoint named an optional field that it does not take; the next body lacks it."""
        if error.status_code not in {400, 422} or not REFUSAL.search(f"{error.code} {error.message}"):
            return False
        named = [
            field
            for field in body
            if field not in REQUIRED and (error.param == field or re.search(rf"\b{field}\b", error.message))
        ]
        self._refused.update(named)
        return bool(named)

    def _checked(self, request: ModelRequest, reply: Reply, thought: bool) -> Reply:
        """The reply with a note where it is not whole. Raises `ModelError` when it says nothing."""
        if not reply.text.strip() and not reply.tool_calls:
            raise self._failures.empty(reply.finish_reason, thought, reply.usage)
        if request.schema is not None and not reply.tool_calls and not _is_json(reply.text):
            raise self._failures.error(
                "the answer is not the JSON that was asked for",
                "Ask again, or choose another model with `goat model use`.",
                ModelFault.EMPTY,
                usage=reply.usage,
            )
        if reply.finish_reason == "length":
            note = f"The answer ends at its limit of {self._settings.max_tokens} tokens ([model] max_tokens)."
            return replace(reply, notes=(note,))
        if reply.finish_reason == "content_filter":
            return replace(reply, notes=("The provider's filter ended the answer early.",))
        return reply


class _Call:
    """One call: how long it may still take, and what has come of its answer."""

    def __init__(self, settings: ModelSettings, headless: bool) -> None:
        self._settings = settings
        self._end = asyncio.get_running_loop().time() + settings.call_seconds
        self.gathered = wire.Gathered(headless)
        self.begun = False
        """Whether a part of the answer has come."""

    @property
    def patience(self) -> float:
        """How many seconds the next part may take."""
        return self._settings.stall_seconds if self.begun else self._settings.timeout_seconds

    @property
    def late(self) -> bool:
        """Whether the whole call has used up its time."""
        return asyncio.get_running_loop().time() >= self._end

    def deadline(self) -> float:
        """When the next part must be here, by the loop's clock."""
        return min(asyncio.get_running_loop().time() + self.patience, self._end)

    def take_whole(self, data: object) -> None:
        """Read a completion."""
        self.gathered.take(wire.parsed(data))

    async def take_stream(
        self, client: AsyncOpenAI, body: dict[str, Any], on_text: Callable[[str], None], patience: asyncio.Timeout
    ) -> None:
        """Read the chunks of a stream. Comments that only keep the connection alive do not count as a part."""
        from goat.adapters.model_openai_stream import Events

        async with await client.post(PATH, body=body, cast_to=object, stream=True, stream_cls=Events) as events:
            async for event in events:
                text = self.gathered.take(wire.parsed(event))
                self.begun = True
                patience.reschedule(self.deadline())
                if text:
                    on_text(text)
        if not self.begun:
            raise wire.Foreign
        if not (events.ended or self.gathered.finished):
            raise wire.BrokenOff


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
