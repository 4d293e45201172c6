"""A tool loop over a scripted model, for the tests of tools and plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from goat.adapters.steps_plain import PlainSteps
from goat.ports.models import ChatModel
from goat.records.models import ChatMessage, ModelRequest, Reply, ToolCall
from goat.testing.clock import FakeClock
from goat.testing.models import Answer, ScriptedModel
from goat.tools.limits import Equipment, Limits, LoopOutcome
from goat.tools.loop import Gate, ToolLoop
from goat.tools.tool import ToolContext, ToolDefinition
from goat.tools.toolbox import Toolbox


def calls(*wanted: tuple[str, str], text: str = "", finish: str = "tool_calls") -> Reply:
    """A reply that asks for tools; each call is a name and the text of its arguments."""
    made = tuple(ToolCall(f"c{place}", name, arguments) for place, (name, arguments) in enumerate(wanted))
    return Reply(text, made, model="scripted", finish_reason=finish)


def plain_loop(model: ChatModel, tools: Iterable[ToolDefinition], context: ToolContext) -> ToolLoop:
    """A loop with these tools for everybody, and nobody to ask."""
    box = Toolbox.of(tools)
    return ToolLoop(model, PlainSteps(), lambda _: Equipment(box, context))


def admin_context(workspace: Path) -> ToolContext:
    """The context of the person who runs GOAT, in the chat `test`."""
    return ToolContext("admin", "test", workspace, FakeClock(), source="test", admin=True)


class LoopBench:
    """A loop with its model, tools and what came out of the stream."""

    def __init__(self, workspace: Path) -> None:
        self.context = admin_context(workspace)
        self.model = ScriptedModel()
        self.shown = ""

    async def run(
        self,
        answers: Iterable[Answer],
        tools: Iterable[ToolDefinition] = (),
        gate: Gate | None = None,
        redact: Callable[[str], str] | None = None,
        **limits: Any,
    ) -> LoopOutcome:
        """Answer one request."""
        self.model = ScriptedModel(answers)
        box = Toolbox.of(tools)
        loop = ToolLoop(
            self.model, PlainSteps(), lambda _: Equipment(box, self.context), gate, Limits(**limits), redact
        )
        request = ModelRequest((ChatMessage("user", "Please help."),), question="Please help.")
        return await loop.run(request, self._show)

    def _show(self, piece: str) -> None:
        self.shown += piece

    def results(self, request: int = -1) -> list[str]:
        """The tool results that the model saw in one of its requests."""
        return [message.content for message in self.model.requests[request].messages if message.role == "tool"]


def valid(messages: Iterable[ChatMessage]) -> bool:
    """Whether every call is followed by its results, and no result comes without a call."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            if message.tool_call_id not in waiting:
                return False
            waiting.remove(message.tool_call_id)
            continue
        if waiting:
            return False
        waiting = [call.id for call in message.tool_calls]
    return not waiting
