"""How long a turn may work: a limit on a block of code that stands still while a person is being waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Self


class Deadline:
    """The seconds that a block has left. `within` gives one; it is used by one task at a time."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self._limit = limit

    @classmethod
    @asynccontextmanager
    async def within(cls, seconds: float) -> AsyncIterator[Self]:
        """Cancel the block after so many seconds and raise `TimeoutError` in its place; pauses do not count."""
        async with asyncio.timeout(seconds) as limit:
            yield cls(limit)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let no time pass inside; afterwards the block has as many seconds left as before."""
        until = self._limit.when()
        if until is None or self._limit.expired():
            yield
            return
        clock = asyncio.get_running_loop().time
        left = until - clock()
        self._limit.reschedule(None)
        try:
            yield
        finally:
            self._limit.reschedule(clock() + left)
