"""The figures of the lexical scores, the same for every index.

Search is BM25 (Robertson and Zaragoza, 2009) with the never negative idf. A passage's own score takes the terms of its
neighbours in before it saturates, as BM25F does with fields: one turn of a talk seldom says what it is about.
"""

from __future__ import annotations

from math import log
from typing import Final

from goat.records.search import NEIGHBOUR_REACH

K1: Final = 1.2
B: Final = 0.3

MOST_TF: Final = 255
"""A term that occurs more often in a passage counts as if it occurred this often."""

KERNEL: Final = (0.25, 0.35, 0.5, 1.0, 0.3, 0.2, 0.15)
"""What a passage lends to its neighbour: weights of the columns of `Neighbourhood.around`."""
assert len(KERNEL) == 2 * NEIGHBOUR_REACH + 1

SOFT_K1: Final = 1.0
SOFT_B: Final = 0.4
SOFT_LENGTH: Final = 0.92 * sum(KERNEL)
"""The expected length of a neighbourhood, in mean passage lengths; some neighbours are missing."""


def idf(documents: int, df: int) -> float:
    """The weight of a term that `df` of `documents` hold: ln(1 + (N - df + 0.5) / (df + 0.5)), above 0."""
    return log(1 + (max(documents - df, 0) + 0.5) / (df + 0.5))


def rarity(documents: int, df: int) -> float:
    """The square of a term's idf over that of a term which none of `documents` holds: 1 for such a one, 0 for a term
    that nearly all hold."""
    return (idf(documents, df) / idf(documents, 0)) ** 2
