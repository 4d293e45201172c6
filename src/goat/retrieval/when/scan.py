"""Text to tokens: words, numbers, numeric shapes such as 9.07.2026 or 15:30, and the signs between them.

Every character is looked at a bounded number of times: the pattern below has no two ways to read one text, and a run of
unspaced script is cut by the longest known word, whose length is bounded by the vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from goat.retrieval.fold import fold
from goat.retrieval.when.numerals import NUMERALS, numeral
from goat.retrieval.when.shapes import Value, shape

UNSPACED = "\u3005\u3006\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Characters of scripts that put no space between words."""

_TOKEN = re.compile(
    rf"""
      (?P<iso>\d{{4}}-\d\d-\d\d[Tt\ ]\d\d:\d\d(?::\d\d(?:[.,]\d{{1,9}})?)?(?:[Zz]|[+-]\d\d:?\d\d)?(?!\w))
    | (?P<number>\d{{1,2}}[hH]\d\d(?!\w) | \d+(?:[.,:/\-–：]\d+)*)
    | (?P<halfday>[AaPp]\.\s?[Mm]\b\.?)
    | (?P<unspaced>[〇{UNSPACED}]+)
    | (?P<word>(?:[^\W\d_{UNSPACED}]|[\u0300-\u036f])(?:[^\W_{UNSPACED}]|[\u0300-\u036f])*)
    | (?P<sign>[^\s\w]|_)
    """,
    re.VERBOSE,
)

_DASHES = {"–": "-", "—": "-", "−": "-", "‐": "-", "‑": "-", "～": "〜", "，": ",", "、": ",", "．": ".", "・": ","}
_APOSTROPHES = frozenset("'’ʼ＇`´")
_BEFORE_A_PART = frozenset("/\\_.#@=$€£¥+%&~^")
_AFTER_A_PART = frozenset("/\\_@=$€£¥%&~^")
_SHORT = 5
"""Words of at least this many letters may lack some of their accents and have others."""


class Token(NamedTuple):
    """A piece of the text. `kind` is "word", "sign", "none" or a numeric class; `text` is folded for look-up."""

    kind: str
    text: str
    value: Value | None
    start: int
    end: int


class Scanner:
    """Cuts a text into tokens; `vocabulary` holds the known words of all scripts."""

    def __init__(self, vocabulary: Collection[str]) -> None:
        self._vocabulary = frozenset(vocabulary)
        self._unspaced = _lengths(word for word in self._vocabulary if re.match(f"[〇{UNSPACED}]", word))

    def tokens(self, text: str) -> list[Token]:
        """The tokens in the order of the text. White space makes none, except a blank line, which separates."""
        found: list[Token] = []
        end = 0
        for match in _TOKEN.finditer(text):
            start = match.start()
            if start - end > 1 and text.count("\n", end, start) > 1:
                found.append(Token("none", "", None, end, start))
            end = match.end()
            self._add(found, match, text)
        return found

    def _add(self, found: list[Token], match: re.Match[str], text: str) -> None:
        start, end = match.span()
        kind = match.lastgroup
        if kind == "word":
            written = match.group()
            word = "" if _inside_an_address(text, start, end) else self._known(written)
            found.append(Token("word" if word else "none", word, None, start, end))
        elif kind == "sign":
            sign = match.group()
            if sign in _APOSTROPHES and text[start - 1 : start].isalpha() and text[end : end + 1].isalpha():
                return
            found.append(Token("sign", _DASHES.get(sign, sign), None, start, end))
        elif kind == "unspaced":
            found.extend(self._cut(match.group(), start))
        elif kind == "halfday":
            found.append(Token("word", match.group()[0].lower() + "m", None, start, end))
        else:
            found.append(_number(text, start, end))

    def _known(self, written: str) -> str:
        """The word as the vocabulary spells it: as written, or without its accents where it is long enough."""
        word = written.lower()
        if word.isascii() or word in self._vocabulary:
            return word
        plain = fold(word)
        return plain if len(plain) >= _SHORT or plain in self._vocabulary and plain == _composed(word) else word

    def _cut(self, run: str, offset: int) -> Iterator[Token]:
        position = unknown = 0
        while position < len(run):
            length, kind, value = self._longest(run, position)
            if kind == "none":
                position += 1
                continue
            if unknown < position:
                yield Token("none", "", None, offset + unknown, offset + position)
            yield Token(kind, run[position : position + length], value, offset + position, offset + position + length)
            position = unknown = position + length
        if unknown < position:
            yield Token("none", "", None, offset + unknown, offset + position)

    def _longest(self, run: str, position: int) -> tuple[int, str, Value | None]:
        for length in self._unspaced.get(run[position], ()):
            if run[position : position + length] in self._vocabulary:
                return length, "word", None
        end = position
        while end < len(run) and end - position < 8 and run[end] in NUMERALS:
            end += 1
        value = numeral(run[position:end]) if end > position else None
        return (1, "none", None) if value is None else (end - position, "int", value)


def _composed(word: str) -> str:
    return fold(word)


def _lengths(words: Iterator[str]) -> Mapping[str, tuple[int, ...]]:
    """For each first character the lengths of the words that it begins, longest first."""
    lengths: dict[str, set[int]] = {}
    for word in words:
        lengths.setdefault(word[0], set()).add(len(word))
    return {first: tuple(sorted(sizes, reverse=True)) for first, sizes in lengths.items()}


def _inside_an_address(text: str, start: int, end: int) -> bool:
    """Whether a word is part of a name, a path or a web address."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if before and before in "@#/\\_." and not (before == "." and text[start - 2 : start - 1].isspace()):
        return True
    return bool(after) and (after in "@_\\" or (after == "." and text[end + 1 : end + 2].isalpha()))
