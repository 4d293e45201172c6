"""The queue of updates: what is confirmed goes, what is not comes again, and one poller at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from goat.testing.bot_api.errors import conflict
from goat.testing.bot_api.messages import Json

KEPT: Final = timedelta(hours=24)
"""How long Telegram keeps an update that nobody fetches."""

ON_REQUEST: Final = ("message_reaction", "message_reaction_count", "chat_member")
"""Kinds that are delivered only to a bot that names them."""


@dataclass(frozen=True, slots=True)
class Update:
    """One update that waits."""

    id: int
    at: datetime
    body: Json

    @property
    def kind(self) -> str:
        """The field that it carries beside its id."""
        return next(name for name in self.body if name != "update_id")


class UpdateQueue:
    """Updates that are not confirmed yet, oldest first. `now` is the time by which they expire."""

    def __init__(self, first_id: int, now: Callable[[], datetime]) -> None:
        self._next_id = first_id
        self._now = now
        self._waiting: list[Update] = []
        self._arrival = asyncio.Event()
        self._poller: asyncio.Future[None] | None = None
        self.allowed: Collection[str] | None = None
        """The kinds that the bot asked for; None stands for all but the ones on request."""

    @property
    def waiting(self) -> tuple[Update, ...]:
        """What would be delivered now."""
        oldest = self._now() - KEPT
        self._waiting = [update for update in self._waiting if update.at > oldest]
        return tuple(self._waiting)

    def add(self, body: Json, update_id: int | None = None) -> int | None:
        """Put an update at the end and return its id; None when the bot does not want its kind."""
        kind = next(name for name in body if name != "update_id")
        if not (kind in self.allowed if self.allowed else kind not in ON_REQUEST):
            return None
        number = self._next_id if update_id is None else update_id
        self._next_id = max(self._next_id, number + 1)
        self._waiting.append(Update(number, self._now(), {"update_id": number, **body}))
        self._arrival.set()
        return number

    def confirm(self, offset: int) -> None:
        """Forget what lies before `offset`; a negative one counts from the end."""
        if offset < 0:
            self._waiting = list(self.waiting)[offset:]
        elif offset > 0:
            self._waiting = [update for update in self.waiting if update.id >= offset]

    def drop(self) -> None:
        """Forget everything."""
        self._waiting = []

    @property
    def polled(self) -> bool:
        """Whether a call waits here for an update."""
        return self._poller is not None and not self._poller.done()

    async def fetch(self, offset: int, limit: int, timeout: float, ended: asyncio.Event) -> list[Json]:
        """Confirm, then give what waits, or wait for it up to `timeout` seconds or until `ended` is set.

        Raises `ApiError` 409 when another call comes meanwhile: the older one loses.
        """
        if self._poller is not None and not self._poller.done():
            self._poller.set_result(None)
        usurped = self._poller = asyncio.get_running_loop().create_future()
        self.confirm(offset)
        deadline = asyncio.get_running_loop().time() + timeout
        try:
            while not usurped.done():
                left = deadline - asyncio.get_running_loop().time()
                if self.waiting or left <= 0 or ended.is_set():
                    return [update.body for update in self.waiting[:limit]]
                await self._news(usurped, ended, left)
        finally:
            if self._poller is usurped:
                self._poller = None
        raise conflict("terminated by other getUpdates request; make sure that only one bot instance is running")

    async def _news(self, usurped: asyncio.Future[None], ended: asyncio.Event, timeout: float) -> None:
        self._arrival.clear()
        waits = [asyncio.create_task(self._arrival.wait()), asyncio.create_task(ended.wait())]
        either: list[asyncio.Future[Any]] = [*waits, usurped]
        try:
            await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
