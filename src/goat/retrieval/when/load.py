"""The grammar files `data/when_*.toml`, one per language, read and compiled into one grammar."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from itertools import product
from typing import Any

from goat.retrieval.fold import fold
from goat.retrieval.when.grammar import (
    COMMON,
    GLUE,
    MARK,
    NOTHING,
    Final,
    Grammar,
    Mark,
    Node,
    Phrase,
    Step,
    Word,
    class_key,
)
from goat.retrieval.when.notation import Element, PatternError, spell_out, words_of
from goat.retrieval.when.scan import Scanner
from goat.retrieval.when.shapes import Value

LANGUAGES = ("en", "ro", "de", "es", "fr", "it", "pt", "ja", "zh")
"""The languages with a grammar file, in the order in which they are preferred where two read one text differently."""

_NUMBERS = ("int", "day", "hour", "year", "yyyy", "distant", "beyond")
_SHAPES = ("time", "ymd", "dmy", "short", "dotted", "slashed", "comma", "span", "hours", "years", "ym", "iso")
"""Classes of numbers and of numeric shapes, which belong to no language."""

_LAST_RANK = 1_000_000
_INTEGER = re.compile(r"-?\d+")
_INTEGERS = re.compile(r"(?:-?\d+ )?\d+-\d+")


class UnknownLanguage(ValueError):
    """There is no grammar file for a language."""

    def __init__(self, code: str) -> None:
        super().__init__(
            f"There is no grammar of dates for the language {code!r}; there is one for {', '.join(LANGUAGES)}."
        )


@lru_cache(maxsize=16)
def grammar_of(languages: tuple[str, ...]) -> Grammar:
    """The grammar of these languages together. Raises `UnknownLanguage`."""
    for code in languages:
        if code not in LANGUAGES:
            raise UnknownLanguage(code)
    compiler = _Compiler()
    for code in (COMMON, *(known for known in LANGUAGES if known in languages)):
        compiler.add(code, grammar_table(code))
    return compiler.grammar()


def grammar_table(code: str) -> dict[str, Any]:
    """The grammar file of a language, or the common one, as it is written."""
    source = resources.files("goat.retrieval").joinpath(f"data/when_{code}.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))


class _Compiler:
    """Collects words and patterns of one language after the other."""

    def __init__(self) -> None:
        self._steps: dict[str, list[Step]] = {}
        self._phrases: dict[str, list[Phrase]] = {}
        self._root = Node()
        self._elsewhere: dict[str, list[tuple[str, str]]] = {}
        self._macros: dict[str, str] = {}
        self._shared = {name: class_key(name) for name in (*_NUMBERS, *_SHAPES)}
        self._literals: set[str] = set()
        self._rank = 0

    def add(self, code: str, table: Mapping[str, Any]) -> None:
        """Take in one grammar file."""
        macros = {**self._macros, **table.get("macros", {})}
        family = table.get("family", code)
        own = self._add_words(code, table)
        if code == COMMON:
            self._macros, self._shared = macros, own
        for name, phrases in table.get("marks", {}).items():
            for phrase in phrases:
                self._add_phrase(phrase, Step(MARK, None, mark=Mark(family, name)))
        for phrase in table.get("glue", ()):
            self._add_phrase(phrase, Step(GLUE, None))
        for section, weak, mention in (("rules", False, False), ("mentions", False, True), ("weak", True, False)):
            for rule, patterns in table.get(section, {}).items():
                self._add_patterns(patterns, macros, own, Final(self._next(), rule, (), code, family, weak, mention))
        nothing = Final(_LAST_RANK, NOTHING, (), code, family, weak=False, mention=False)
        self._add_patterns(table.get("everyday", ()), macros, own, nothing)
        for other, phrases in table.get("elsewhere", {}).items():
            for phrase in phrases:
                self._elsewhere.setdefault(phrase, []).append((code, other))

    def grammar(self) -> Grammar:
        """What was collected, with every word that the scanner must know."""
        words = {
            word: Word(tuple(self._steps.get(word, ())), tuple(self._phrases.get(word, ())))
            for word in self._steps.keys() | self._phrases.keys()
        }
        rest = {word for phrases in self._phrases.values() for phrase in phrases for word in phrase.rest}
        return Grammar(Scanner(rest | words.keys()), words, self._root, self._elsewhere)

    def _next(self) -> int:
        self._rank += 1
        return self._rank

    def _add_words(self, code: str, table: Mapping[str, Any]) -> dict[str, str]:
        """Enter the words of a language; returns the step's key for each class that its patterns may name."""
        groups: Mapping[str, Sequence[str]] = table.get("groups", {})
        classes: Mapping[str, Mapping[str, Sequence[str]]] = table.get("words", {})
        keys = {name: class_key(f"{code}:{name}") for name in (*classes, *groups)} | self._shared
        for name, values in classes.items():
            members = [keys[name], *(keys[group] for group, inside in groups.items() if name in inside)]
            for value, phrases in values.items():
                for phrase, key in product(phrases, members):
                    self._add_phrase(phrase, Step(key, _value(value)))
        return keys

    def _add_phrase(self, phrase: str, step: Step) -> None:
        for spelled in words_of(phrase.removeprefix("=")):
            for first, *rest in _spellings(spelled, exact=phrase.startswith("=")):
                if rest:
                    longer = Phrase(step._replace(length=1 + len(rest)), tuple(rest))
                    self._phrases.setdefault(first, []).append(longer)
                elif step not in self._steps.setdefault(first, []):
                    self._steps[first].append(step)

    def _add_patterns(
        self, patterns: Sequence[str], macros: Mapping[str, str], own: Mapping[str, str], final: Final
    ) -> None:
        keys: dict[Element, str] = {}
        for pattern in patterns:
            for sequence in spell_out(pattern, macros):
                node = self._root
                for element in sequence:
                    key = keys.get(element) or keys.setdefault(element, self._key(element, own, pattern))
                    node = node.edges.get(key) or node.edges.setdefault(key, Node())
                names = tuple(element.name for element in sequence if element.word_class)
                if not any(there.rule == final.rule and there.names == names for there in node.finals):
                    node.finals.append(final._replace(names=names))

    def _key(self, element: Element, own: Mapping[str, str], pattern: str) -> str:
        if element.word_class:
            if element.word_class not in own:
                raise PatternError(pattern, f"there is no class {element.word_class}")
            return own[element.word_class]
        if element.word not in self._literals:
            self._literals.add(element.word)
            self._add_phrase(element.word, Step(element.word, None))
        return element.word


def _spellings(words: tuple[str, ...], exact: bool) -> Iterator[tuple[str, ...]]:
    """The words as written and, unless that means something else, without their accents."""
    return iter(set(product(*({word} if exact else {word, fold(word)} for word in words))))


def _value(written: str) -> Value:
    """A value of a grammar file: "3" is a number, "5-12" and "-1 18-30" are several, all else is text."""
    if _INTEGER.fullmatch(written):
        return int(written)
    if _INTEGERS.fullmatch(written):
        *day, hours = written.split(" ")
        return tuple(int(part) for part in (*day, *hours.split("-")))
    return written
