"""How long each chat is to be left alone, because Telegram said so."""

from __future__ import annotations

import random
from typing import Final

from goat.ports.run import Clock

LONGEST: Final = 60.0
"""Seconds between two tries, at most."""


class Pauses:
    """One for each chat, so that a chat that waits holds up no other."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[int, float] = {}

    def hold(self, chat: int, seconds: float) -> None:
        """Nothing is sent to this chat for some seconds."""
        self._until[chat] = max(self._until.get(chat, 0.0), self._clock.monotonic() + seconds)

    async def over(self, chat: int) -> None:
        """Wait until the chat may be written to."""
        while (until := self._until.get(chat)) is not None:
            left = until - self._clock.monotonic()
            if left <= 0:
                self._until.pop(chat, None)
                return
            await self._clock.sleep(left)

    async def back_off(self, failures: int) -> None:
        """Wait before the next try: about 1, 2, 4 … seconds, never all at the same moment."""
        await self._clock.sleep(min(LONGEST, 2.0 ** min(failures - 1, 6)) * random.uniform(0.75, 1.25))

    @property
    def left(self) -> dict[int, float]:
        """The chats that wait, and for how many seconds."""
        now = self._clock.monotonic()
        return {chat: until - now for chat, until in self._until.items() if until > now}
