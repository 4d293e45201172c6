"""Query -> episodes: the stages in their order, and a Recipe for each use.

gather      the candidate groups of the recipe, at once
surround    grow the candidates by their neighbours
score       lexical features, cosines, one fused score and relevance
cut         what is not relevant enough, and what is beyond the limit
fetch       the best episodes from the journal, each text once
rerank      their order by a model that reads query and result together, where the recipe has time for it
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from time import perf_counter
from typing import Literal, TypeVar

import numpy as np

from goat.errors import BackendUnavailable
from goat.ports.models import Reranker
from goat.ports.stores import Journal, LexicalIndex, Uses, VectorIndex
from goat.records.episodes import Episode
from goat.records.search import NEIGHBOUR_REACH, Floats, Lost, Neighbourhood, Ords, Recall, Recalled
from goat.retrieval import context
from goat.retrieval.blend import published
from goat.retrieval.copies import copies
from goat.retrieval.cutoff import best_passages, cut
from goat.retrieval.echo import beside, echoes, own_questions
from goat.retrieval.fuse import Evidence, Scores, fuse
from goat.retrieval.gather import Candidates, candidate_groups, gather
from goat.retrieval.query import Query
from goat.retrieval.rerank import reordered
from goat.retrieval.times import TELLING, TELLS, distances, nearness
from goat.retrieval.weights import Weights
from goat.settings.sections import PrefetchSettings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Recipe:
    """Which groups look, how many results are wanted, by which formula, and whether there is time for the reranker."""

    name: str
    groups: tuple[str, ...]
    limit: int = 20
    merge: Literal["fused", "published"] = "fused"
    rerank: bool = False


TIME_GROUPS = ("words_in_window", "meaning_in_window", "said_in_window", TELLING)
EVERYWHERE_GROUPS = ("verbatim", "keys", "words", "meaning", *TIME_GROUPS)

REFLEX = Recipe("reflex", (*EVERYWHERE_GROUPS, "prediction"))
COLD = Recipe("cold", (*EVERYWHERE_GROUPS, "prediction", "words_in_chat", "meaning_in_chat"), rerank=True)
DRIFT = Recipe("drift", (*EVERYWHERE_GROUPS, "prediction", "words_in_topic", "meaning_in_topic"), rerank=True)
SEARCH = Recipe("search", EVERYWHERE_GROUPS, rerank=True)


@dataclass(frozen=True, slots=True)
class Weighed:
    """The candidates with their surroundings, and what speaks for each."""

    near: Neighbourhood
    evidence: Evidence


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

    def __init__(
        self,
        journal: Journal,
        lexical: LexicalIndex,
        vectors: VectorIndex,
        reranker: Reranker,
        uses: Uses,
        weights: Weights,
        gap_significance: float,
        shares: PrefetchSettings,
    ) -> None:
        self._journal = journal
        self._lexical = lexical
        self._vectors = vectors
        self._reranker = reranker
        self._uses = uses
        self._weights = weights
        self._gap_significance = gap_significance
        self._shares = shares
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
            scores = await progress.stage("score", self._score(query, recipe, near, candidates, progress))
            choose = partial(cut, near, scores, distance, least_relevance, recipe.limit, self._gap_significance)
            results = await progress.stage("fetch", self._fetch(query, near, scores, choose, candidates, progress))
            if recipe.rerank:
                results = await progress.stage("rerank", self._rerank(query, results, progress))
        return Recall(query.text, results, tuple(progress.lost), progress.stage_ms)

    async def _surround(self, query: Query, ords: Ords, progress: _Progress) -> Neighbourhood:
        work = self._lexical.neighbourhood(query.owner, ords, context.EXPAND_BY, query.where)
        near = await progress.spare("surroundings", work, None)
        if near is not None:
            return near
        located = await progress.spare("episodes", self._journal.locate(query.owner, ords.tolist()), {})
        return context.alone(ords, located)

    async def weigh(self, query: Query, recipe: Recipe) -> Weighed:
        """What speaks for every candidate, for whoever wants to weigh it otherwise. Raises `BackendUnavailable` where
        a backend is away."""
        progress = _Progress()
        groups = {name: self._groups[name] for name in recipe.groups}
        candidates = await gather(query, groups, None)
        near = await self._surround(query, candidates.ords, progress)
        evidence = await self._evidence(query, recipe, near, candidates, progress)
        for lost in (*candidates.lost, *progress.lost):
            raise BackendUnavailable("Retriever", lost.what, lost.reason)
        return Weighed(near, evidence)

    async def _score(
        self, query: Query, recipe: Recipe, near: Neighbourhood, candidates: Candidates, progress: _Progress
    ) -> Scores:
        evidence = await self._evidence(query, recipe, near, candidates, progress)
        if recipe.merge == "fused":
            return fuse(query.text, near, evidence, self._weights)
        exact = np.array(["keys" in candidates.mechanisms.get(n, ()) for n in near.ords.tolist()], dtype=np.bool_)
        uses = await self._uses_of(query.owner, near, progress)
        return published(near, evidence, exact, uses, query.at, self._shares)

    async def _evidence(
        self, query: Query, recipe: Recipe, near: Neighbourhood, candidates: Candidates, progress: _Progress
    ) -> Evidence:
        lexical = await progress.spare(
            "lexical features",
            self._lexical.features(query.owner, query.terms, near, query.where, query.guesses),
            context.no_lexical_features(near),
        )
        unknown = np.full(near.around.shape, np.nan, dtype=np.float32), self._weights.unrelated(query.vector)
        around, unrelated = await progress.spare("cosines", self._compared(query, recipe, near.around), unknown)
        cosines = context.fill_unknown(around[:, NEIGHBOUR_REACH], lexical.held, unrelated)
        mechanisms = [candidates.mechanisms.get(number, ()) for number in near.ords.tolist()]
        telling = np.array([TELLING in found for found in mechanisms], dtype=np.bool_)
        same_text = np.array(["verbatim" in found for found in mechanisms], dtype=np.bool_)
        asks = own_questions(near)
        echo = echoes(asks, lexical.held, same_text)
        beside_echo = beside(echo, near)
        return Evidence(
            lexical=lexical,
            cosines=cosines,
            around=around,
            unrelated=unrelated,
            same_text=same_text,
            in_window=np.isfinite(distances(query.windows, near.at)) | telling,
            nearness=nearness(query.windows, near.at) + TELLS * telling.astype(np.float32),
            named=await self._named(query, near, progress),
            key_held=any("keys" in found for found in mechanisms),
            echo=echo,
            beside_echo=beside_echo,
            asks=asks,
        )

    async def _named(self, query: Query, near: Neighbourhood, progress: _Progress) -> Floats:
        """How much of the query's entities each candidate names itself, the rare ones counting most."""
        none = context.no_lexical_features(near)
        if not query.names:
            return none.rare
        work = self._lexical.features(query.owner, query.names, near, query.where)
        return (await progress.spare("names", work, none)).rare

    async def _uses_of(self, owner: str, near: Neighbourhood, progress: _Progress) -> Floats:
        """How often each candidate's episode was recalled."""
        ids, places = np.unique(near.episode_ids, return_inverse=True)
        uses = await progress.spare("uses", self._uses.of(owner, ids.tolist()), {})
        counts = [uses[number].count if number in uses else 0 for number in ids.tolist()]
        return np.array(counts, dtype=np.float32)[places]

    async def _compared(self, query: Query, recipe: Recipe, around: Ords) -> tuple[Floats, float]:
        """How near each passage of `around` is in meaning, in its shape, and how near what is unrelated would be.

        NaN where there is no passage or no vector. The published formula wants the cosine itself, every other one that
        of the query less what all passages have in common.
        """
        unknown = np.full(around.shape, np.nan, dtype=np.float32)
        direction = query.vector
        if direction is None:
            return unknown, self._weights.unrelated(None)
        centre = await self._vectors.centre(query.owner) if recipe.merge == "fused" else None
        direction = self._weights.direction(direction, centre)
        distinct, places = np.unique(around, return_inverse=True)
        scored = await self._vectors.score(query.owner, direction, distinct)
        products = scored * np.float32(np.linalg.norm(direction))
        return products[places].reshape(around.shape), self._weights.unrelated(direction, centre)

    async def _fetch(
        self,
        query: Query,
        near: Neighbourhood,
        scores: Scores,
        choose: Callable[[Collection[int]], Ords],
        candidates: Candidates,
        progress: _Progress,
    ) -> tuple[Recalled, ...]:
        """The episodes of the rows that `choose` gives when it is told which episodes are copies of better ones.

        Only texts tell a copy, so the rows are read first; where there are copies, more of the candidates are read,
        four times as many each time, until no copy is left among the rows.
        """
        ranked = near.episode_ids[best_passages(near, scores.total)].tolist()
        read: dict[int, Episode] = {}
        copied: dict[int, int] = {}
        looked_at = 0
        while True:
            rows = choose(copied)
            wanted = dict.fromkeys([*near.episode_ids[rows].tolist(), *ranked[:looked_at]])
            new = [number for number in wanted if number not in read]
            episodes = await progress.spare("episodes", self._journal.episodes(query.owner, new), [])
            read.update((episode.id, episode) for episode in episodes)
            before, copied = copied, copies(ranked, read)
            if copied.keys() == before.keys():
                break
            looked_at = 4 * max(looked_at, len(rows))
        others: dict[int, list[datetime]] = {}
        for number, better in copied.items():
            others.setdefault(better, []).append(read[number].at)
        return tuple(
            Recalled(
                episode=read[number],
                relevance=float(scores.relevance[row]),
                score=float(scores.total[row]),
                parts={name: float(values[row]) for name, values in scores.parts.items()},
                mechanisms=candidates.mechanisms.get(int(near.ords[row]), ("neighbour",)),
                ord=int(near.ords[row]),
                copies=tuple(sorted(others.get(number, ()))),
            )
            for row, number in zip(rows.tolist(), near.episode_ids[rows].tolist(), strict=True)
            if number in read
        )

    async def _rerank(self, query: Query, results: tuple[Recalled, ...], progress: _Progress) -> tuple[Recalled, ...]:
        work = self._reranker.opinions(query.text, [result.episode.text for result in results])
        opinions = await progress.spare("reranker", work, None)
        return results if opinions is None else reordered(results, opinions)
