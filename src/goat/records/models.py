"""What goes to a language model and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from goat.records.search import Recalled
from goat.records.usage import Usage

__all__ = ["ChatMessage", "ChatRole", "ModelRequest", "Reply", "ToolCall", "ToolSpec", "Usage"]

ChatRole = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for; `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt, in the terms of the OpenAI chat protocol."""

    role: ChatRole
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call. `question` and `recalled`, all that memory served but what only repeats the question, are for a
    model that answers from memory alone.

    `owner`, `chat` and `exchange_id` say for whom and for which turn it is made. The `history` messages behind the
    first are the conversation so far, which can be left out where the prompt is too long. With `schema`, a JSON Schema
    object, the answer's text is a JSON document that fits it, where the endpoint can bind its answers. `outside` says
    that the person's message holds words of others; `language` is the code of the language that the person is to read,
    empty where it is not known.
    """

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    question: str = ""
    recalled: tuple[Recalled, ...] = ()
    chat: str = ""
    owner: str = ""
    exchange_id: str = ""
    history: int = 0
    schema: Mapping[str, Any] | None = None
    outside: bool = False
    language: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer. `quotes_only` marks a text made of quotations, which the indexes need not hold twice.

    `usage` is that of every call that led to the answer, `failed_calls` counts those in vain. `notes` are sentences
    about the answer for the person, such as that another model stepped in; they are no part of it.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    finish_reason: str = "stop"
    quotes_only: bool = False
    notes: tuple[str, ...] = ()
    failed_calls: int = 0
