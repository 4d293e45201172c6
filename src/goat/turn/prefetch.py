"""The search after a reply: without time pressure, for the next turn of the thread."""

from __future__ import annotations

from dataclasses import dataclass

from goat.background import Background
from goat.failpoints import reach
from goat.memory.facade import MemoryLayers
from goat.memory.l2_thread import hold
from goat.ports.run import Clock, Observer
from goat.records.memory import Activation, Held, ThreadState
from goat.records.turns import PrefetchRecord
from goat.retrieval.pipeline import COLD, DRIFT
from goat.retrieval.query import Query


@dataclass(frozen=True, slots=True)
class Prefetched:
    """For which message a search runs: its query, its episode id and the state of its turn."""

    query: Query
    episode_id: int
    state: ThreadState


class Prefetch:
    """Starts the searches, keeps them until they end, and lets the newest message's results win."""

    def __init__(
        self,
        memory: MemoryLayers,
        background: Background,
        observer: Observer,
        clock: Clock,
        least_relevance: float,
    ) -> None:
        self._memory = memory
        self._background = background
        self._observer = observer
        self._clock = clock
        self._least_relevance = least_relevance

    def start(self, wanted: Prefetched) -> None:
        """Search in the background. No time limit: it ends by itself or at shutdown."""
        self._background.start(f"prefetch {wanted.episode_id}", self._run(wanted))

    async def _run(self, wanted: Prefetched) -> None:
        query = wanted.query
        began = self._clock.monotonic()
        recipe = COLD if wanted.state is ThreadState.COLD else DRIFT
        found = await self._memory.recall(query, recipe, self._least_relevance)
        held = [Held(result.episode.id, result.relevance) for result in found.results]
        now = self._clock.now()
        reach("prefetch_found")

        def keep(thread: Activation) -> Activation | None:
            return hold(thread, held, query.text, wanted.episode_id, now)

        saved = await self._memory.change_thread(query.owner, query.chat, keep)
        lost = tuple(one.what for one in (*found.lost, saved.lost) if one)
        took = (self._clock.monotonic() - began) * 1000
        self._observer.prefetch(
            PrefetchRecord(now, query.owner, query.chat, recipe.name, len(held), saved.value, took, lost)
        )
