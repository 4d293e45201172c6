"""Echoes: the same question, asked before. They hold every word of it and answer nothing.

So the best among them says nothing of whether the archive knows the answer, and once they stand in the way no more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goat.records.episodes import Episode, Role
from goat.records.search import Floats, Neighbourhood, Recalled
from goat.retrieval.fold import fold
from goat.retrieval.query import distinct_terms, sought
from goat.retrieval.terms import is_short_question

_WORD = re.compile(r"\w+")
_TELLS = re.compile(r"[.!]\s+\S|[。！\n]\s*\S|[?？؟]\s*\w|[,;،、，]\s*\w\S*(?:\s\w\S*)?\s*[?？؟]")
"""A question that tells something too: a sentence of its own, or a tag behind it ('It is in the drawer, is it?')."""

HELD_BY_AN_ECHO = 0.8
"""The share of the query's words, by idf, from which a short question is the same question in other words."""


def echoes(asks: NDArray[np.bool_], held: Floats, same_text: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which candidates are the query itself, said before, or a short question of its person (`asks`) that holds nearly
    all of its words. What others asked is none: in their talk the answer stands behind the question."""
    return np.asarray(same_text | (asks & (held >= HELD_BY_AN_ECHO)), dtype=np.bool_)


def own_questions(near: Neighbourhood) -> NDArray[np.bool_]:
    """Which candidates are short questions of the person who asks."""
    own = np.array([not speaker for speaker in near.speakers], dtype=np.bool_)
    return np.asarray(near.question & near.human & own, dtype=np.bool_)


def beside(echo: NDArray[np.bool_], near: Neighbourhood) -> NDArray[np.bool_]:
    """Which candidates stand so near to an echo that they borrow its words."""
    return np.asarray(np.isin(near.around, near.ords[echo]).any(axis=1) & ~echo, dtype=np.bool_)


def beyond(question: str, results: Sequence[Recalled]) -> tuple[Recalled, ...]:
    """The results that say something beyond the question.

    The others are the same words, and short questions of the person, with nothing told beside them, of which nearly all
    words stand in the question, or in which nearly all words of the question stand.
    """
    whole = _spelled(question)
    others = [one for one in results if _spelled(one.episode.text) != whole]
    asks = {one.episode.id for one in others if _only_asks(one.episode)}
    words = set(distinct_terms(sought(question))) if asks else set()
    return tuple(one for one in others if one.episode.id not in asks or not _alike(words, one.episode.text))


def _spelled(text: str) -> list[str]:
    """The words of a text without case, accents and punctuation; a text without words as it is."""
    return _WORD.findall(fold(text)) or [text]


def _only_asks(said: Episode) -> bool:
    own = said.role is Role.USER and not said.speaker
    return own and is_short_question(said.text) and _TELLS.search(said.text) is None


def _alike(words: set[str], asked: str) -> bool:
    asked_words = set(distinct_terms(asked))
    shared = len(words & asked_words)
    return shared > 0 and shared >= HELD_BY_AN_ECHO * min(len(words), len(asked_words))
