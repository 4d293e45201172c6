"""L1, the facts: read each turn through a short cache, so that a slow store costs one turn and not all."""

from __future__ import annotations

from goat.ports.run import Clock
from goat.ports.stores import PermanentStore
from goat.records.memory import Fact

CACHE_SECONDS = 5.0


class Facts:
    """The facts of an owner that hold now."""

    def __init__(self, store: PermanentStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._cached: dict[str, tuple[float, list[Fact]]] = {}

    async def read(self, owner: str) -> list[Fact]:
        """The facts by key. Raises `BackendUnavailable` when they were never read and cannot be now."""
        cached = self._cached.get(owner)
        now = self._clock.monotonic()
        if cached is not None and now - cached[0] < CACHE_SECONDS:
            return cached[1]
        facts = await self._store.facts(owner)
        self._cached[owner] = (now, facts)
        return facts

    def forget_cached(self, owner: str) -> None:
        """Read the store again at the next turn."""
        self._cached.pop(owner, None)
