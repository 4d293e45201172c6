"""Runs of styles as the entities of one message, in the form in which Telegram keeps them.

Telegram cuts bold, italic and strikethrough at the edges of links, code and quotes and where another of the three
begins. Cutting them here as well tells how many entities a message really has.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Final, TypeVar

from goat.interfaces.telegram.chunk import Entity, units
from goat.interfaces.telegram.rich_text import DETECTED, Run, Style

Key = TypeVar("Key")

_STYLES: Final = ("bold", "italic", "strikethrough")
_RANK: Final = {name: rank for rank, name in enumerate(["blockquote", "pre", "code", "text_link", DETECTED, *_STYLES])}


def entities_of(runs: Sequence[Run]) -> list[Entity]:
    """The entities of a message with these runs, and those that Telegram will add."""
    offsets = list(accumulate((units(run.text) for run in runs), initial=0))

    def stretches(key_of: Callable[[Style], Key | None]) -> Iterator[tuple[Key, int, int]]:
        """Each stretch of neighbours with the same key, and where it begins and ends; without a key there is none."""
        begin = 0
        for key, group in groupby(runs, lambda run: key_of(run.style)):
            end = begin + sum(1 for _ in group)
            if key is not None:
                yield key, offsets[begin], offsets[end]
            begin = end

    found = [Entity("blockquote", begin, end - begin) for _, begin, end in stretches(lambda style: style.quote)]
    found += [
        Entity(frame.type, begin, end - begin, frame.url, frame.language)
        for frame, begin, end in stretches(lambda style: style.frame)
    ]
    styled = [(name, begin, end) for name in _STYLES for _, begin, end in stretches(_shows(name))]
    beginnings = sorted({begin for _, begin, _ in styled})
    for name, begin, end in styled:
        inner = beginnings[bisect_right(beginnings, begin) : bisect_left(beginnings, end)]
        found += [Entity(name, left, right - left) for left, right in pairwise([begin, *inner, end])]
    return sorted(found, key=lambda one: (one.offset, -one.length, _RANK[one.type]))


def _shows(name: str) -> Callable[[Style], tuple[object, object] | None]:
    """Where a style shows: what it stands in, so that it ends where that does."""

    def within(style: Style) -> tuple[object, object] | None:
        return (style.quote, style.frame) if getattr(style, name) and not style.in_code else None

    return within
