"""What is good enough to be returned. "Nothing relevant" is an outcome."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goat.records.search import Floats, Neighbourhood, Ords
from goat.retrieval.fuse import Scores


def best_passages(near: Neighbourhood, total: Floats) -> Ords:
    """Rows of the best passage of each episode, best first; of equal scores the newer passage comes first."""
    order = np.lexsort((-near.ords, -total))
    _, first = np.unique(near.episode_ids[order], return_index=True)
    return order[np.sort(first)]


def cut(near: Neighbourhood, scores: Scores, distance: NDArray[np.float64], least_relevance: float, limit: int) -> Ords:
    """Rows of the best episodes, best first, at most `limit`: those at or above `least_relevance`, and the spared.

    Half of the places belong to the spared, the nearest to an asked moment first (`distance` in seconds, one per
    candidate): better matches from other times cannot drive out what was said then.
    """
    best = best_passages(near, scores.total)
    kept = best[(scores.relevance[best] >= least_relevance) | scores.spared[best]]
    spared = kept[scores.spared[kept]]
    reserved = spared[np.argsort(distance[spared], kind="stable")][: (limit + 1) // 2]
    others = kept[~np.isin(kept, reserved)][: limit - len(reserved)]
    return kept[np.isin(kept, reserved) | np.isin(kept, others)]
