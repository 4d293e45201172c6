"""A clock that stands still until it is moved."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, tzinfo

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class FakeClock:
    """Time in a test's hands. `sleep` moves it and lets other tasks run."""

    def __init__(self, start: datetime = START, zone: tzinfo = UTC) -> None:
        self._now = start
        self._zone = zone
        self._passed = 0.0

    def now(self) -> datetime:
        """The moment that the test has set."""
        return self._now

    def zone(self) -> tzinfo:
        """The zone given at the start."""
        return self._zone

    def monotonic(self) -> float:
        """Seconds moved so far."""
        return self._passed

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)
        self._passed += seconds

    async def sleep(self, seconds: float) -> None:
        """Let time pass and the others run."""
        self.move(seconds)
        await asyncio.sleep(0)
