"""OpenAI's chat completions protocol: how a request is written, and how an answer is read, whole or in chunks."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from goat.adapters.thoughts import ThoughtFilter
from goat.records.models import ChatMessage, Reply, ToolCall, ToolSpec
from goat.records.usage import Usage


class Reported(Exception):
    """The endpoint put an error into a body that should hold an answer."""


class Foreign(Exception):
    """The body is not of the protocol."""


class BrokenOff(Exception):
    """The stream ended, but the answer did not."""


def messages(given: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """The messages as the protocol has them, nothing in them of the provider that answered before."""
    ids = _CallIds()
    return [_message(message, ids) for message in given]


def tools(specs: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """The tools as the protocol has them."""
    return [
        {
            "type": "function",
            "function": {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)},
        }
        for spec in specs
    ]


def answer_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The field `response_format` that binds an answer to a JSON Schema."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)}}


class _CallIds:
    """Numbers tool calls anew, as `call00001`.

    Providers differ in the ids they take, one refuses another's, and models write the same id twice. A result goes to
    the oldest open call of its id.
    """

    def __init__(self) -> None:
        self._count = 0
        self._open: defaultdict[str, deque[str]] = defaultdict(deque)

    def of_call(self, given: str) -> str:
        self._count += 1
        number = f"call{self._count:05d}"
        self._open[given].append(number)
        return number

    def of_result(self, given: str) -> str:
        waiting = self._open[given]
        return waiting.popleft() if waiting else given


def _message(message: ChatMessage, ids: _CallIds) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["content"] = message.content or None
        body["tool_calls"] = [
            {
                "id": ids.of_call(call.id),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        body["tool_call_id"] = ids.of_result(message.tool_call_id)
    return body


class _Function(BaseModel):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _Call(BaseModel):
    index: int | None = None
    id: str | None = None
    function: _Function = _Function()


class _Part(BaseModel):
    """A part of a content that comes as a list; parts that are no text have none."""

    text: str | None = None


class _Message(BaseModel):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: list[_Call] | None = None

    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or ""


class _Choice(BaseModel):
    message: _Message | None = None
    delta: _Message | None = None
    finish_reason: str | None = None


class _PromptDetails(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    cost: float | None = None

    def read(self) -> Usage:
        """The counts; DeepSeek has the cached tokens in a field of its own, OpenRouter tells the cost in USD."""
        details = self.prompt_tokens_details or _PromptDetails()
        cached = details.cached_tokens or self.prompt_cache_hit_tokens or 0
        prompt = self.prompt_tokens or 0
        return Usage(prompt, self.completion_tokens or 0, min(cached, prompt), self.cost)


class Answer(BaseModel):
    """A completion or a chunk of one, as far as it is read. `choices` is what makes it one of the protocol."""

    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


def parsed(data: object) -> Answer:
    """An answer or a chunk. Raises `Reported` for an error in its place and `Foreign` for anything else."""
    if isinstance(data, dict) and data.get("error"):
        error = data["error"]
        raise Reported(error.get("message", error) if isinstance(error, dict) else error)
    try:
        return Answer.model_validate(data)
    except ValidationError as wrong:
        raise Foreign from wrong


class Gathered:
    """An answer as it comes together from one completion or many chunks; thoughts are left out of its text."""

    def __init__(self, headless: bool = False) -> None:
        self._filter = ThoughtFilter(headless)
        self._refusal = ""
        self._calls: list[_Call] = []
        self._model = ""
        self._finish: str | None = None
        self.usage = Usage()
        self.thought = False
        """Whether the model thought."""
        self.headless = False
        """Whether its thoughts came without their opening tag."""

    @property
    def finished(self) -> bool:
        """Whether the endpoint said why the answer ends."""
        return self._finish is not None

    def take(self, answer: Answer) -> str:
        """Add a part; returns the text that it settles."""
        self._model = answer.model or self._model
        if answer.usage:
            self.usage = answer.usage.read()
        text = ""
        for choice in answer.choices[:1]:
            part = choice.message or choice.delta or _Message()
            text = part.text()
            self._refusal += part.refusal or ""
            self.thought = self.thought or bool(part.reasoning_content or part.reasoning)
            self._finish = choice.finish_reason or self._finish
            for call in part.tool_calls or ():
                self._take_call(call, whole=choice.message is not None)
        return self._filter.feed(text)

    def _take_call(self, part: _Call, whole: bool) -> None:
        """Begin a call, or continue the one with the index of this part unless the part has an id of its own."""
        same = [call for call in self._calls if call.index == part.index and part.id in {None, "", call.id}]
        if whole or not same:
            self._calls.append(part.model_copy(deep=True))
            return
        known = same[-1].function
        known.name = known.name or part.function.name
        known.arguments = _arguments(known) + _arguments(part.function)

    def finish(self, model: str) -> tuple[str, Reply]:
        """The text that was not settled before, and the whole answer; a refusal stands for a text that is missing.

        A call without an id gets one, a call without arguments gets none (`{}`).
        """
        rest, seen = self._filter.close()
        self.thought = self.thought or seen.thought
        self.headless = seen.headless
        calls = tuple(
            ToolCall(
                call.id or f"call_{uuid.uuid4().hex[:16]}", call.function.name or "", _arguments(call.function) or "{}"
            )
            for call in self._calls
        )
        text, finish = seen.text, self._finish or "stop"
        if not text.strip() and self._refusal.strip():
            text, finish = self._refusal, "refusal"
        return rest, Reply(text, calls, self._model or model, self.usage, finish)


def _arguments(function: _Function) -> str:
    given = function.arguments
    return json.dumps(given, ensure_ascii=False) if isinstance(given, dict) else given or ""
