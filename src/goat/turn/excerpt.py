"""What of a long message a prompt quotes."""

from __future__ import annotations

from goat.records.episodes import Span
from goat.retrieval.passages import split_passages
from goat.turn.budget import CUT_MARK

LONG_TOKENS = 400
"""A message of more tokens is quoted in part."""

BEGINNING = 1200
"""Characters that the beginning of a message is taken from, where nothing says which part of it is wanted."""


def excerpt(text: str, part: Span | None) -> str:
    """A part of a long text, its beginning for None, with a mark wherever words are left out."""
    start, end = part or _beginning(text)
    before = f"{CUT_MARK} ".lstrip() if text[:start].strip() else ""
    return before + text[start:end] + (CUT_MARK if text[end:].strip() else "")


def _beginning(text: str) -> Span:
    """The first passages of a text, without the one that the look at its beginning cuts."""
    spans = split_passages(text[:BEGINNING])
    whole = spans[:-1] or spans
    return Span(0, whole[-1].end if whole else 0)
