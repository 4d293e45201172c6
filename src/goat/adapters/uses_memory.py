"""What is counted and noted about episodes, in memory: the references for their contracts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from goat.adapters.journal_memory import MemoryArchive
from goat.records.episodes import Episode, Use


class MemoryUses:
    """See the port `Uses`."""

    def __init__(self, archive: MemoryArchive) -> None:
        self._archive = archive

    async def count(self, owner: str, times: Mapping[int, int], at: datetime) -> None:
        """Add to the counts of these episodes."""
        for number in self._owned(owner, times):
            before = self._archive.uses.get(number, Use(0, at))
            self._archive.uses[number] = Use(before.count + times[number], max(before.last, at))

    async def of(self, owner: str, ids: Sequence[int]) -> dict[int, Use]:
        """The uses of these episodes."""
        uses = self._archive.uses
        return {number: uses[number] for number in self._owned(owner, ids) if number in uses}

    async def take_in(self, owner: str, brought: Mapping[int, Use]) -> None:
        """Take over the larger counts and the later times."""
        for number in self._owned(owner, brought):
            use, before = brought[number], self._archive.uses.get(number, brought[number])
            self._archive.uses[number] = Use(max(use.count, before.count), max(use.last, before.last))

    def _owned(self, owner: str, ids: Sequence[int] | Mapping[int, object]) -> list[int]:
        wanted = set(ids)
        return [one.id for one in self._archive.present if one.owner == owner and one.id in wanted]


class MemoryEnrichment:
    """See the port `Enrichment`."""

    def __init__(self, archive: MemoryArchive) -> None:
        self._archive = archive

    async def waiting(self, limit: int) -> list[Episode]:
        """The next episodes that wait, by id."""
        waiting = [episode for episode in self._archive.present if episode.id in self._archive.to_enrich]
        return waiting[: max(limit, 0)]

    async def note(self, notes: Mapping[int, Mapping[str, str]]) -> list[int]:
        """Add to the meta of these episodes."""
        present = {episode.id: episode for episode in self._archive.present}
        for number in notes.keys() & present.keys():
            episode = present[number]
            self._archive.episodes[number - 1] = replace(episode, meta={**notes[number], **episode.meta})
            self._archive.to_enrich.discard(number)
        return sorted(notes.keys() - present.keys())
