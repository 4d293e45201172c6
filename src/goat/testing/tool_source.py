"""A program with tools that exists in memory only."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from goat.errors import BackendUnavailable
from goat.records.tools import OfferedTool, SourceState, ToolAnswer


def offered(name: str, description: str = "Does something.", **parameters: str) -> OfferedTool:
    """A tool whose parameters are given as names with their JSON types; all of them are required."""
    schema = {
        "type": "object",
        "properties": {one: {"type": kind} for one, kind in parameters.items()},
        "required": list(parameters),
    }
    return OfferedTool(name, description, schema)


class MemoryToolSource:
    """Offers the given tools; a call gives what `answers` holds for its name, or repeats its arguments."""

    def __init__(
        self, name: str = "memory", *tools: OfferedTool, answers: Mapping[str, ToolAnswer] | None = None
    ) -> None:
        self.name = name
        self.trouble = ""
        self.state = SourceState.STARTING
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._answers = answers or {}
        self._settled = asyncio.Event()
        self._tools: tuple[OfferedTool, ...] = ()
        if tools:
            self.offer(*tools)

    def offer(self, *tools: OfferedTool) -> None:
        """From now on the source has these tools."""
        self._tools = tuple(sorted(tools, key=lambda one: one.name))
        self.state, self.trouble = SourceState.READY, ""
        self._settled.set()

    def end(self, trouble: str) -> None:
        """From now on the source cannot be called."""
        self.state, self.trouble = SourceState.DOWN, trouble
        self._settled.set()

    def offered(self) -> tuple[OfferedTool, ...]:
        """The tools of now."""
        return self._tools

    async def settled(self) -> None:
        """Wait for the first tools, or the end."""
        await self._settled.wait()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Note the call and answer it."""
        if self.state is not SourceState.READY:
            raise BackendUnavailable("the tool source", self.name, self.trouble or "it is still starting")
        self.calls.append((tool, dict(arguments)))
        if tool not in {one.name for one in self._tools}:
            return ToolAnswer(f"Unknown tool: {tool}", ok=False)
        return self._answers.get(tool, ToolAnswer(", ".join(f"{name}={value}" for name, value in arguments.items())))
