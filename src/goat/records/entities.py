"""What a text names."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class EntityKind(StrEnum):
    """What is named: somebody or something, a place, or an id, a number or an address that stands for one thing."""

    NAME = "name"
    PLACE = "place"
    CODE = "code"


class Entity(NamedTuple):
    """Something that a text names, in the text's own spelling with single blanks."""

    kind: EntityKind
    text: str
