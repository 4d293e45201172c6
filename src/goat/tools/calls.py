"""From what the model asked for to calls that can run: names, ids, arguments."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from goat.errors import ToolError, nearest
from goat.records.models import ToolCall
from goat.tools.arguments import parse_arguments
from goat.tools.tool import ToolDefinition
from goat.tools.toolbox import Toolbox

FAILURES = 2
"""How often one and the same call may fail before it is refused."""

REPEATS = 3
"""How often one and the same call may run at all within a turn."""

UNREADABLE = 3
"""After this many calls in a row that nothing could be done with, the model has to answer without tools."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call before it runs: with a tool and arguments, or with the reason why it will not run."""

    call: ToolCall
    tool: ToolDefinition | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    refusal: str = ""

    @property
    def canonical(self) -> str:
        """The arguments in one spelling."""
        return json.dumps(self.arguments, ensure_ascii=False, sort_keys=True, default=str)

    @property
    def digest(self) -> str:
        """SHA-256 of the whole call, hexadecimal: another argument is another call."""
        return hashlib.sha256(f"{self.call.name}\0{self.canonical}".encode()).hexdigest()

    def refused(self, why: str) -> Prepared:
        """The same call, which will not run."""
        return replace(self, refusal=why)


def with_ids(calls: Sequence[ToolCall], batch: int) -> list[ToolCall]:
    """The calls with one id each: missing and repeated ids are replaced."""
    seen: set[str] = set()
    unique = []
    for place, call in enumerate(calls):
        id = call.id if call.id and call.id not in seen else f"call_{batch}_{place}"
        seen.add(id)
        unique.append(replace(call, id=id))
    return unique


def prepare(call: ToolCall, toolbox: Toolbox, cut: bool) -> Prepared:
    """Find the tool, read the arguments and check them; what is wrong becomes the refusal."""
    tool = toolbox.find(call.name)
    if tool is None:
        known = toolbox.names
        named = (
            f"there is no tool {call.name!r}{nearest(call.name, known)}" if call.name.strip() else "a call needs a name"
        )
        return Prepared(
            replace(call, name=call.name or "unnamed", arguments="{}"), None, {}, f"{named}; known: {', '.join(known)}"
        )
    try:
        written = parse_arguments(tool.name, call.arguments, cut)
        arguments = tool.validated(written)
    except ToolError as wrong:
        return Prepared(replace(call, name=tool.name, arguments="{}"), tool, {}, wrong.problem)
    as_json = json.dumps(written, ensure_ascii=False)
    return Prepared(replace(call, name=tool.name, arguments=as_json), tool, arguments)


class Repetition:
    """Notices a turn that goes in circles."""

    def __init__(self) -> None:
        self._ran: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._useless = 0
        self._ignored = 0

    def check(self, prepared: Prepared) -> Prepared:
        """The call, refused when the same one failed or ran too often before."""
        if prepared.refusal:
            return prepared
        digest = prepared.digest
        if self._failed[digest] >= FAILURES:
            self._ignored += 1
            return prepared.refused(
                f"this very call failed {FAILURES} times already, so it was not run again; change the approach"
            )
        if self._ran[digest] >= REPEATS:
            self._ignored += 1
            return prepared.refused("this very call ran before; its result stands above")
        self._ran[digest] += 1
        return prepared

    def ended(self, prepared: Prepared, ok: bool) -> None:
        """Count what became of the call."""
        if not ok and not prepared.refusal:
            self._failed[prepared.digest] += 1
        self._useless = self._useless + 1 if prepared.refusal else 0

    @property
    def hopeless(self) -> bool:
        """Whether the model should answer now, without tools."""
        return self._useless >= UNREADABLE or self._ignored >= 2
