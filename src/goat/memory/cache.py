"""Searches that were made a moment ago, and are not made again while nothing they depend on has changed."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar

T = TypeVar("T")

KEEP_SECONDS: Final = 300.0
MOST: Final = 256
"""How many answers are kept; the oldest goes first."""


def cache_key(*parts: object) -> str:
    """One key for these parts, in which each says its length: no two lists of parts share one."""
    texts = [str(part) for part in parts]
    return "".join(f"{len(text)}:{text}" for text in texts)


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    value: T
    at: datetime


class Cache(Generic[T]):
    """In this process's memory only, so that forgetting need not look for it in a file."""

    def __init__(self, seconds: float = KEEP_SECONDS, most: int = MOST) -> None:
        self._seconds = seconds
        self._most = most
        self._kept: OrderedDict[str, _Kept[T]] = OrderedDict()

    def get(self, key: str, at: datetime) -> T | None:
        """What was kept under the key, unless it is too old at this moment."""
        kept = self._kept.get(key)
        if kept is None or not 0 <= (at - kept.at).total_seconds() < self._seconds:
            return None
        return kept.value

    def put(self, key: str, value: T, at: datetime) -> None:
        """Keep a value."""
        self._kept[key] = _Kept(value, at)
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Keep nothing."""
        self._kept.clear()
