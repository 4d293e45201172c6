"""Taking everything out again: an owner's whole memory as our own export, to be imported elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from goat.ports.edges import HistoryWriter
from goat.ports.stores import Journal, PermanentStore, Transfer, Uses
from goat.records.episodes import Change, Use
from goat.records.history import ArchivedFact, ArchivedIdentity

PAGE: Final = 500
"""Episodes that are read and written at once."""


@dataclass(frozen=True, slots=True)
class Exported:
    """How much was written: episodes, and facts and identity texts with their history."""

    episodes: int
    values: int


def _untold(_written: int) -> None:
    return


class Exporter:
    """Writes whole memories."""

    def __init__(self, journal: Journal, transfer: Transfer, permanent: PermanentStore, uses: Uses) -> None:
        self._journal = journal
        self._transfer = transfer
        self._permanent = permanent
        self._uses = uses

    async def owners(self) -> list[str]:
        """All whose memory this home holds."""
        return await self._transfer.owners()

    async def run(
        self,
        writer: HistoryWriter,
        owners: Sequence[str],
        named: bool,
        about: Mapping[str, str],
        told: Callable[[int], None] = _untold,
    ) -> Exported:
        """Write the memories of the owners, one after another; with `named` each line says whose it is.

        `about` goes into the header, `told` is told how many episodes were written so far. Raises
        `BackendUnavailable`, and what the writer raises.
        """
        await asyncio.to_thread(writer.begin, about)
        episodes = values = 0
        for owner in owners:
            label, last = owner if named else "", 0
            while page := await self._transfer.scan(owner, last, PAGE):
                uses = await self._uses.of(owner, [change.episode_id for change in page])
                await asyncio.to_thread(_write, writer, page, label, uses)
                last = page[-1].episode_id
                episodes += len(page)
                told(episodes)
            for value in await self._values(owner, label):
                writer.value(value)
                values += 1
        return Exported(episodes, values)

    async def _values(self, owner: str, label: str) -> list[ArchivedFact | ArchivedIdentity]:
        held = await self._permanent.everything(owner)
        sources = sorted({fact.source_episode for fact in held.facts if fact.source_episode is not None})
        uids = {episode.id: episode.uid for episode in await self._journal.episodes(owner, sources)}
        return [
            *(
                ArchivedFact(f.key, f.value, f.since, f.until, uids.get(f.source_episode or 0, ""), label)
                for f in held.facts
            ),
            *(ArchivedIdentity(text.text, text.since, text.until, label) for text in held.identities),
        ]


def _write(writer: HistoryWriter, page: Sequence[Change], label: str, uses: Mapping[int, Use]) -> None:
    for change in page:
        if change.episode is not None:
            indexed = bool(change.passages) or not change.episode.text.strip()
            writer.episode(change.episode, indexed, label, uses.get(change.episode_id))
