"""The times that a query names, as the pipeline uses them.

A short explicit window ("yesterday at three", "on 9 July", "last week") is a group of candidates of its own that the
cutoff cannot erase. Every window, a bare month or weekday too, lifts what was said in it and soon after: people tell of
a thing when it has happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo

import numpy as np
from numpy.typing import NDArray

from goat.records.search import Floats, Where
from goat.retrieval.when import Window, find_windows

CONSIDERED = 2000
"""Characters of a message in which times are looked for; the question stands at its beginning or is all of it."""

LONGEST_PINNED = timedelta(days=32)
"""A longer window says too little to keep whatever was said in it."""

DAY = 86400.0
FINE_KINDS = frozenset({"time", "part", "day", "weekend", "holiday"})


def windows_of(text: str, at: datetime, zone: tzinfo) -> tuple[Window, ...]:
    """The windows that the beginning of a message names, the past preferred."""
    return tuple(find_windows(text[:CONSIDERED], at, zone))


def is_pinned(window: Window) -> bool:
    """Whether results from the window survive the cutoff."""
    return window.explicit and window.before - window.after <= LONGEST_PINNED


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


def distance(windows: Sequence[Window], at: datetime) -> float:
    """Seconds from a moment to the nearest asked moment."""
    return min(abs((at - window.centre).total_seconds()) for window in windows)
