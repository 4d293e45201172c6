"""Choosing the best of many scores without sorting or partitioning them all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goat.records.search import Floats

SAMPLES = 2048
"""How many scores the first threshold is guessed from; smaller lists are taken whole."""


def top_ranked(scores: Floats, at: NDArray[np.int64], ords: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """The positions of the `limit` best scores, best first; of equal scores the one with the newer (time, ord).

    The three arrays are parallel; scores hold no NaN. A threshold taken from a regular sample lets through a little
    more than `limit` scores, and only those are ordered.
    """
    if limit <= 0 or not len(scores):
        return np.empty(0, np.int64)
    near = _above_threshold(scores, limit)
    if len(near) > limit:
        kept = scores[near]
        near = near[kept >= np.partition(kept, len(kept) - limit)[len(kept) - limit]]
    order = np.lexsort((-ords[near], -at[near], -scores[near]))
    return near[order[:limit]]


def _above_threshold(scores: Floats, limit: int) -> NDArray[np.int64]:
    """Positions that include the `limit` best and all that equal the last of them."""
    stride = len(scores) // SAMPLES
    if stride < 2 or limit * 2 >= len(scores):
        return np.arange(len(scores))
    sample = np.sort(scores[::stride])
    rank = 3 + 3 * limit // (2 * stride)
    if rank < len(sample):
        near = np.flatnonzero(scores >= sample[-rank])
        if len(near) >= limit:
            return near
    return np.flatnonzero(scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit])
