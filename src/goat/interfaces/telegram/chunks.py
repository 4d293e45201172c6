"""Cuts a rich text into messages: where a paragraph ends, or a line, or a word, and never inside a grapheme cluster."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from wcwidth import grapheme_boundary_before

from goat.interfaces.telegram.chunk import ENTITIES, Chunk
from goat.interfaces.telegram.entities import entities_of
from goat.interfaces.telegram.rich_text import DETECTED, RichText, Run, Style

_BLANK: Final = " \n"
_EMPTY_LOOKING: Final = "\u2800\u3164\uffa0\ufffc"

_PARAGRAPH_FROM: Final = 0.3
"""How full a message must be to end with a paragraph; with a line or a word it must be half full."""

_LINE_FROM: Final = 0.5


def chunks_of(rich: RichText, limit: int) -> Iterator[Chunk]:
    """The messages that show a text, each of at most `limit` UTF-16 units and 100 entities; none without content."""
    cutter = _Cutter(rich, limit)
    position = 0
    while (position := cutter.beginning(position)) < len(cutter.text):
        end = cutter.end(position)
        chunk = cutter.chunk(position, end)
        if is_visible(chunk.text):
            yield chunk
        position = end


def is_visible(text: str) -> bool:
    """Whether there is anything to be seen; Telegram refuses messages in which there is not."""
    return any(unicodedata.category(one)[0] not in "ZC" and one not in _EMPTY_LOOKING for one in text)


class _Cutter:
    def __init__(self, rich: RichText, limit: int) -> None:
        self.text = "".join(run.text for run in rich.runs)
        self._runs = rich.runs
        self._limit = limit
        self._starts = list(accumulate((len(run.text) for run in rich.runs), initial=0))
        self._units = list(accumulate((1 + (one > "\uffff") for one in self.text), initial=0))

    def beginning(self, position: int) -> int:
        """Where the next message begins: after a line end in code, else after everything blank."""
        text = self.text
        if 0 < position < len(text) and text[position] == "\n" and self._style(position).in_code:
            return position + 1
        while position < len(text) and text[position] in _BLANK and not self._style(position).in_code:
            position += 1
        return position

    def end(self, begin: int) -> int:
        """Where the message that begins here ends: as far as it holds, at the best place there is."""
        most = self._fits(begin)
        if most < len(self.text):
            most = self._best(begin, most)
        while len(entities := entities_of(self._part(begin, most))) > ENTITIES:
            offset = self._units[begin] + entities[ENTITIES].offset
            most = self._best(begin, bisect_right(self._units, offset) - 1)
        return most

    def chunk(self, begin: int, end: int) -> Chunk:
        """The message between two places; Telegram drops blanks at its end, so they are left out."""
        text = self.text[begin:end].rstrip(_BLANK)
        entities = entities_of(self._part(begin, begin + len(text)))
        return Chunk(text, tuple(one for one in entities if one.type != DETECTED))

    def _style(self, position: int) -> Style:
        return self._runs[bisect_right(self._starts, position) - 1].style

    def _part(self, begin: int, end: int) -> list[Run]:
        first, last = bisect_right(self._starts, begin) - 1, bisect_right(self._starts, end - 1)
        return [
            Run(self.text[max(begin, start) : min(end, start + len(run.text))], run.style)
            for run, start in zip(self._runs[first:last], self._starts[first:last], strict=True)
        ]

    def _fits(self, begin: int) -> int:
        return max(begin + 1, bisect_right(self._units, self._units[begin] + self._limit) - 1)

    def _best(self, begin: int, most: int) -> int:
        """The best place for a cut, at most at `most`."""
        filled = most - begin
        for separator, least in (("\n\n", _PARAGRAPH_FROM), ("\n", _LINE_FROM), (" ", _LINE_FROM)):
            cut = self._last(separator, begin + int(filled * least), most)
            if cut is not None:
                return cut
        cluster = grapheme_boundary_before(self.text, most + 1)
        return cluster if begin < cluster else most

    def _last(self, separator: str, least: int, most: int) -> int | None:
        """The last place behind `least` where a separator stands that may be cut at."""
        place = most + len(separator)
        while (place := self.text.rfind(separator, least + 1, place)) > 0:
            in_code = self._style(place).in_code
            if not self._style(place - 1).heading and not (in_code and separator == "\n\n"):
                return place
        return None
