"""The WorkingStore port in this process's memory: the reference for its contract."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from goat.ports.run import Clock
from goat.records.memory import Versioned


@dataclass(frozen=True, slots=True)
class _Value:
    versioned: Versioned
    expires_at: datetime | None


class MemoryWorkingStore:
    """See the port `WorkingStore`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._values: dict[str, _Value] = {}
        self._lists: defaultdict[str, list[str]] = defaultdict(list)

    async def get(self, key: str) -> Versioned | None:
        """The value and its version."""
        return self._live(key)

    async def put(
        self, key: str, body: str, ttl_seconds: float | None = None, if_version: int | None = None
    ) -> int | None:
        """Store a value; None when `if_version` does not match."""
        live = self._live(key)
        version = 0 if live is None else live.version
        if if_version not in (None, version):
            return None
        expires_at = None if ttl_seconds is None else self._clock.now() + timedelta(seconds=ttl_seconds)
        self._values[key] = _Value(Versioned(body, version + 1), expires_at)
        return version + 1

    async def append(self, key: str, items: Sequence[str], keep: int) -> int:
        """Append to a list and keep its newest `keep` items."""
        longer = [*self._lists[key], *items]
        self._lists[key] = longer[max(len(longer) - keep, 0) :]
        return len(self._lists[key])

    async def tail(self, key: str, count: int) -> list[str]:
        """The newest `count` items of a list, oldest first."""
        items = self._lists.get(key, [])
        return items[max(len(items) - max(count, 0), 0) :]

    async def claim(self, key: str, ttl_seconds: float) -> bool:
        """Set the key, with an empty value, if it is absent."""
        return await self.put(key, "", ttl_seconds, if_version=0) is not None

    async def delete(self, key: str) -> None:
        """Remove the value and the list of this key."""
        self._values.pop(key, None)
        self._lists.pop(key, None)

    def _live(self, key: str) -> Versioned | None:
        value = self._values.get(key)
        if value is None or (value.expires_at is not None and value.expires_at <= self._clock.now()):
            return None
        return value.versioned
