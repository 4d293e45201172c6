"""The search after a reply: without time pressure, for the next turn of the thread."""

from __future__ import annotations

from dataclasses import dataclass, replace

from goat.background import Background
from goat.failpoints import reach
from goat.memory.facade import MemoryLayers
from goat.memory.l2_thread import hold
from goat.ports.run import Clock, Observer
from goat.records.memory import Activation, Held, ThreadState
from goat.records.turns import PrefetchRecord
from goat.retrieval.pipeline import COLD, DRIFT, Recipe
from goat.retrieval.query import Query
from goat.settings.sections import PrefetchSettings

TOPIC_RETURN = Recipe("topic return", tuple(dict.fromkeys((*COLD.groups, *DRIFT.groups))))
"""A topic that returns is searched with every mechanism, its own earlier words included."""


@dataclass(frozen=True, slots=True)
class Prefetched:
    """For which message a search runs: its query, its episode id, the state of its turn and whether a topic returned
    with it."""

    query: Query
    episode_id: int
    state: ThreadState
    topic_returned: bool = False

    @property
    def recipe(self) -> Recipe:
        """The mechanisms that look: all of them for a new topic, the topic's own and everywhere along a thread."""
        if self.topic_returned:
            return TOPIC_RETURN
        return COLD if self.state is ThreadState.COLD else DRIFT


class Prefetch:
    """Starts the searches, keeps them until they end, and lets the newest message's results win."""

    def __init__(
        self,
        memory: MemoryLayers,
        background: Background,
        observer: Observer,
        clock: Clock,
        least_relevance: float,
        shape: PrefetchSettings,
    ) -> None:
        self._memory = memory
        self._background = background
        self._observer = observer
        self._clock = clock
        self._least_relevance = least_relevance
        self._shape = shape

    def start(self, wanted: Prefetched) -> None:
        """Search in the background. No time limit: it ends by itself or at shutdown."""
        self._background.start(f"prefetch {wanted.episode_id}", self._run(wanted))

    async def _run(self, wanted: Prefetched) -> None:
        # the message itself counts for the turns that come
        query = replace(wanted.query, where=replace(wanted.query.where, up_to=wanted.episode_id + 1))
        began = self._clock.monotonic()
        published = self._shape.merge == "published"
        recipe = replace(wanted.recipe, limit=self._shape.max_results, merge=self._shape.merge)
        recipe = replace(recipe, rerank=False) if published else recipe  # the published formula has the last word
        found = await self._memory.recall(query, recipe, self._least_relevance)
        held = [Held(result.episode.id, result.relevance, result.ord) for result in found.results]
        now = self._clock.now()
        reach("prefetch_found")

        def keep(thread: Activation) -> Activation | None:
            if not held and found.lost:
                return None  # nothing is known of this message: what is held is better than nothing
            return hold(thread, held, query.text, wanted.episode_id, now)

        saved = await self._memory.change_thread(query.owner, query.chat, keep)
        reach("prefetch_saved")
        lost = tuple(one.what for one in (*found.lost, saved.lost) if one)
        took = (self._clock.monotonic() - began) * 1000
        self._observer.prefetch(
            PrefetchRecord(now, query.owner, query.chat, recipe.name, len(held), saved.value, took, lost)
        )
