"""The tools of one turn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from goat.records.models import ToolSpec
from goat.tools.tool import ToolDefinition


@dataclass(frozen=True, slots=True)
class Refused:
    """A tool that was left out, and why."""

    tool: str
    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Toolbox:
    """A snapshot: a turn keeps its tools, whatever is reloaded meanwhile. `specs` stand in one order, by name, so that
    the prompt's bytes stay the same from turn to turn.
    """

    tools: tuple[ToolDefinition, ...] = ()
    refused: tuple[Refused, ...] = ()
    _by_name: dict[str, ToolDefinition] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, *groups: Iterable[ToolDefinition]) -> Toolbox:
        """The tools of all groups; where two have one name, the earlier group wins and the other is refused."""
        taken: dict[str, ToolDefinition] = {}
        refused = []
        for one in (tool for group in groups for tool in group):
            first = taken.setdefault(_folded(one.name), one)
            if first is not one:
                reason = f"{first.source or 'GOAT itself'} already has a tool named {first.name}"
                refused.append(Refused(one.name, one.source, reason))
        ordered = tuple(sorted(taken.values(), key=lambda one: one.name))
        return cls(ordered, tuple(refused), {one.name: one for one in ordered})

    @property
    def names(self) -> list[str]:
        """The names of the tools, sorted."""
        return list(self._by_name)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them."""
        return tuple(one.spec for one in self.tools)

    def find(self, name: str) -> ToolDefinition | None:
        """The tool of a name as a model may write it: `read_file`, `functions.read_file`, `ReadFile`, `read-file`."""
        exact = self._by_name.get(name)
        if exact is not None or not name.strip():
            return exact
        folded = _folded(name.rpartition(".")[2])
        close = [one for one in self.tools if _folded(one.name) == folded]
        return close[0] if len(close) == 1 else None

    def without(self, names: Iterable[str]) -> Toolbox:
        """The toolbox without some of its tools."""
        left_out = set(names)
        return Toolbox.of(one for one in self.tools if one.name not in left_out)

    def __iter__(self) -> Iterator[ToolDefinition]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)


def _folded(name: str) -> str:
    """A name without case, bars and separators."""
    return re.sub(r"[\W_]", "", name).lower()
