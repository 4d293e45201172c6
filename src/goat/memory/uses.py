"""How often what is remembered was recalled: counted after an answer, off its way, in one write for all that came
meanwhile."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from goat.background import Background
from goat.errors import BackendUnavailable
from goat.failpoints import reach
from goat.memory.layer import Layer, layer
from goat.ports.run import Clock, Observer
from goat.ports.stores import Uses
from goat.records.episodes import Use
from goat.records.turns import Notice

TASK: Final = "uses"


class UseCounts:
    """Keeps the counts. One that cannot be written is lost, and told."""

    def __init__(self, uses: Uses, background: Background, clock: Clock, observer: Observer) -> None:
        self._uses = uses
        self._background = background
        self._clock = clock
        self._observer = observer
        self._waiting: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self._writing: asyncio.Task[None] | None = None

    def note(self, owner: str, ids: Iterable[int]) -> None:
        """Count one use of each of these episodes; returns at once."""
        used = set(ids)
        if not used:
            return
        self._waiting[owner].update(used)
        if self._writing is None or self._writing.done():
            self._writing = self._background.start(TASK, self._write())

    async def of(self, owner: str, ids: Sequence[int]) -> Layer[dict[int, Use]]:
        """The uses by episode id, as far as they are written."""
        return await layer(TASK, self._uses.of(owner, ids), dict[int, Use]())

    async def _write(self) -> None:
        while self._waiting:
            owner, times = self._waiting.popitem()
            try:
                await self._uses.count(owner, times, self._clock.now())
            except BackendUnavailable as failure:
                self._observer.notice(Notice("counting what was recalled", str(failure)))
            reach("uses_counted")
