"""Whom a question names of those who speak in the archive."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from goat.retrieval.fold import fold
from goat.retrieval.languages import likely_languages, stop_words
from goat.retrieval.words import UNSPACED

SHORTEST_PART = 2
"""Letters of a part of a name; a single one is an initial."""

_WORD = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def named_speaker(query: str, speakers: Iterable[str]) -> str:
    """The one of the speakers whom the query names, by the first name or another part of it; empty for nobody or
    several. Accents do not matter. A word that any sentence of the language may have ("will", "may") is no name, and
    neither is one in small letters, unless all of the query is."""
    words = frozenset(_names(query))
    folded = fold(query)
    named = {name for name in set(speakers) if name and any(_is_named(part, words, folded) for part in _parts(name))}
    return named.pop() if len(named) == 1 else ""


def _names(query: str) -> Iterator[str]:
    """The folded words of the query that may be names."""
    words = _WORD.findall(query)
    small = query == query.lower()
    common = stop_words(likely_languages([fold(word) for word in words]))
    for word in words:
        folded = fold(word)
        if (small or word != word.lower() or word.upper() == word) and folded not in common:
            yield folded


def _parts(name: str) -> Iterator[str]:
    """The parts of a name, folded; one in a script without spaces comes whole."""
    for part in _WORD.findall(fold(name)):
        if len(part) >= SHORTEST_PART:
            yield part


def _is_named(part: str, words: frozenset[str], folded: str) -> bool:
    return part in folded if _UNSPACED.search(part) else part in words
