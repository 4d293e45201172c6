"""The Approvals port in memory, the reference for the others."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from goat.records.tools import Question, Verdict


class MemoryApprovals:
    """See the port `Approvals`."""

    def __init__(self) -> None:
        self._questions: list[Question] = []
        self.verdicts: dict[int, Verdict] = {}

    async def open(self, question: Question) -> Question:
        """Keep a question."""
        kept = replace(question, id=len(self._questions) + 1)
        self._questions.append(kept)
        return kept

    async def close(self, id: int, verdict: Verdict, at: datetime) -> bool:
        """Keep how it ended."""
        if id in self.verdicts or not 0 < id <= len(self._questions):
            return False
        self.verdicts[id] = verdict
        return True

    async def granted(self, owner: str, tool: str) -> bool:
        """Whether later calls of the tool are covered."""
        covering = [one for one in self._questions if one.once and (one.owner, one.tool) == (owner, tool)]
        return any(self.verdicts.get(one.id) is Verdict.YES for one in covering)

    async def waiting(self) -> list[Question]:
        """Questions without a verdict."""
        return [one for one in self._questions if one.id not in self.verdicts]
