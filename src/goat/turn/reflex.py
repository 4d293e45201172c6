"""The reflex: a bounded search inside a turn, for when the held memory cannot serve the message."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from goat.memory.facade import MemoryLayers
from goat.records.search import Lost, Recall
from goat.retrieval.pipeline import REFLEX
from goat.retrieval.query import Query

GROUPS_SHARE = 0.8
"""The part of the deadline that the candidate groups may use; the rest is for scoring what they found."""


class Reflex:
    """Searches by words and meaning, without a cross-encoder, until a deadline."""

    def __init__(self, memory: MemoryLayers, deadline_seconds: float, least_relevance: float, max_results: int) -> None:
        self._memory = memory
        self._deadline = deadline_seconds
        self._least_relevance = least_relevance
        self._recipe = replace(REFLEX, limit=max_results)

    async def search(self, query: Query) -> Recall:
        """What could be found in time; a group that was late stands in `lost`."""
        within = self._deadline * GROUPS_SHARE
        try:
            async with asyncio.timeout(self._deadline):
                return await self._memory.recall(query, self._recipe, self._least_relevance, within)
        except TimeoutError:
            return Recall(query.text, lost=(Lost("reflex", "not done before the deadline"),))
