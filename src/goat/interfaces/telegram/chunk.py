"""One message of a rendered text, as the Bot API takes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

TEXT_UNITS: Final = 4096
"""UTF-16 code units that a message may have."""

ENTITIES: Final = 100
"""Entities that Telegram shows in a message; it ignores those after them."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A formatted range. `type` is the Bot API's word; `offset` and `length` count UTF-16 code units."""

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A file to be sent in the place of a text that is too long to read in a chat."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Chunk:
    """One message: a text with its entities, or a document with an empty text."""

    text: str
    entities: tuple[Entity, ...] = ()
    document: Document | None = None

    def plain(self) -> Self:
        """The same text without formatting, for when Telegram refuses the entities."""
        return replace(self, entities=())


def units(text: str) -> int:
    """The length in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
