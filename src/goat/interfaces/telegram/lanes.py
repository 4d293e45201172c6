"""Lanes: what belongs to one place is handled in its order, other places beside it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from goat.ports.run import Clock

T = TypeVar("T")


class Lane(Generic[T]):
    """What waits in one place, oldest first."""

    def __init__(self, name: str, clock: Clock) -> None:
        self.name = name
        self.items: deque[T] = deque()
        self._clock = clock
        self._news = asyncio.Event()
        self._newest = 0.0

    @property
    def quiet(self) -> float:
        """The seconds since the newest came."""
        return self._clock.monotonic() - self._newest

    def add(self, item: T, first: bool = False) -> None:
        """Put something at the end, or before all others."""
        self.items.insert(0 if first else len(self.items), item)
        self._newest = self._clock.monotonic()
        self._news.set()

    def replace(self, places: slice, item: T) -> None:
        """Put something in the place of what waits."""
        items = list(self.items)
        items[places] = [item]
        self.items = deque(items)
        self._news.set()

    async def more(self, seconds: float) -> None:
        """Wait until something comes, at most some seconds."""
        self._news.clear()
        waits = [asyncio.ensure_future(self._news.wait()), asyncio.ensure_future(self._clock.sleep(seconds))]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()
            await asyncio.gather(*waits, return_exceptions=True)


class Lanes(Generic[T]):
    """Runs `work` on a lane again and again while something waits in it. `work` takes at least one item out.

    What `work` raises is told to `failed`, and the lane goes on.
    """

    def __init__(
        self, clock: Clock, work: Callable[[Lane[T]], Awaitable[None]], failed: Callable[[str, BaseException], None]
    ) -> None:
        self._clock = clock
        self._work = work
        self._failed = failed
        self._lanes: dict[str, Lane[T]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._closing = False

    def put(self, name: str, item: T, first: bool = False) -> Lane[T]:
        """Let something wait in a lane."""
        lane = self._lanes.setdefault(name, Lane(name, self._clock))
        lane.add(item, first)
        if name not in self._tasks and not self._closing:
            self._tasks[name] = asyncio.create_task(self._run(lane), name=f"lane {name}")
        return lane

    def find(self, name: str) -> Lane[T] | None:
        """The lane of a place, None where nothing waits or is worked on."""
        return self._lanes.get(name)

    @property
    def waiting(self) -> int:
        """How many items wait in all lanes."""
        return sum(len(lane.items) for lane in self._lanes.values())

    async def close(self, seconds: float) -> None:
        """Begin nothing more; what is being worked on has some seconds to end, then it is cancelled."""
        self._closing = True
        tasks = list(self._tasks.values())
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, lane: Lane[T]) -> None:
        try:
            while lane.items and not self._closing:
                before = len(lane.items)
                try:
                    await self._work(lane)
                except Exception as fault:  # noqa: BLE001 - one item that cannot be handled must not end its lane
                    self._failed(lane.name, fault)
                    if len(lane.items) == before:
                        lane.items.popleft()
        finally:
            del self._tasks[lane.name]
            if not lane.items:
                del self._lanes[lane.name]
