"""The compiled grammar: what each word may be, and a prefix tree of patterns over that.

Patterns of all languages stand in one tree, so one walk per position finds the longest expression of any of them. No
pattern repeats anything, so a walk looks at no more tokens than the longest pattern has elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from goat.retrieval.when.scan import Scanner, Token
from goat.retrieval.when.shapes import FIRST_YEAR, LAST_YEAR, Value

SELECTING = frozenset(("before", "after", "nth"))
"""The rules of phrases that end where the time begins that they speak of: "two days before"."""

AHEAD = frozenset(("time_ahead", "part_ahead"))
"""The rules of times that need no company where dates point ahead: "remind me at five"."""

NOTHING = "nothing"
"""The rule of everyday phrases: what it matches is no time, and no part of it is."""


COMMON = "common"
"""The language, and the family, of what every language writes alike."""


def class_key(name: str) -> str:
    """The key of the steps of a class, which no word has."""
    return f"<{name}>"


GLUE, MARK = class_key("glue"), class_key("mark")


class Final(NamedTuple):
    """The end of a pattern. `weak` needs company to count; a `mention` names a time without asking for it.

    Languages of one `family` share their writing, so that marks of one count in the other.
    """

    rank: int
    rule: str
    names: tuple[str, ...]
    language: str
    family: str
    weak: bool
    mention: bool


@dataclass(slots=True)
class Node:
    """A place in the tree of patterns."""

    edges: dict[str, Node] = field(default_factory=dict)
    finals: list[Final] = field(default_factory=list)


class Mark(NamedTuple):
    """A mark ("since", "until") in the words of a family of languages."""

    family: str
    name: str


class Step(NamedTuple):
    """An edge that the text offers at a place: its key, its value, the number of its tokens; the mark if it is one."""

    key: str
    value: Value | None
    length: int = 1
    mark: Mark | None = None


class Phrase(NamedTuple):
    """A step of several words; `rest` are those after the first."""

    step: Step
    rest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """What a word may be: steps of its own, and beginnings of phrases."""

    steps: tuple[Step, ...]
    phrases: tuple[Phrase, ...]


class Match(NamedTuple):
    """A pattern found in the text: tokens `start` to `end`, and its readings, best first."""

    start: int
    end: int
    readings: tuple[tuple[Final, tuple[Value, ...]], ...]

    @property
    def is_slight(self) -> bool:
        """Whether it needs company or only mentions a time."""
        return any((final.weak or final.mention) and final.rule not in SELECTING for final, _ in self.readings)


Lattice = Sequence[Sequence[Step]]
"""For each token the steps that the text offers from there."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The grammar of some languages. `elsewhere` holds phrases with the language that they are a time in and another
    one that they are everyday words of; # stands for a number."""

    scanner: Scanner
    words: Mapping[str, Word]
    root: Node
    elsewhere: Mapping[str, Sequence[tuple[str, str]]]

    def lattice(self, tokens: Sequence[Token]) -> list[tuple[Step, ...]]:
        """The steps that each token offers."""
        return [self._steps(tokens, position) for position in range(len(tokens))]

    def _steps(self, tokens: Sequence[Token], position: int) -> tuple[Step, ...]:
        token = tokens[position]
        if token.kind in ("word", "sign"):
            word = self.words.get(token.text)
            if word is None:
                return ()
            if not word.phrases:
                return word.steps
            return (*word.steps, *(phrase.step for phrase in word.phrases if _continues(tokens, position, phrase.rest)))
        if isinstance(token.value, int):
            return tuple(Step(class_key(name), token.value) for name in _classes_of(token.value, token.text))
        return (Step(class_key(token.kind), token.value),) if token.value is not None else ()


def _continues(tokens: Sequence[Token], position: int, rest: Sequence[str]) -> bool:
    """Whether these words stand behind a token."""
    end = position + len(rest)
    return end < len(tokens) and all(tokens[position + 1 + i].text == word for i, word in enumerate(rest))


def _classes_of(number: int, written: str) -> list[str]:
    """The classes of a number: any (int), a day of the month, an hour, a year (yyyy, year), or beyond any of them."""
    classes = ["int"]
    digits = len(written) if written[0].isdecimal() else len(str(number))
    if number <= 31 and digits <= 2:
        classes += ["day"] if number else []
        classes += ["hour"] if number <= 24 else []
    elif digits == 4:
        classes += ["yyyy", "year"] if FIRST_YEAR <= number <= LAST_YEAR else ["distant"]
    else:
        classes += ["beyond"]
    return classes


def longest_match(root: Node, lattice: Lattice, start: int) -> Match | None:
    """The longest pattern that begins at a token, with all its readings of that length."""
    best_end = start
    readings: list[tuple[Final, tuple[Value, ...]]] = []
    walks: list[tuple[Node, int, tuple[Value, ...]]] = [(root, start, ())]
    while walks:
        node, position, values = walks.pop()
        if node.finals and position >= best_end:
            readings = readings if position == best_end else []
            best_end = position
            readings += [(final, values) for final in node.finals]
        if position < len(lattice):
            for key, value, length, _ in lattice[position]:
                child = node.edges.get(key)
                if child is not None:
                    walks.append((child, position + length, values if value is None else (*values, value)))
    return Match(start, best_end, tuple(sorted(readings, key=lambda reading: reading[0].rank))) if readings else None
