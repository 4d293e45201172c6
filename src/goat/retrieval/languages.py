"""What GOAT knows of each language (script, function words, Snowball stemmer), and which one a text is in."""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module, resources
from itertools import islice
from types import MappingProxyType
from typing import Any

from goat.retrieval.fold import fold

LATIN = "latin"

_LOOKED_AT = 2000
"""Characters from which the language of a text is told."""

_SCRIPTS = {"hiragana": "ja", "katakana": "ja", "hangul": "ko", "cjk": "zh"}

_CLEAR_LEAD = 0.7
"""A language whose evidence reaches this share of the best one's is as likely."""

_SPEAKERS = 2
"""So many distinct function words have to speak for a language."""

_WORDS_LOOKED_AT = 400
"""Evidence beyond so many words changes nothing."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language by its ISO 639-1 code; `stop` holds folded words, `stemmer` is a Snowball algorithm or empty."""

    code: str
    script: str
    stemmer: str
    stop: frozenset[str]


@lru_cache(maxsize=1)
def languages() -> Mapping[str, Language]:
    """All languages by their code, read from the package's data."""
    source = resources.files("goat.retrieval").joinpath("data/languages.toml").read_text(encoding="utf-8")
    tables: dict[str, dict[str, Any]] = tomllib.loads(source)
    return MappingProxyType(
        {
            code: Language(code, table["script"], table["stemmer"], frozenset(fold(table["stop"]).split()))
            for code, table in tables.items()
        }
    )


@lru_cache(maxsize=1)
def latin_languages() -> tuple[str, ...]:
    """The codes of the languages that share the Latin script."""
    return tuple(code for code, language in languages().items() if language.script == LATIN)


@lru_cache(maxsize=1)
def language_of_script() -> Mapping[str, str]:
    """The code of the language that stands for each script that is not Latin."""
    return MappingProxyType(
        {language.script: code for code, language in languages().items() if language.script != LATIN}
    )


@lru_cache(maxsize=1)
def _evidence() -> Mapping[str, tuple[str, ...]]:
    """For each Latin function word the languages that it belongs to."""
    owners: dict[str, list[str]] = {}
    for code in latin_languages():
        for word in languages()[code].stop:
            owners.setdefault(word, []).append(code)
    return MappingProxyType({word: tuple(codes) for word, codes in owners.items()})


def likely_languages(words: Iterable[str]) -> tuple[str, ...]:
    """The languages that a text in the Latin script may be in, from its folded words; all of them when none shows.

    Each distinct function word speaks for its languages, the louder the fewer they are. A language needs two: one word
    alone may be a content word of another language ('dog' is a function word in Danish, 'die' in German). One code is
    a decision, several are a tie. The answer has the order of the data file, so equal texts get equal answers.
    """
    owners = _evidence()
    votes: dict[str, float] = {}
    speakers: dict[str, int] = {}
    for word in dict.fromkeys(islice(words, _WORDS_LOOKED_AT)):
        codes = owners.get(word, ())
        for code in codes:
            votes[code] = votes.get(code, 0.0) + 1 / len(codes)
            speakers[code] = speakers.get(code, 0) + 1
    shown = [code for code, number in speakers.items() if number >= _SPEAKERS]
    if not shown:
        return latin_languages()
    enough = _CLEAR_LEAD * max(votes[code] for code in shown)
    return tuple(code for code in latin_languages() if code in shown and votes[code] >= enough)


def language_of(text: str) -> str:
    """The language (ISO 639-1) that the beginning of a text is in, empty where it does not show."""
    folded = fold(text[:_LOOKED_AT])
    if not folded.isascii():
        scripts = [unicodedata.name(character, "").split(" ")[0].lower() for character in folded if character.isalpha()]
        other = [script for script in scripts if script != "latin"]
        if len(other) * 2 > len(scripts):
            kana = any(script in {"hiragana", "katakana"} for script in other)
            first = "hiragana" if kana else max(dict.fromkeys(other), key=other.count)
            return _SCRIPTS.get(first) or language_of_script().get(first, "")
    codes = likely_languages(folded.split())
    return codes[0] if len(codes) == 1 else ""


@lru_cache(maxsize=1024)
def stop_words(codes: tuple[str, ...]) -> frozenset[str]:
    """The words that are function words in every one of these languages."""
    return frozenset.intersection(*(languages()[code].stop for code in codes)) if codes else frozenset()


def stem(word: str, code: str) -> str:
    """The word's stem in this language, the word itself where it has no stemmer.

    The stemmers are taken as pure Python classes: `snowballstemmer.stemmer` would hand out those of another
    installed package, whose stems may differ from the ones in the index. They keep the word in themselves while they
    work, so each call has its own.
    """
    algorithm = languages()[code].stemmer
    if not algorithm:
        return word
    stemmed: str = _stemmer(algorithm)().stemWord(word)
    return stemmed or word


@lru_cache(maxsize=64)
def _stemmer(algorithm: str) -> Any:
    module = import_module(f"snowballstemmer.{algorithm}_stemmer")
    return getattr(module, f"{algorithm.title()}Stemmer")
