"""Windows of time: what the expressions of a text mean where and when it was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

from goat.retrieval.when.asked import Asked, Order, Prefer
from goat.retrieval.when.compose import counts, expressions
from goat.retrieval.when.expressions import Expression
from goat.retrieval.when.extents import extent_of
from goat.retrieval.when.load import LANGUAGES, grammar_of
from goat.retrieval.when.marks import OPENING
from goat.retrieval.when.scan import Token
from goat.retrieval.when.slots import Kind

_ORDERS: dict[str, Order] = {"en": "mdy", "ja": "ymd", "zh": "ymd"}


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time that a text names: `after <= moment < before`, all times aware and in the owner's zone.

    `text` is the part that was understood, at `span` of the whole. `centre` is the moment that was asked for, or the
    middle. `explicit` is False where a month, a weekday, a season, a holiday or today is named without more: a hint of
    when rather than a question about it.
    """

    after: datetime
    before: datetime
    text: str
    span: tuple[int, int]
    kind: Kind
    centre: datetime
    explicit: bool


def find_windows(
    text: str,
    at: datetime,
    zone: tzinfo,
    prefer: Prefer = "past",
    languages: Sequence[str] | None = None,
    keep_future: bool | None = None,
) -> list[Window]:
    """The windows that a text names, in its order; none for a text that names no time.

    `at` (aware) is when the text was written, `zone` where. An open date ("9 July", "Monday", "at three") is the last
    one with `prefer="past"` and the next one with "future". What can only lie ahead ("tomorrow") is left out with
    "past" unless `keep_future` is true.

    `languages` are ISO 639-1 codes, by default all that there are; the first decides how 9/7/2026 is read (by default
    day first). Raises `UnknownLanguage` for a code without a grammar and `ValueError` for a naive `at`; no text raises.
    """
    if at.tzinfo is None:
        raise ValueError("The time at which a text was written needs a zone: pass an aware datetime.")
    codes = tuple(languages) if languages is not None else LANGUAGES
    order = _ORDERS.get(codes[0], "dmy") if languages else "dmy"
    asked = Asked(at.astimezone(zone), zone, prefer, order)
    grammar = grammar_of(codes)
    tokens = grammar.scanner.tokens(text)
    ahead = prefer == "future" if keep_future is None else keep_future
    found: list[Window] = []
    for one in expressions(grammar, tokens, grammar.lattice(tokens), asked):
        windows = _windows(one, text, tokens, asked)
        found += [window for window in windows if ahead or _has_begun(window, asked)]
    return [window for place, window in enumerate(found) if not place or not _same(window, found[place - 1])]


def _windows(one: Expression, text: str, tokens: Sequence[Token], asked: Asked) -> list[Window]:
    """The window of an expression; two where it looks like a range and none lies between its ends."""
    extent = extent_of(one, asked)
    if extent is None and one.to:
        alone = [part for part in (replace(one, to=None), one.to) if counts(part)]
        return [window for part in alone for window in _windows(part, text, tokens, asked)]
    if extent is None:
        return []
    start, end = tokens[one.start].start, tokens[(one.to or one).end - 1].end
    after, before, centre = (asked.local(moment) for moment in (extent.after, extent.before, extent.centre))
    explicit = one.frame.explicit or one.to is not None or bool(one.marks - OPENING)
    return [Window(after, before, text[start:end], (start, end), extent.kind, centre, explicit)]


def _has_begun(window: Window, asked: Asked) -> bool:
    """Whether any of it is past; a clock time is past when the clocks showed it."""
    begin = window.centre if window.kind == "time" else window.after
    return begin.astimezone(UTC) <= asked.at


def _same(window: Window, other: Window) -> bool:
    return (other.after, other.before) == (window.after, window.before)
