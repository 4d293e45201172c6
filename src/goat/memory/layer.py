"""A layer that may be lost without taking the turn with it."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Generic, TypeVar

from goat.errors import BackendUnavailable
from goat.records.search import Lost

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Layer(Generic[T]):
    """What a layer gave, or its empty value together with the loss."""

    value: T
    lost: Lost | None = None


async def layer(name: str, work: Awaitable[T], otherwise: T) -> Layer[T]:
    """Wait for `work`; a backend that is away makes it `otherwise`."""
    try:
        return Layer(await work)
    except BackendUnavailable as failure:
        return Layer(otherwise, Lost(name, str(failure)))
