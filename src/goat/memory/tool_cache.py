"""Results of tools that were fetched a moment ago, and are not fetched again for the same call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from goat.memory.cache import Cache, cache_key
from goat.ports.run import Clock
from goat.tools.invoke import called
from goat.tools.tool import ToolContext, ToolDefinition


class ToolCache:
    """Keeps what `repeatable` tools gave. An owner's results end with whatever of theirs is written or forgotten;
    `version` grows with it."""

    def __init__(self, version: Callable[[str], int], clock: Clock) -> None:
        self._version = version
        self._clock = clock
        self._kept: Cache[Any] = Cache()

    def over(self, tool: ToolDefinition) -> ToolDefinition:
        """The tool, answering the same call of the same owner in the same chat from what it gave before.

        What fails is not kept. A tool that is not `repeatable` comes back as it is.
        """
        if not tool.repeatable:
            return tool

        async def handler(context: ToolContext, **arguments: Any) -> Any:
            now = self._clock.now()
            key = self._key(tool, arguments, context)
            kept = self._kept.get(key, now)
            if kept is None:
                kept = await called(tool, arguments, context)
                if kept is not None and key == self._key(tool, arguments, context):
                    self._kept.put(key, kept, now)
            return kept

        return replace(tool, handler=handler)

    def _key(self, tool: ToolDefinition, arguments: Mapping[str, Any], context: ToolContext) -> str:
        written = json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=repr)
        owner, version = context.owner, self._version(context.owner)
        return cache_key("tool", owner, context.chat, tool.source, tool.name, written, version)
