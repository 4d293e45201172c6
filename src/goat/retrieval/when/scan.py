"""Text to tokens: words, numbers, numeric shapes such as 9.07.2026 or 15:30, and the signs between them.

Every character is looked at a bounded number of times: there are no two ways to read one text with the pattern below,
and a run of unspaced script is cut by the longest known word, whose length is bounded by the vocabulary.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from goat.retrieval.fold import fold
from goat.retrieval.when.numerals import NUMERALS, numeral
from goat.retrieval.when.shapes import Value, iso_moment, shape

UNSPACED = "\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Characters of the scripts that put no space between words."""

_TOKEN = re.compile(
    rf"""
      (?P<iso>\d{{4}}-\d\d-\d\d[Tt\ ]\d\d:\d\d(?::\d\d(?:[.,]\d{{1,9}})?)?(?:[Zz]|[+-]\d\d:?\d\d)?(?!\w))
    | (?P<number>\d{{1,2}}[hH]\d\d(?!\w) | \d+(?:[.,:/\-–：]\d+)*)
    | (?P<halfday>[AaPp]\.\s?[Mm]\b\.?)
    | (?P<unspaced>[{UNSPACED}]+)
    | (?P<word>(?:[^\W\d_{UNSPACED}]|[\u0300-\u036f])(?:[^\W_{UNSPACED}]|[\u0300-\u036f])*)
    | (?P<sign>[^\s\w]|_)
    """,
    re.VERBOSE,
)

_UNIT = re.compile(rf"[{UNSPACED}]|(?:[ap]m|uhr|h)\b", re.IGNORECASE)
"""What may stand right behind a numeric shape."""

_CEDILLAS = {ord("ş"): "ș", ord("ţ"): "ț"}
_ALIKE = {"–": "-", "—": "-", "−": "-", "‐": "-", "‑": "-", "～": "~", "〜": "~", "，": ",", "、": ",", "．": "."}
_APOSTROPHES = frozenset("'’ʼ＇`´")
_ADDRESS_BEFORE = frozenset("@#/\\_")
_NUMBER_BEFORE = frozenset("/\\_.#@=$€£¥+%&~^*")
_NUMBER_AFTER = frozenset("/\\_@=$€£¥%‰&^*")
_LONGEST_NUMERAL = 8


class Token(NamedTuple):
    """A piece of the text. `kind` is "word", "sign", "none" or a numeric class; `text` is spelled for look-up."""

    kind: str
    text: str
    value: Value | None
    start: int
    end: int


class Scanner:
    """Cuts a text into tokens. `vocabulary` holds the known words as they are looked up, of all scripts."""

    def __init__(self, vocabulary: Collection[str]) -> None:
        self._vocabulary = frozenset(vocabulary)
        self._accented: dict[str, list[str]] = {}
        for word in sorted(self._vocabulary):
            if not word.isascii():
                self._accented.setdefault(fold(word), []).append(word)
        self._unspaced = _lengths(word for word in self._vocabulary if re.match(f"[{UNSPACED}]", word))
        self._first = NUMERALS | self._unspaced.keys()

    def tokens(self, text: str) -> list[Token]:
        """The tokens in the order of the text. White space makes none, except a blank line, which separates."""
        found: list[Token] = []
        end = 0
        for match in _TOKEN.finditer(text):
            start = match.start()
            if start - end > 1 and text.count("\n", end, start) > 1:
                found.append(Token("none", "", None, end, start))
            end = match.end()
            kind = match.lastgroup
            if kind == "word":
                found.append(self._word(text, start, end))
            elif kind == "unspaced":
                found.extend(self._cut(match.group(), start))
            elif kind == "sign":
                found.extend(_sign(text, start))
            elif kind == "halfday":
                found.append(Token("word", text[start].lower() + "m", None, start, end))
            else:
                found.append(_number(text, start, end, iso_moment if kind == "iso" else shape))
        return found

    def _word(self, text: str, start: int, end: int) -> Token:
        if _inside_an_address(text, start, end):
            return Token("none", "", None, start, end)
        word = text[start:end].lower()
        if not word.isascii():
            word = self._spelled(unicodedata.normalize("NFKC", word).translate(_CEDILLAS))
        return Token("word", word, None, start, end)

    def _spelled(self, word: str) -> str:
        """The known word that has all accents of a word, which may lack some but not have others."""
        if word in self._vocabulary:
            return word
        whole = self._accented.get(fold(word), ())
        return next((known for known in whole if len(known) == len(word) and _lacks_accents(word, known)), word)

    def _cut(self, run: str, offset: int) -> Iterator[Token]:
        """The known words and numerals of a run of unspaced script, and the stretches between them."""
        position = unknown = 0
        while position < len(run):
            if run[position] not in self._first:
                position += 1
                continue
            length, kind, value = self._longest(run, position)
            if length and unknown < position:
                yield Token("none", "", None, offset + unknown, offset + position)
            if length:
                start = offset + position
                yield Token(kind, run[position : position + length], value, start, start + length)
            position += length or 1
            unknown = position if length else unknown
        if unknown < position:
            yield Token("none", "", None, offset + unknown, offset + position)

    def _longest(self, run: str, position: int) -> tuple[int, str, Value | None]:
        """The length, kind and value of the longest known piece at a position; length 0 for none."""
        for length in self._unspaced.get(run[position], ()):
            if position + length <= len(run) and run[position : position + length] in self._vocabulary:
                return length, "word", None
        if run[position] not in NUMERALS:
            return 0, "none", None
        end = position + 1
        while end < len(run) and end - position < _LONGEST_NUMERAL and run[end] in NUMERALS:
            end += 1
        value = numeral(run[position:end])
        return (0, "none", None) if value is None else (end - position, "int", value)


def _lacks_accents(word: str, known: str) -> bool:
    return all(letter in (full, fold(full)) for letter, full in zip(word, known, strict=True))


def _lengths(words: Iterable[str]) -> Mapping[str, tuple[int, ...]]:
    """For each first character the lengths of the words that it begins, longest first."""
    lengths: dict[str, set[int]] = {}
    for word in words:
        lengths.setdefault(word[0], set()).add(len(word))
    return {first: tuple(sorted(sizes, reverse=True)) for first, sizes in lengths.items()}


def _inside_an_address(text: str, start: int, end: int) -> bool:
    """Whether a word is part of a name, a path or a web address."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if before in _ADDRESS_BEFORE or after in _ADDRESS_BEFORE - {"/"}:
        return True
    if before == "." and text[start].islower() and text[max(start - 2, 0)].isalnum():
        return True
    return after == "." and text[end + 1 : end + 2].islower()


def _sign(text: str, start: int) -> Iterator[Token]:
    """The sign as a token; an apostrophe inside of a word is none."""
    sign = text[start]
    if sign in _APOSTROPHES and text[max(start - 1, 0)].isalpha() and text[start + 1 : start + 2].isalnum():
        return
    yield Token("sign", _ALIKE.get(sign, sign), None, start, start + 1)


def _number(text: str, start: int, end: int, read: Callable[[str], tuple[str, Value | None]]) -> Token:
    """A numeric shape, without meaning where it is a part of something longer: a price, a path, a version."""
    written = text[start:end]
    kind, value = read(written)
    before, after = text[start - 1 : start], text[end : end + 1]
    part_of_a_name = before == "-" and text[max(start - 2, 0)].isalnum()
    if before in _NUMBER_BEFORE or after in _NUMBER_AFTER or part_of_a_name or (kind != "int" and _goes_on(text, end)):
        kind, value = "none", None
    return Token(kind, written, value, start, end)


def _goes_on(text: str, end: int) -> bool:
    """Whether letters follow that make a date or a decimal something else: 1.2.24b, 2026-07-09.pdf."""
    if text[end : end + 1] == ".":
        return text[end + 1 : end + 2].isalpha()
    return text[end : end + 1].isalpha() and not _UNIT.match(text, end)
