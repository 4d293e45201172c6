"""A long message in searchable parts.

A vector or a BM25 score of a whole essay says little about any sentence of it, so messages are indexed in passages
of at most 60 words, cut at the ends of sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from goat.records.episodes import Span
from goat.retrieval.words import UNSPACED

MOST_WORDS = 60

_LONGEST_WORD = 20
"""A longer stretch without white space counts as several words."""

_WORD = re.compile(f"[{UNSPACED}]{{1,2}}[^\\w\\s]{{0,4}}|[^\\s{UNSPACED}]{{1,{_LONGEST_WORD}}}")
"""A word as it is counted: up to 20 letters, or two letters of a script without spaces with the signs after them."""

_CLOSING = "\"'”’»›)]}」』）】》*_~"
_SENTENCE_END = ".!?…‥\u061f\u06d4\u037e।॥"
_CLAUSE_END = ",;:،؛–—"
_UNSPACED_SENTENCE_END = "。！？｡．"
_UNSPACED_CLAUSE_END = "、，；："


class _Break(IntEnum):
    """How good it is to end a passage after a word; the greatest is the best."""

    INSIDE = 0
    WORD = 1
    CLAUSE = 2
    SENTENCE = 3


class _Word(NamedTuple):
    start: int
    end: int
    after: _Break


def split_passages(text: str, most_words: int = MOST_WORDS) -> tuple[Span, ...]:
    """The passages of a text, in order; () for a blank text.

    Every character that is not white space lies in exactly one passage, and no passage begins or ends with white
    space. A passage has at most `most_words` words as white space separates them, two letters of a script without
    spaces counting as one word, and 20 letters of a longer word as one. It ends with a sentence where that is
    possible, else with a clause, else with a word. Time is linear in the length of the text.
    """
    if most_words < 1:
        raise ValueError(f"A passage holds at least one word, not {most_words}.")
    words = [
        _Word(match.start(), match.end(), _break_after(text, match.group(), match.end()))
        for match in _WORD.finditer(text)
    ]
    spans = []
    first = 0
    while first < len(words):
        last = _last_word(words, first, most_words)
        spans.append(Span(words[first].start, words[last].end))
        first = last + 1
    return tuple(spans)


def _break_after(text: str, word: str, end: int) -> _Break:
    mark = word.rstrip(_CLOSING)[-1:] or " "
    following = text[end : end + 1]
    if mark in _UNSPACED_SENTENCE_END or following == "\n":
        return _Break.SENTENCE
    if mark in _UNSPACED_CLAUSE_END:
        return _Break.CLAUSE
    if following and not following.isspace():
        return _Break.INSIDE
    if mark in _SENTENCE_END:
        return _Break.SENTENCE
    return _Break.CLAUSE if mark in _CLAUSE_END else _Break.WORD


def _last_word(words: Sequence[_Word], first: int, most_words: int) -> int:
    """The index of the word that the passage from `first` on ends with."""
    end = first + most_words
    if end >= len(words):
        return len(words) - 1
    best = max(words[at].after for at in range(first, end))
    if best is _Break.CLAUSE:
        # A clause that ends early would leave a scrap behind.
        first += most_words // 2
        best = max(words[at].after for at in range(first, end))
    return max(at for at in range(first, end) if words[at].after is best)
