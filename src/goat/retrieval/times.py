"""The times that queries and messages name, as the pipeline uses them.

A short explicit window of a query ("yesterday at three", "on 9 July", "last week") is pinned: what was said in it is a
group of candidates of its own that the cutoff cannot erase. Every window, a bare month or weekday too, lifts what was
said in it and soon after: people tell of a thing when it has happened.

A message tells of other days than its own ("yesterday I fixed the boiler"). They are indexed with it as terms, one for
each day, and a pinned window finds them, at a lower weight than what was said in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta, tzinfo

import numpy as np
from numpy.typing import NDArray

from goat.records.search import Floats, Recalled, Where
from goat.retrieval.when import LANGUAGES, Window, find_windows
from goat.retrieval.when.load import grammar_of

CONSIDERED = 2000
"""Characters of a message in which times are looked for; the question stands at its beginning or is all of it."""

LONGEST_PINNED = timedelta(days=32)
"""A longer window says too little to keep whatever was said in it."""

NARROW = timedelta(hours=25)
"""A day, also the one on which clocks go back: of so short a time everything that was said in it is a candidate."""

LONGEST_TOLD = timedelta(days=10)
"""A message that names a longer time tells of none of its days."""

TELLS = 0.5
"""What a message that tells of an asked day has beside its own nearness in time."""

TELLING = "tells_of_window"
"""The group of the messages that tell of an asked day."""

DAY = 86400.0
MOMENTS = frozenset({"time", "part"})
"""Kinds of windows that ask for a moment: of these the nearest counts most."""
FINE_KINDS = frozenset({"time", "part", "day", "weekend", "holiday"})


def read_grammars() -> None:
    """Read the grammars of all languages now, about 0.1 s, so that no message waits for them later."""
    grammar_of(LANGUAGES)


def windows_of(text: str, at: datetime, zone: tzinfo) -> tuple[Window, ...]:
    """The windows that the beginning of a message names, the past preferred."""
    return tuple(find_windows(text[:CONSIDERED], at, zone))


def pinned(windows: Sequence[Window]) -> tuple[Window, ...]:
    """The windows whose results survive the cutoff."""
    return tuple(one for one in windows if one.explicit and one.before - one.after <= LONGEST_PINNED)


def narrow(windows: Sequence[Window]) -> tuple[Window, ...]:
    """The pinned windows that are no longer than a day."""
    return tuple(one for one in pinned(windows) if one.before - one.after <= NARROW)


def within(where: Where, window: Window) -> Where:
    """The filter narrowed to the window."""
    after = window.after if where.after is None else max(where.after, window.after)
    before = window.before if where.before is None else min(where.before, window.before)
    return replace(where, after=after, before=before)


def nearness(windows: Sequence[Window], at: NDArray[np.float64]) -> Floats:
    """How near in time each passage is to what was asked for, in 0..1; the nearest window counts.

    `at` is epoch seconds. A fine window gives 1 from its beginning to two days after its end, 0.7 to ten days, and 0.3
    from three days before to thirty after; a coarse one gives 1 inside and 0.4 for as long again, a month at most.
    """
    best = np.zeros(len(at), dtype=np.float32)
    for window in windows:
        after, before = window.after.timestamp(), window.before.timestamp()
        if window.kind in FINE_KINDS:
            steps = [(0.3, after - 3 * DAY, before + 30 * DAY), (0.7, after, before + 10 * DAY)]
            steps.append((1.0, after, before + 2 * DAY))
        else:
            steps = [(0.4, before, before + min(before - after, 31 * DAY)), (1.0, after, before)]
        for value, first, last in steps:
            best = np.where((at >= first) & (at < last), np.maximum(best, np.float32(value)), best)
    return best


def distances(windows: Sequence[Window], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far, in seconds, each passage is from the nearest asked moment; infinite outside of every pinned window.

    `at` is epoch seconds. What lies in a window that asks for no moment (a day, a week) is at no distance.
    """
    nearest = np.full(len(at), np.inf)
    for window in pinned(windows):
        inside = (at >= window.after.timestamp()) & (at < window.before.timestamp())
        far = np.abs(at - window.centre.timestamp()) if window.kind in MOMENTS else np.zeros(len(at))
        nearest = np.where(inside, np.minimum(nearest, far), nearest)
    return nearest


def asked_first(results: Sequence[Recalled], windows: Sequence[Window]) -> tuple[list[Recalled], int]:
    """The results with those of an asked time in front, and how many these are.

    First comes what was said then, what is nearest to an asked moment before the rest; next what tells of such a day.
    Otherwise the order stays.
    """
    far = distances(windows, np.array([result.episode.at.timestamp() for result in results], dtype=np.float64))
    said = [place for place in np.argsort(far, kind="stable").tolist() if np.isfinite(far[place])]
    others = [place for place in range(len(results)) if not np.isfinite(far[place])]
    telling = [place for place in others if TELLING in results[place].mechanisms]
    rest = [place for place in others if TELLING not in results[place].mechanisms]
    return [results[place] for place in (*said, *telling, *rest)], len(said) + len(telling)


def asked_days(windows: Sequence[Window]) -> tuple[str, ...]:
    """The terms of the days that a query's pinned windows touch."""
    return _day_terms(pinned(windows))


def told_days(text: str, at: datetime, zone: tzinfo) -> tuple[str, ...]:
    """The terms of the days that a message of the time `at` tells of, past or to come, but for its own."""
    told = find_windows(text[:CONSIDERED], at, zone, keep_future=True)
    own = _day_term(at.astimezone(zone).date())
    return tuple(term for term in _day_terms([w for w in told if w.before - w.after <= LONGEST_TOLD]) if term != own)


def referenced_times(text: str, at: datetime, zone: tzinfo) -> tuple[str, ...]:
    """The distinct times that a message of the time `at` speaks of, past or to come, in their order.

    A day is written 2026-07-09, several days 2026-07-06/2026-07-12 (both included), and any other stretch
    2026-07-09T14:00/2026-07-09T16:00, by the clocks of `zone` (ISO 8601).
    """
    named = find_windows(text[:CONSIDERED], at, zone, keep_future=True)
    return tuple(dict.fromkeys(_as_iso(window.after, window.before) for window in named))


def _as_iso(after: datetime, before: datetime) -> str:
    if after.time() == before.time() == time():
        first, last = after.date(), before.date() - timedelta(1)
        return first.isoformat() if first == last else f"{first.isoformat()}/{last.isoformat()}"
    return f"{after:%Y-%m-%dT%H:%M}/{before:%Y-%m-%dT%H:%M}"


def _day_terms(windows: Sequence[Window]) -> tuple[str, ...]:
    days: dict[str, None] = {}
    for window in windows:
        first, last = window.after.date(), (window.before - timedelta(microseconds=1)).date()
        days.update((_day_term(first + timedelta(step)), None) for step in range((last - first).days + 1))
    return tuple(days)


def _day_term(day: date) -> str:
    return f"@{day.isoformat()}"
