"""Text with formatting, independent of messages and their limits: runs of characters that share a style."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from goat.interfaces.telegram.chunk import Document

_DETECTED: Final = re.compile(r"https?://\S+|[\w.+-]+@[\w-]+\.\w+|(?<!\w)[@#]\w+|(?<![\w/<>])/\w+(?!\w)")
"""What Telegram marks by itself. It counts towards the entities of a message, so it is kept account of."""


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


class Writer:
    """Collects rich texts and the documents between them.

    A new line begins with the indentation of the list or quote that is being written.
    """

    def __init__(self) -> None:
        self.parts: list[RichText | Document] = []
        self.style = PLAIN
        self._indents: list[str] = []
        self._at_start = True
        self._numbers = 0

    @contextmanager
    def styled(self, **changes: Any) -> Iterator[None]:
        """Write in a changed style."""
        before = self.style
        self.style = replace(before, **changes)
        try:
            yield
        finally:
            self.style = before

    @contextmanager
    def framed(self, kind: str, **details: Any) -> Iterator[None]:
        """Write inside one frame of its own; inside another frame there is none."""
        with self.styled(frame=self.style.frame or Frame(kind, self.number(), **details)):
            yield

    @contextmanager
    def indented(self, prefix: str) -> Iterator[None]:
        """Begin lines with a prefix beside the ones that are there already."""
        self._indents.append(prefix)
        try:
            yield
        finally:
            self._indents.pop()

    def number(self) -> int:
        """A number that nothing else has."""
        self._numbers += 1
        return self._numbers

    def text(self, text: str) -> None:
        """Write one line's text, or code as it is."""
        if self.style.frame is not None:
            self._add(text, self.style)
            return
        end = 0
        for found in _DETECTED.finditer(text):
            self._add(text[end : found.start()], self.style)
            self._add(found[0], replace(self.style, frame=Frame("detected", self.number())))
            end = found.end()
        self._add(text[end:], self.style)

    def line(self) -> None:
        """Begin a new line."""
        self._add("\n" + "".join(self._indents), replace(self.style, frame=None))

    def block(self, blank: bool) -> None:
        """Begin a block on a line of its own, after a blank one if wanted; right after a bullet it begins there."""
        if not self._at_start:
            self._add("\n" if blank else "", self._outside())
            self._add("\n" + "".join(self._indents), self._outside())
        self._at_start = True

    def bullet(self, mark: str) -> None:
        """Write what stands before a list item."""
        self._add(mark, self._outside())
        self._at_start = True

    def attach(self, document: Document) -> None:
        """Put a file between what was written and what comes."""
        self.parts.append(document)
        self._at_start = True

    def _outside(self) -> Style:
        return Style(quote=self.style.quote)

    def _add(self, text: str, style: Style) -> None:
        if not text:
            return
        if not self.parts or isinstance(self.parts[-1], Document):
            self.parts.append(RichText())
        current = self.parts[-1]
        assert isinstance(current, RichText)
        current.add(text, style)
        self._at_start = False
