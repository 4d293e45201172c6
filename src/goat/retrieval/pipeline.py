"""Query -> episodes: the stages in their order, and a Recipe for each use.

gather      the candidate groups of the recipe, at once
surround    grow the candidates by their neighbours
score       lexical features, cosines, one fused score and relevance
fetch       the best episodes from the journal
cut         what is not relevant enough, and what is beyond the limit
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from goat.errors import BackendUnavailable
from goat.ports.stores import Journal, LexicalIndex, VectorIndex
from goat.records.search import NEIGHBOUR_REACH, Floats, Lost, Neighbourhood, Ords, Recall, Recalled
from goat.retrieval import context
from goat.retrieval.cutoff import cut
from goat.retrieval.fuse import Evidence, Scores, fuse
from goat.retrieval.gather import Candidates, candidate_groups, gather
from goat.retrieval.query import Query
from goat.retrieval.times import TELLING, TELLS, distances, nearness
from goat.retrieval.weights import Weights

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Recipe:
    """Which groups look, and how many results are wanted."""

    name: str
    groups: tuple[str, ...]
    limit: int = 20


TIME_GROUPS = ("words_in_window", "meaning_in_window", "said_in_window", TELLING)
EVERYWHERE_GROUPS = ("verbatim", "keys", "words", "meaning", *TIME_GROUPS)

REFLEX = Recipe("reflex", EVERYWHERE_GROUPS)
COLD = Recipe("cold", (*EVERYWHERE_GROUPS, "words_in_chat", "meaning_in_chat"))
DRIFT = Recipe("drift", (*EVERYWHERE_GROUPS, "words_in_topic", "meaning_in_topic"))
SEARCH = Recipe("search", EVERYWHERE_GROUPS)


@dataclass(slots=True)
class _Progress:
    """What a run has lost and how long its stages took."""

    lost: list[Lost] = field(default_factory=list)
    stage_ms: dict[str, float] = field(default_factory=dict)

    async def stage(self, name: str, work: Awaitable[T]) -> T:
        began = perf_counter()
        try:
            return await work
        finally:
            self.stage_ms[name] = (perf_counter() - began) * 1000

    async def spare(self, what: str, work: Awaitable[T], otherwise: T) -> T:
        """The result of `work`, or `otherwise` with the loss written down when its backend is away."""
        try:
            return await work
        except BackendUnavailable as failure:
            self.lost.append(Lost(what, str(failure)))
            return otherwise


class Retriever:
    """Runs recipes over the archive's indexes.

    A backend that is away costs its own part (a group, the surroundings, a kind of feature) and is named in
    `Recall.lost`; only a fault of the program is raised.
    """

    def __init__(self, journal: Journal, lexical: LexicalIndex, vectors: VectorIndex, weights: Weights) -> None:
        self._journal = journal
        self._lexical = lexical
        self._vectors = vectors
        self._weights = weights
        self._groups = candidate_groups(lexical, vectors)

    async def run(
        self, query: Query, recipe: Recipe, least_relevance: float = 0.0, within: float | None = None
    ) -> Recall:
        """The best episodes for a query, best first.

        `within` bounds the candidate groups in seconds; a group that is late is lost, the others count.
        """
        progress = _Progress()
        groups = {name: self._groups[name] for name in recipe.groups}
        candidates = await progress.stage("gather", gather(query, groups, within))
        progress.lost.extend(candidates.lost)
        results: tuple[Recalled, ...] = ()
        if len(candidates.ords):
            near = await progress.stage("surround", self._surround(query, candidates.ords, progress))
            distance = distances(query.windows, near.at)
            scores = await progress.stage("score", self._score(query, near, candidates, distance, progress))
            rows = cut(near, scores, distance, least_relevance, recipe.limit)
            results = await progress.stage("fetch", self._fetch(query, near, scores, rows, candidates, progress))
        return Recall(query.text, results, tuple(progress.lost), progress.stage_ms)

    async def _surround(self, query: Query, ords: Ords, progress: _Progress) -> Neighbourhood:
        work = self._lexical.neighbourhood(query.owner, ords, context.EXPAND_BY, query.where)
        near = await progress.spare("surroundings", work, None)
        if near is not None:
            return near
        located = await progress.spare("episodes", self._journal.locate(query.owner, ords.tolist()), {})
        return context.alone(ords, located)

    async def _score(
        self,
        query: Query,
        near: Neighbourhood,
        candidates: Candidates,
        distance: NDArray[np.float64],
        progress: _Progress,
    ) -> Scores:
        lexical = await progress.spare(
            "lexical features",
            self._lexical.features(query.owner, query.terms, near),
            context.no_lexical_features(near),
        )
        around = await self._cosines(query, near, progress)
        unrelated = self._weights.unrelated(query.vector)
        cosines = context.fill_unknown(around[:, NEIGHBOUR_REACH], unrelated)
        mechanisms = [candidates.mechanisms.get(number, ()) for number in near.ords.tolist()]
        telling = np.array([TELLING in found for found in mechanisms], dtype=np.bool_)
        evidence = Evidence(
            lexical=lexical,
            cosines=cosines,
            around=around,
            unrelated=unrelated,
            same_text=np.array(["verbatim" in found for found in mechanisms], dtype=np.bool_),
            in_window=np.isfinite(distance) | telling,
            nearness=nearness(query.windows, near.at) + TELLS * telling.astype(np.float32),
            key_held=any("keys" in found for found in mechanisms),
        )
        return fuse(query.text, near, evidence, self._weights)

    async def _cosines(self, query: Query, near: Neighbourhood, progress: _Progress) -> Floats:
        """Cosines in the shape of `near.around`, NaN where there is no passage or no vector."""
        unknown = np.full(near.around.shape, np.nan, dtype=np.float32)
        if query.vector is None:
            return unknown
        distinct, places = np.unique(near.around, return_inverse=True)
        work = self._vectors.score(query.owner, query.vector, distinct)
        scored = await progress.spare("cosines", work, None)
        return unknown if scored is None else scored[places].reshape(near.around.shape)

    async def _fetch(
        self,
        query: Query,
        near: Neighbourhood,
        scores: Scores,
        rows: Ords,
        candidates: Candidates,
        progress: _Progress,
    ) -> tuple[Recalled, ...]:
        ids = near.episode_ids[rows].tolist()
        episodes = await progress.spare("episodes", self._journal.episodes(query.owner, ids), [])
        by_id = {episode.id: episode for episode in episodes}
        return tuple(
            Recalled(
                episode=by_id[episode_id],
                relevance=float(scores.relevance[row]),
                score=float(scores.total[row]),
                parts={name: float(values[row]) for name, values in scores.parts.items()},
                mechanisms=candidates.mechanisms.get(int(near.ords[row]), ("neighbour",)),
            )
            for row, episode_id in zip(rows.tolist(), ids, strict=True)
            if episode_id in by_id
        )
