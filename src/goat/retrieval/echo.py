"""Echoes: the same question, asked before. They hold every word of it and answer nothing.

So the best among them says nothing of whether the archive knows the answer, and once they stand in the way no more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goat.records.search import Floats, Neighbourhood

HELD_BY_AN_ECHO = 0.8
"""The share of the query's words, by idf, from which a short question is the same question in other words."""


def echoes(near: Neighbourhood, held: Floats, same_text: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which candidates are the query itself, said before, or a short question of its person that holds nearly all of
    its words. What others asked is none: in their talk the answer stands behind the question."""
    own = np.array([not speaker for speaker in near.speakers], dtype=np.bool_)
    return np.asarray(same_text | (near.question & near.human & own & (held >= HELD_BY_AN_ECHO)), dtype=np.bool_)


def beside(echo: NDArray[np.bool_], near: Neighbourhood) -> NDArray[np.bool_]:
    """Which candidates stand so near to an echo that they borrow its words."""
    return np.asarray(np.isin(near.around, near.ords[echo]).any(axis=1) & ~echo, dtype=np.bool_)
