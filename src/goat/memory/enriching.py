"""Enriching writes: what is stored on the thread stands in its held list before the turn ends."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from goat.failpoints import reach
from goat.memory.facade import MemoryLayers
from goat.memory.l2_thread import Bands, cosine, refreshed
from goat.ports.run import Clock
from goat.records.memory import Activation, Held
from goat.retrieval.pipeline import DRIFT


class WriteKind(StrEnum):
    """Whether a stored text belongs to the thread, so that the held list was refreshed, or was only filed."""

    ENRICHING = "enriching"
    FILING = "filing"


@dataclass(frozen=True, slots=True)
class Written:
    """A text that was stored during a turn, and the episode that it became."""

    text: str
    episode_id: int


class Enriching:
    """Refreshes the held list of a chat for texts that were stored on its thread."""

    def __init__(
        self, memory: MemoryLayers, bands: Bands, clock: Clock, least_relevance: float, max_results: int
    ) -> None:
        self._memory = memory
        self._bands = bands
        self._clock = clock
        self._least_relevance = least_relevance
        self._recipe = replace(DRIFT, limit=max_results)
        self._noted: defaultdict[tuple[str, str], list[Written]] = defaultdict(list)

    def note(self, owner: str, chat: str, written: Written) -> None:
        """Remember a stored text until the turn of its chat settles: only then its topic is known."""
        self._noted[owner, chat].append(written)

    async def settle(self, owner: str, chat: str) -> list[WriteKind]:
        """Enrich the thread with everything noted for the chat, in order."""
        noted = self._noted.pop((owner, chat), [])
        return [await self.enrich(owner, chat, written) for written in noted]

    async def enrich(self, owner: str, chat: str, written: Written) -> WriteKind:
        """Search again for what the thread holds, if the text lies on it, and hold the text's episode as well.

        Other writers may change the thread meanwhile; the refresh is applied to what they left. It is `FILING` too
        when the chat went on to another topic or the working store is away.
        """
        thread = (await self._memory.thread(owner, chat)).value
        vector = (await self._memory.embed(written.text)).value
        if cosine(self._bands.place(vector), thread.centroid) < self._bands.enriching_sim:
            return WriteKind.FILING
        asked = thread.held_query or thread.recent_queries[-1]
        held = await self._search(owner, chat, asked, thread, written)
        now = self._clock.now()
        reach("enriching_found")
        saved = await self._memory.change_thread(
            owner, chat, lambda newest: refreshed(newest, thread.topic_id, asked, held, written.episode_id, now)
        )
        return WriteKind.ENRICHING if saved.value else WriteKind.FILING

    async def _search(self, owner: str, chat: str, asked: str, thread: Activation, written: Written) -> Sequence[Held]:
        """What is relevant to the thread's query now; the written episode first where nothing ranks it."""
        vector, entities = await asyncio.gather(self._memory.embed(asked), self._memory.entities(asked))
        query = self._memory.query(owner, asked, self._clock.now(), vector.value, entities.value)
        held_now = tuple(one.episode_id for one in thread.held)
        query = replace(query, chat=chat, topic_id=thread.topic_id, held=held_now)
        found = await self._memory.recall(query, self._recipe)
        held = [
            Held(result.episode.id, result.relevance, result.ord)
            for result in found.results
            if result.relevance >= self._least_relevance or result.episode.id == written.episode_id
        ]
        if all(one.episode_id != written.episode_id for one in held):
            held.insert(0, Held(written.episode_id, self._least_relevance))
        return held
