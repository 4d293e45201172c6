"""What is good enough to be returned. "Nothing relevant" is an outcome."""

from __future__ import annotations

import numpy as np

from goat.records.search import Floats, Neighbourhood, Ords
from goat.retrieval.fuse import Scores


def best_passages(near: Neighbourhood, total: Floats) -> Ords:
    """Rows of the best passage of each episode, best first; of equal scores the newer passage comes first."""
    order = np.lexsort((-near.ords, -total))
    _, first = np.unique(near.episode_ids[order], return_index=True)
    return order[np.sort(first)]


def cut(near: Neighbourhood, scores: Scores, least_relevance: float, limit: int) -> Ords:
    """Rows of the best episodes, best first, at most `limit`: those at or above `least_relevance`, and the spared."""
    best = best_passages(near, scores.total)
    return best[(scores.relevance[best] >= least_relevance) | scores.spared[best]][:limit]
