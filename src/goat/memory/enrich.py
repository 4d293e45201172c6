"""What is noted about a message when it is written: rules only, once, in the commit that keeps its words."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Final

from goat.retrieval.fold import fold
from goat.retrieval.languages import language_of_script, likely_languages
from goat.retrieval.terms import is_question
from goat.retrieval.words import count_words

FULL_LENGTH: Final = 120
"""Words from which on a message counts as important as a message can."""

GREETING: Final = 6
"""A statement with fewer words than this, and no number, says little."""

LOOKED_AT: Final = 2000
"""Characters from which the language is told."""

_SCRIPTS: Final[Mapping[str, str]] = {"hiragana": "ja", "katakana": "ja", "hangul": "ko", "cjk": "zh"}


def enriched(text: str) -> dict[str, str]:
    """`importance` (0..1, by length), `memory_type` (question, greeting or statement) and, where it shows, `language`
    (ISO 639-1)."""
    words = count_words(text)
    importance = round(min(words / FULL_LENGTH, 1.0), 3)
    noted = {"importance": f"{importance:g}", "memory_type": _kind(text, words)}
    language = language_of(text)
    return {**noted, "language": language} if language else noted


def language_of(text: str) -> str:
    """The language of a text, empty where it does not show."""
    folded = fold(text[:LOOKED_AT])
    scripts = [unicodedata.name(character, "").split(" ")[0].lower() for character in folded if character.isalpha()]
    other = [script for script in scripts if script != "latin"]
    if len(other) * 2 > len(scripts):
        kana = any(script in {"hiragana", "katakana"} for script in other)
        first = "hiragana" if kana else max(dict.fromkeys(other), key=other.count)
        return _SCRIPTS.get(first) or language_of_script().get(first, "")
    codes = likely_languages(folded.split())
    return codes[0] if len(codes) == 1 else ""


def _kind(text: str, words: int) -> str:
    if is_question(text):
        return "question"
    return "greeting" if words < GREETING and not any(map(str.isdigit, text)) else "statement"
