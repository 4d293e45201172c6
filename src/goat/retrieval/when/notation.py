"""The notation of the grammar files: what a pattern such as `[on] <weekday> (last|past) week` spells out to.

word          the word itself; a hyphen in it may be missing in the text
<class>       any word of a class, <class:name> if the rule knows its value by another name
(a|b c)       one of several
[a|b c]       one of several, or nothing
{name}        the macro of that name
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

_PIECE = re.compile(r"\s*(?:<(\w+)(?::(\w+))?>|([\[\](|)])|([^\s<>\[\]()|{}]+))")
_MACRO = re.compile(r"\{(\w+)\}")
_CLOSING = {"(": ")", "[": "]"}
_DEEPEST_MACRO = 5


class Element(NamedTuple):
    """One step of a pattern: a word, or a class whose value the rule gets as `name`."""

    word: str = ""
    word_class: str = ""
    name: str = ""


Sequences = list[tuple[Element, ...]]


class PatternError(ValueError):
    """A pattern of a grammar file cannot be read."""

    def __init__(self, pattern: str, problem: str) -> None:
        super().__init__(f"The pattern {pattern!r} cannot be read: {problem}")


def words_of(phrase: str) -> Iterator[tuple[str, ...]]:
    """The ways in which a phrase comes as tokens: every hyphen may be a sign or missing; apostrophes are no tokens."""
    parts: list[tuple[tuple[str, ...], ...]] = []
    for chunk in re.sub(r"(?<=\w)['’](?=\w)", " ", phrase).split():
        for place, piece in enumerate(re.split(r"(?<=\w)-(?=\w)", chunk)):
            parts += [((), ("-",))] if place else []
            parts.append(((piece,),))
    for chosen in product(*parts):
        yield tuple(word for words in chosen for word in words)


def spell_out(pattern: str, macros: Mapping[str, str]) -> Sequences:
    """All sequences of elements that a pattern stands for."""
    text = pattern
    for _ in range(_DEEPEST_MACRO):
        text = _MACRO.sub(lambda match: macros.get(match[1], match[0]), text)
    if "{" in text:
        raise PatternError(pattern, f"there is no macro {_MACRO.findall(text)}")
    pieces = [match.groups() for match in _PIECE.finditer(text)]
    if "".join(match.group() for match in _PIECE.finditer(text)).strip() != text.strip():
        raise PatternError(pattern, "a bracket is missing its partner")
    sequences, end = _alternatives(pieces, 0, pattern)
    if end != len(pieces):
        raise PatternError(pattern, "a bracket is closed that was not opened")
    return [sequence for sequence in sequences if sequence]


def _alternatives(pieces: Sequence[tuple[str | None, ...]], start: int, pattern: str) -> tuple[Sequences, int]:
    """The sequences from `start` up to the bracket that closes this level, and where it stands."""
    done: Sequences = []
    current: Sequences = [()]
    position = start
    while position < len(pieces):
        word_class, name, sign, word = pieces[position]
        if sign in (")", "]"):
            break
        if sign == "|":
            done, current = done + current, [()]
        elif sign:
            inner, position = _alternatives(pieces, position + 1, pattern)
            if position == len(pieces) or pieces[position][2] != _CLOSING[sign]:
                raise PatternError(pattern, f"{sign} is not closed")
            current = [left + right for left in current for right in (inner if sign == "(" else [(), *inner])]
        elif word_class:
            current = [(*left, Element("", word_class, name or word_class)) for left in current]
        elif word:
            spelled = [tuple(Element(part) for part in parts) for parts in words_of(word)]
            current = [(*left, *right) for left in current for right in spelled]
        position += 1
    return done + current, position
