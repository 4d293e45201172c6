"""What is good enough to be returned. "Nothing relevant" is an outcome."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from goat.records.search import Floats, Neighbourhood, Ords
from goat.retrieval.fuse import Scores

LEAST_GAP = 0.3
"""A narrower gap between two results is none, however close the others stand: one answer is often worth less than
another that completes it."""

DOUBTFUL = 0.4
"""What is worth less than this is in doubt: only such results a gap cuts off."""


def best_passages(near: Neighbourhood, total: Floats) -> Ords:
    """Rows of the best passage of each episode, best first; of equal scores the newer passage comes first."""
    order = np.lexsort((-near.ords, -total))
    _, first = np.unique(near.episode_ids[order], return_index=True)
    return order[np.sort(first)]


def cut(
    near: Neighbourhood,
    scores: Scores,
    distance: NDArray[np.float64],
    least_relevance: float,
    limit: int,
    significance: float,
    without: Collection[int] = (),
) -> Ords:
    """Rows of the best episodes, best first, at most `limit`: those at or above `least_relevance`, and the spared.
    The episodes in `without` are passed over.

    Half of the places belong to the spared, the nearest to an asked moment first (`distance` in seconds, one per
    candidate): better matches from other times cannot drive out what was said then. Where there is a least relevance,
    what lies behind a significant gap goes too; that the query was asked before makes no gap, and once is enough.
    """
    best = best_passages(near, scores.total)
    best = best[~np.isin(near.episode_ids[best], list(without))]
    kept = best[(scores.worth[best] >= least_relevance) | scores.spared[best]]
    if least_relevance and scores.echo is not None:
        asked_before = kept[scores.echo[kept]]
        kept = kept[~np.isin(kept, asked_before[1:])]
    spared = kept[scores.spared[kept]]
    reserved = spared[np.argsort(distance[spared], kind="stable")][: (limit + 1) // 2]
    others = kept[~np.isin(kept, reserved)][: limit - len(reserved)]
    kept = kept[np.isin(kept, reserved) | np.isin(kept, others)]
    if not least_relevance:
        return kept
    worth = scores.worth[kept]
    if scores.echo is not None and not (asked := scores.echo[kept]).all():
        worth = np.where(asked, worth[~asked].max(), worth)
    return kept[before_the_gap(worth, significance) | scores.spared[kept]]


def before_the_gap(worth: Floats, significance: float) -> NDArray[np.bool_]:
    """Which results stand before the widest gap between neighbours in the order of their worth; all where it is none.

    A gap is one when it lies above something `DOUBTFUL`, is no narrower than `LEAST_GAP`, and `significance` times as
    wide as the others on the mean. With the others as the measure the rule holds for any number of results: against the
    mean of all gaps, three results could never show one. The best result stays, and so does all that stands close to
    it.
    """
    falling = -np.sort(-worth)
    gaps = np.where(falling[1:] < DOUBTFUL, falling[:-1] - falling[1:], 0.0)
    everything = np.ones(len(worth), dtype=np.bool_)
    if not gaps.any():
        return everything
    widest = int(np.argmax(gaps))
    others = (falling[0] - falling[-1] - gaps[widest]) / max(len(gaps) - 1, 1)
    if gaps[widest] < max(significance * others, LEAST_GAP):
        return everything
    return np.asarray(worth >= falling[widest], dtype=np.bool_)
