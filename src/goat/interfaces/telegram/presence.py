"""Shows that GOAT is at work: "typing…" above a chat, from the begin of a turn to its end, whatever ends it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.failures import BotApiError, Refused, SlowDown, TokenRefused
from goat.ports.run import Clock

EVERY: Final = 4.0
"""Seconds between two actions; Telegram shows one for five."""


class Presence:
    """One task for each place in which something is being done; what fails here changes nothing else."""

    def __init__(self, client: TelegramClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._at_work: Counter[Address] = Counter()
        self._paused: Counter[Address] = Counter()
        self._tasks: dict[Address, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def typing(self, address: Address) -> AsyncIterator[None]:
        """Show it inside the block; of several blocks for one place the last one ends it."""
        self._at_work[address] += 1
        if address not in self._tasks:
            self._tasks[address] = asyncio.create_task(self._show(address), name=f"typing {address.name}")
        try:
            yield
        finally:
            self._at_work[address] -= 1
            if not self._at_work[address]:
                del self._at_work[address]
                task = self._tasks.pop(address)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    @contextmanager
    def paused(self, address: Address) -> Iterator[None]:
        """Show nothing inside the block, as a person is being waited for."""
        self._paused[address] += 1
        try:
            yield
        finally:
            self._paused[address] -= 1
            if not self._paused[address]:
                del self._paused[address]

    async def _show(self, address: Address) -> None:
        while True:
            pause = EVERY
            if not self._paused[address]:
                try:
                    await self._client.send_action(address)
                except SlowDown as slow:
                    pause = max(EVERY, slow.seconds)
                except (Refused, TokenRefused):
                    return
                except BotApiError:
                    pass  # the next one may get through; the turn does not depend on it
            await self._clock.sleep(pause)
