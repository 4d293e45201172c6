"""Telling questions from statements, for the ranking."""

from __future__ import annotations

import re

from goat.retrieval.words import count_words

_MARK = re.compile("[?\uff1f\u061f\u037e]")
"""The question marks of Latin and most other scripts, of Chinese and Japanese, of Arabic and of Greek."""

_LINK = re.compile(r"\b\w{1,16}://\S*[^\s?\uff1f]")
_SHORT_WORDS = 30


def is_question(text: str) -> bool:
    """Whether the text holds a question mark, not counting those inside of links."""
    return _MARK.search(text) is not None and _MARK.search(_LINK.sub(" ", text)) is not None


def is_short_question(text: str) -> bool:
    """Whether the text is a question of at most 30 words, two letters of a script without spaces being one word."""
    return is_question(text) and count_words(text) <= _SHORT_WORDS
