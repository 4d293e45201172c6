"""Echoes: the same question, asked before. They hold every word of it and answer nothing.

Lexical features are relative to the best of their kind. Where a question was asked before, the best is that question,
and what answers it would count for nothing beside it. So the others are measured by the best that is no echo.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from goat.records.search import Floats, LexicalFeatures, Neighbourhood

HELD_BY_AN_ECHO = 0.8
"""The share of the query's words, by idf, from which a short question is the same question in other words."""


def echoes(near: Neighbourhood, held: Floats, same_text: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which candidates are the query itself, said before, or a short question that holds nearly all its words."""
    return same_text | (near.question & (held >= HELD_BY_AN_ECHO))


def beside(echo: NDArray[np.bool_], near: Neighbourhood) -> NDArray[np.bool_]:
    """Which candidates stand so near to an echo that they borrow its words."""
    return np.asarray(np.isin(near.around, near.ords[echo]).any(axis=1) & ~echo, dtype=np.bool_)


def measured_without(
    echo: NDArray[np.bool_], beside_echo: NDArray[np.bool_], lexical: LexicalFeatures
) -> LexicalFeatures:
    """The features in 0..1, relative to the best passage and session that owe nothing to an echo.

    A session with an echo is known by its score. Unchanged where there is no echo, or nothing else.
    """
    if not echo.any():
        return lexical
    heard = np.isin(lexical.session, lexical.session[echo])
    return replace(
        lexical,
        passage=_relative(lexical.passage, ~(echo | beside_echo)),
        session=_relative(lexical.session, ~heard),
    )


def _relative(scores: Floats, among: NDArray[np.bool_]) -> Floats:
    best = float(scores[among].max(initial=0.0))
    return scores if best == 0 else np.minimum(scores / np.float32(best), np.float32(1.0))
