"""The sentences that GOAT says by itself, in every language that it speaks: the catalogue in `data/texts.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

ENGLISH: Final = "en"
CORE: Final = "core"
"""The section of what the core says in English: a front door finds it by its words."""

LANGUAGES: Final = (ENGLISH, "ro")

Sentence = str | Mapping[str, str]


class Texts:
    """The catalogue in one language.

    An entry is a sentence with `{names}` in it, or one for each form of the count `n`, by the plural rules of the
    language (Unicode CLDR: English one, other; Romanian one, few, other).
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self._sentences = {key: entry[language] for key, entry in entries().items()}

    def __call__(self, key: str, /, **values: object) -> str:
        """The sentence of a key, with these values in it; whole numbers are written as the language does.

        Raises `KeyError` for a key that is not there or a value that is missing.
        """
        sentence = self._sentences[key]
        if not isinstance(sentence, str):
            count = values["n"]
            assert isinstance(count, int)
            sentence = sentence[plural(self.language, count)]
        return sentence.format_map({name: self.number(value) for name, value in values.items()})

    def told(self, english: str) -> str:
        """What the core said in English, in this language; what the catalogue does not hold stays as it is.

        Values in it, and parts with a semicolon or a colon between them, are looked up by themselves.
        """
        if self.language == ENGLISH:
            return english
        for key, pattern in _core().items():
            found = pattern.fullmatch(english)
            if found is not None:
                return self(key, **{name: self.told(value) for name, value in found.groupdict().items()})
        for mark in ("; ", ": "):
            first, parted, rest = english.partition(mark)
            if parted:
                return f"{self.told(first)}{mark}{self.told(rest)}"
        return english

    def has(self, key: str) -> bool:
        """Whether there is such an entry."""
        return key in self._sentences

    def number(self, value: object) -> str:
        """A whole number with its thousands apart; everything else as it is."""
        if isinstance(value, int) and not isinstance(value, bool):
            return f"{value:,}".replace(",", "," if self.language == ENGLISH else ".")
        return str(value)


@cache
def texts_for(code: str) -> Texts:
    """The catalogue for the language code of an app, such as `ro` or `pt-br`; English where there is none for it."""
    language = code.lower().replace("_", "-").partition("-")[0]
    return Texts(language if language in LANGUAGES else ENGLISH)


def plural(language: str, count: int) -> str:
    """The form that a count takes."""
    if count == 1:
        return "one"
    if language == "ro" and (count == 0 or 1 <= count % 100 <= 19):
        return "few"
    return "other"


@cache
def _core() -> Mapping[str, re.Pattern[str]]:
    """The English sentences of the core by their keys, with groups where their values stand."""
    return {
        key: re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(str(entry[ENGLISH]))), re.DOTALL)
        for key, entry in entries().items()
        if key.startswith(f"{CORE}.")
    }


@cache
def entries() -> Mapping[str, Mapping[str, Sentence]]:
    """Every entry by its key, such as `facts.none`: language to sentence."""
    document: dict[str, Any] = tomllib.loads(
        files("goat.interfaces").joinpath("data/texts.toml").read_text(encoding="utf-8")
    )
    return {f"{section}.{name}": entry for section, content in document.items() for name, entry in content.items()}
