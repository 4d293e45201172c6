"""What the tool loop is given and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass

from goat.records.models import Reply, ToolSpec
from goat.records.tools import ToolUse
from goat.tools.tool import ToolContext
from goat.tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a turn may go. Output is counted in characters, over the whole turn and for one result."""

    rounds: int = 6
    output_chars: int = 60_000
    result_chars: int = 20_000
    tool_seconds: float = 60.0
    batch_calls: int = 16


@dataclass(frozen=True, slots=True)
class Equipment:
    """What a turn acts with: its snapshot of the tools, and for whom they work."""

    toolbox: Toolbox
    context: ToolContext


@dataclass(frozen=True, slots=True)
class LoopOutcome:
    """How a loop ended. `evidence` are the lines for the conversation history, empty when no tool was called.

    `offered` are the tools that the model was told of, and `calls` says how often it was called. `unfinished` says that
    the model had to answer because the turn's rounds or its room for tool output were used up.
    """

    reply: Reply
    uses: tuple[ToolUse, ...] = ()
    evidence: str = ""
    unfinished: bool = False
    offered: tuple[ToolSpec, ...] = ()
    calls: int = 1
