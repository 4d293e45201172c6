"""Receiving: an update is committed to the inbox, and only then is Telegram told that it came.

The first poll of a process asks without an offset, so whatever was not confirmed comes again and the inbox recognises
what it has; no offset is kept, and a bot with another numbering starts like any other.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, Protocol

from goat.errors import BackendUnavailable
from goat.failpoints import reach
from goat.interfaces.telegram.failures import BotApiError, OtherPoller, SlowDown, TokenRefused
from goat.interfaces.telegram.status import State, Status
from goat.ports.edges import Inbox
from goat.ports.run import Clock
from goat.records.arrivals import Arrival, NewArrival

KINDS: Final = ("message", "edited_message", "callback_query", "my_chat_member")
"""The kinds of updates that are asked for."""

RENUMBERED: Final = timedelta(days=6)
"""After a week without updates Telegram may begin a new numbering, so an older offset is given up."""

CONFLICT_SECONDS: Final = 30.0
_LONGEST: Final = 60.0
_REFUSALS: Final = 2


class Updates(Protocol):
    """What is needed of the Bot API. The calls raise `BotApiError`."""

    async def updates(self, offset: int | None, wait: float, kinds: Sequence[str]) -> list[dict[str, Any]]:
        """The next updates."""
        ...

    async def reopen_polling(self) -> None:
        """Make the connection anew."""
        ...


class Intake:
    """Commits updates and hands the new ones on, in their order."""

    def __init__(self, inbox: Inbox, channel: str, accept: Callable[[Arrival], None]) -> None:
        self._inbox = inbox
        self._channel = channel
        self._accept = accept

    async def left(self) -> int:
        """Hand on what an earlier process did not finish; how much that is. Raises `BackendUnavailable`."""
        waiting = await self._inbox.waiting(self._channel)
        for arrival in waiting:
            self._accept(arrival)
        return len(waiting)

    async def take(self, updates: Sequence[Mapping[str, Any]]) -> None:
        """Commit raw updates; those without a number are none. Raises `BackendUnavailable`."""
        new = [NewArrival(number, one) for one in updates if (number := number_of(one)) is not None]
        for arrival in await self._inbox.take(self._channel, new):
            self._accept(arrival)


def number_of(update: Mapping[str, Any]) -> int | None:
    """The number of an update, None where it has none."""
    number = update.get("update_id")
    return number if isinstance(number, int) and not isinstance(number, bool) else None


class Polling:
    """Asks for updates until it is cancelled. `silence` is how many seconds may pass without a poll that ends well
    before the connection is made anew."""

    def __init__(
        self, client: Updates, intake: Intake, clock: Clock, status: Status, *, wait: float, silence: float
    ) -> None:
        self._client = client
        self._intake = intake
        self._clock = clock
        self._status = status
        self._wait = wait
        self._silence = silence
        self._next: int | None = None
        self._next_at = clock.now()
        self._opened = clock.monotonic()
        self._failures = 0
        self._conflicts = 0
        self._refusals = 0

    async def run(self) -> None:
        """Receive. Raises `TokenRefused` when Telegram refuses the token twice in a row."""
        while True:
            try:
                updates = await self._polled()
                if updates is not None:
                    await self._receive(updates)
            except TokenRefused as refused:
                self._refusals += 1
                self._status.troubled(State.REFUSED, refused.reason)
                if self._refusals >= _REFUSALS:
                    raise
                await self._clock.sleep(self._pause())
            except OtherPoller as other:
                await self._conflict(other)
            except SlowDown as busy:
                self._status.troubled(State.WAITING, busy.reason)
                await self._clock.sleep(busy.seconds)
            except (BotApiError, BackendUnavailable) as failure:
                self._status.troubled(State.WAITING, str(failure))
                await self._clock.sleep(self._pause())
                if self._patience <= 0:
                    await self._reopen()

    @property
    def _patience(self) -> float:
        """The seconds until the connection is made anew."""
        return self._silence - min(self._status.silence, self._clock.monotonic() - self._opened)

    async def _polled(self) -> list[dict[str, Any]] | None:
        """What one poll brings; None where it took so long that the connection was made anew."""
        if self._next is not None and self._clock.now() - self._next_at > RENUMBERED:
            self._next = None
        poll = asyncio.ensure_future(self._client.updates(self._next, self._wait, KINDS))
        watch = asyncio.ensure_future(self._clock.sleep(max(self._patience, 1.0)))
        try:
            await asyncio.wait({poll, watch}, return_when=asyncio.FIRST_COMPLETED)
            if poll.done():
                return poll.result()
        finally:
            for one in (poll, watch):
                one.cancel()
            await asyncio.gather(poll, watch, return_exceptions=True)
        await self._reopen()
        return None

    async def _receive(self, updates: Sequence[Mapping[str, Any]]) -> None:
        reach("telegram_polled")
        await self._intake.take(updates)
        reach("telegram_taken")
        numbers = [number for one in updates if (number := number_of(one)) is not None]
        if numbers:
            self._next, self._next_at = max(numbers) + 1, self._clock.now()
        self._failures = self._conflicts = self._refusals = 0
        self._status.polled()

    async def _conflict(self, other: OtherPoller) -> None:
        """Another process polls. Right after a restart that may be the one before, whose last poll still stands."""
        self._conflicts += 1
        lasting = self._conflicts > 3
        self._status.troubled(State.CONFLICT if lasting else State.WAITING, other.reason)
        await self._clock.sleep(CONFLICT_SECONDS if lasting else 5.0 * self._conflicts)

    def _pause(self) -> float:
        """The seconds until the next try: twice as long each time, and never the same for two bots."""
        self._failures += 1
        return min(2.0 ** min(self._failures, 8), _LONGEST) * random.uniform(0.5, 1.0)

    async def _reopen(self) -> None:
        self._status.troubled(State.WAITING, f"no call ended well for {self._status.silence:.0f} s")
        self._opened = self._clock.monotonic()
        await self._client.reopen_polling()
