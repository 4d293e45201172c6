"""What is asked of a person before a tool acts, and what happened in the tools of a turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """How a question ended; it is cancelled with the turn that asked."""

    YES = "yes"
    NO = "no"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Question:
    """A call that waits for a person's leave.

    `shown` is the call as the person reads it, with secrets blacked out; `digest` is the SHA-256 of the whole call as
    it will run, in hexadecimal: that is what is approved. `once` says that a yes also covers later calls of this tool.
    """

    id: int
    owner: str
    chat: str
    tool: str
    shown: str
    digest: str
    asked_at: datetime
    expires_at: datetime
    reason: str = ""
    once: bool = False


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call that a turn made. `result` is what the model read, `private` keeps it out of the evidence lines."""

    name: str
    arguments: str
    result: str
    ok: bool
    seconds: float = 0.0
    private: bool = False


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A call that begins (`seconds` None) or ended, for the person who waits."""

    name: str
    arguments: str
    seconds: float | None = None
    ok: bool = True


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of another program, as that program describes it. `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What another program gave back for a call; `ok` is False when it says that the call failed."""

    text: str
    ok: bool = True


class SourceState(StrEnum):
    """Whether a program that offers tools can be called."""

    STARTING = "starting"
    READY = "ready"
    DOWN = "down"
