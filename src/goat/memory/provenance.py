"""Where a fact comes from: only what the person said becomes a fact about the person.

A model that has read a web page, or its own advice of the turn before, may ask to keep it. Whose words they are is not
taken from the model: they are looked for in what was said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from goat.records.episodes import Episode, Role
from goat.retrieval.fold import fold
from goat.retrieval.terms import analyse

OUTSIDE: Final = "outside"
"""The tag of what comes from a web page, a file, a tool, or somebody else's message."""

STORED: Final = "stored"
"""The tag of what the model chose to keep."""

LEAST_SHARE: Final = 0.5
"""The share of a value's words that one message of the person must hold."""

SHORT: Final = 2
"""Letters of a word that says nothing by itself."""

MANY_TERMS: Final = 6
"""More terms than a word of a script with spaces gives."""

_NUMBER = re.compile(r"\d+")


class Origin(StrEnum):
    """Whose words a text is made of."""

    PERSON = "person"
    ASSISTANT = "assistant"
    OUTSIDE = "outside"


@dataclass(frozen=True, slots=True)
class Grounds:
    """The message in which the person said it, or None and why it is not theirs."""

    episode: Episode | None
    reason: str = ""


def is_outside(episode: Episode) -> bool:
    """Whether a message holds somebody else's words, also where the person passed them on."""
    return OUTSIDE in episode.tags or episode.meta.get("provenance") == OUTSIDE or "forwarded_from" in episode.meta


def grounds(value: str, said: Sequence[Episode]) -> Grounds:
    """The newest message of the person that holds the numbers and at least half of the words of a value."""
    words, numbers = _words(value), set(_NUMBER.findall(fold(value)))
    if not words:
        return Grounds(None, "There is no word in the value.")
    holding = [episode for episode in reversed(said) if _holds(episode.text, words, numbers)]
    own = [episode for episode in holding if episode.role is Role.USER and not is_outside(episode)]
    if own:
        return Grounds(own[0])
    if any(episode.role is Role.ASSISTANT for episode in holding):
        return Grounds(None, "Only you said this, not the person. Ask them, and keep it in their own words.")
    if holding:
        return Grounds(None, "This stands in a text from outside only. Ask the person, and keep it in their words.")
    return Grounds(None, "The person did not say this lately. Ask them, and keep it in their own words.")


def _words(value: str) -> list[set[str]]:
    """The terms of each word; the shortest words say nothing where there are longer ones."""
    words = [word for word in value.split() if any(map(str.isalnum, word))]
    telling = [word for word in words if len(word) > SHORT or any(map(str.isdigit, word))] or words
    return [_terms(word) for word in telling]


def _terms(word: str) -> set[str]:
    """Of a script without spaces only the pairs of characters: single ones are everywhere."""
    terms = set(analyse(word))
    return {term for term in terms if len(term) > 1} if len(terms) > MANY_TERMS else terms


def _holds(text: str, words: Sequence[set[str]], numbers: set[str]) -> bool:
    """A word is held by one of its terms; one of a script without spaces, whose terms are parts of it, by half."""
    if numbers - set(_NUMBER.findall(fold(text))):
        return False
    terms = set(analyse(text))
    held = [len(word & terms) >= (LEAST_SHARE * len(word) if len(word) > MANY_TERMS else 1) for word in words]
    return sum(held) >= LEAST_SHARE * len(words)
