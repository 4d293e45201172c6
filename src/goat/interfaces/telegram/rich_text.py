"""Text with formatting, independent of messages and their limits: runs of characters that share a style."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, Final

from goat.interfaces.telegram.chunk import Document

DETECTED: Final = "detected"
"""The type of a frame that Telegram puts there by itself."""

_INNER_QUOTE: Final = "│ "
_DETECTED: Final = re.compile(
    r"https?://\S+"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w.-])(?:[\w-]+\.)+[A-Za-z]{2,}\b"
    r"|(?<!\w)[@#]\w+"
    r"|(?<![\w/<>])/\w+"
)
"""What Telegram may mark by itself. That counts towards the entities of a message, so it is kept account of."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A range that Telegram keeps whole and that holds no other: `code`, `pre`, `text_link`, or one it detects.

    `number` tells neighbours apart.
    """

    type: str
    number: int
    url: str | None = None
    language: str | None = None

    @property
    def is_code(self) -> bool:
        """Whether blanks at its ends mean something and no style shows in it."""
        return self.type in ("code", "pre")


@dataclass(frozen=True, slots=True)
class Style:
    """How a run looks. `quote` is the number of the quote it stands in; `heading` keeps it with what follows."""

    bold: bool = False
    italic: bool = False
    strikethrough: bool = False
    heading: bool = False
    quote: int | None = None
    frame: Frame | None = None

    @property
    def in_code(self) -> bool:
        """Whether every blank counts."""
        return self.frame is not None and self.frame.is_code


PLAIN: Final = Style()


@dataclass(frozen=True, slots=True)
class Run:
    """Characters of one style."""

    text: str
    style: Style


@dataclass(slots=True)
class RichText:
    """Runs in their order; neighbours differ in style."""

    runs: list[Run] = field(default_factory=list)

    def add(self, text: str, style: Style) -> None:
        """Append characters."""
        if self.runs and self.runs[-1].style == style:
            self.runs[-1] = Run(self.runs[-1].text + text, style)
        elif text:
            self.runs.append(Run(text, style))


class _Place(Enum):
    """Where the writer stands, which decides how the next block begins."""

    NEW_LINE = auto()
    AFTER_MARK = auto()
    IN_TEXT = auto()


class Writer:
    """Collects rich texts and the documents between them.

    A new line begins with the indentation of the list or quote that is being written.
    """

    def __init__(self) -> None:
        self.parts: list[RichText | Document] = []
        self._style = PLAIN
        self._indents: list[str] = []
        self._place = _Place.NEW_LINE
        self._numbers = 0

    @contextmanager
    def styled(self, **changes: Any) -> Iterator[None]:
        """Write in a changed style."""
        before = self._style
        self._style = replace(before, **changes)
        try:
            yield
        finally:
            self._style = before

    @contextmanager
    def framed(self, kind: str, **details: str) -> Iterator[None]:
        """Write inside a frame of its own; inside another frame there is none."""
        with self.styled(frame=self._style.frame or Frame(kind, self._number(), **details)):
            yield

    @contextmanager
    def quoted(self) -> Iterator[None]:
        """Write inside a quote that begins here; inside another quote it is a bar in front of each line."""
        if self._style.quote is not None:
            self.mark(_INNER_QUOTE)
            with self.indented(_INNER_QUOTE):
                yield
        else:
            self._place = _Place.NEW_LINE if self._place is _Place.IN_TEXT else self._place
            with self.styled(quote=self._number()):
                yield

    @contextmanager
    def indented(self, prefix: str) -> Iterator[None]:
        """Begin lines with a prefix after those that are there already."""
        self._indents.append(prefix)
        try:
            yield
        finally:
            self._indents.pop()
            written = self.parts and not isinstance(self.parts[-1], Document)
            self._place = _Place.IN_TEXT if written else _Place.NEW_LINE

    def text(self, text: str) -> None:
        """Write text; a line end in it is one, unless it stands in a frame."""
        if self._style.frame is not None:
            self._add(text, self._style)
            return
        for number, line in enumerate(text.split("\n")):
            if number:
                self.line()
            self._plain_line(line)

    def line(self) -> None:
        """Begin a new line."""
        self._add("\n" + "".join(self._indents), replace(self._style, frame=None))

    def block(self, blank: bool, own_line: bool = False) -> None:
        """Begin a block, if wanted after a blank line; right after a mark it begins there, except on its own line."""
        indent = "" if own_line else "".join(self._indents)
        if self._place is _Place.IN_TEXT or (own_line and self._place is _Place.AFTER_MARK):
            self._add(("\n\n" if blank else "\n") + indent, self._outside())

    def mark(self, mark: str) -> None:
        """Write what stands in front of a list item or line."""
        self._add(mark, self._outside())
        self._place = _Place.AFTER_MARK

    def attach(self, document: Document) -> None:
        """Put a file between what was written and what comes."""
        self.parts.append(document)
        self._place = _Place.NEW_LINE

    def _plain_line(self, text: str) -> None:
        end = 0
        for found in _DETECTED.finditer(text):
            self._add(text[end : found.start()], self._style)
            self._add(found[0], replace(self._style, frame=Frame(DETECTED, self._number())))
            end = found.end()
        self._add(text[end:], self._style)

    def _outside(self) -> Style:
        return Style(quote=self._style.quote)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _add(self, text: str, style: Style) -> None:
        if not text:
            return
        if not self.parts or isinstance(self.parts[-1], Document):
            self.parts.append(RichText())
        current = self.parts[-1]
        assert isinstance(current, RichText)
        current.add(text, style)
        self._place = _Place.IN_TEXT
