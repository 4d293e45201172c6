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


class HeldClock(FakeClock):
    """A clock whose sleepers wake only when the test moves it far enough."""

    def __init__(self, start: datetime = START, zone: tzinfo = UTC) -> None:
        super().__init__(start, zone)
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        """Wait until so many seconds were moved."""
        sleeper = (self.monotonic() + seconds, asyncio.get_running_loop().create_future())
        self._sleepers.append(sleeper)
        try:
            await sleeper[1]
        finally:
            self._sleepers.remove(sleeper)

    def move(self, seconds: float) -> None:
        """Let time pass and wake who slept long enough."""
        super().move(seconds)
        for until, sleeper in self._sleepers:
            if until <= self.monotonic() + 1e-9 and not sleeper.done():
                sleeper.set_result(None)

    @property
    def waits(self) -> list[float]:
        """For how many more seconds each sleeper sleeps, the next one to wake first."""
        return sorted(until - self.monotonic() for until, sleeper in self._sleepers if not sleeper.done())
