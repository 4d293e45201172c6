"""The handling of what arrived: each delivery comes to an end, and none is tried for ever."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from goat.errors import BackendUnavailable
from goat.failpoints import reach
from goat.ports.edges import Inbox
from goat.ports.run import Clock
from goat.records.arrivals import Arrival
from goat.records.turns import Notice

TRIES: Final = 3
"""How often a delivery is tried before it is put aside, counted over restarts."""

PARKED: Final = "parked"
_LONGEST: Final = 60.0
_SUBJECT: Final = "Telegram"


class Handling:
    """Begins, tries and ends deliveries in the inbox. `notice` is told what went wrong."""

    def __init__(self, inbox: Inbox, clock: Clock, notice: Callable[[Notice], None]) -> None:
        self._inbox = inbox
        self._clock = clock
        self._notice = notice

    async def run(
        self,
        arrivals: Sequence[Arrival],
        work: Callable[[], Awaitable[str]],
        give_up: Callable[[], Awaitable[None]],
    ) -> None:
        """Handle deliveries as one. `work` gives the outcome; more deliveries may be added while it runs.

        What fails is tried again, at most three times in all; then `give_up` tells the person. While the journal is
        away it waits. When it is cancelled, the deliveries wait for the next start.
        """
        waits = 0
        while True:
            try:
                if await self._tried(arrivals, work, give_up):
                    return
            except BackendUnavailable as away:
                self._notice(Notice(_SUBJECT, str(away)))
                waits += 1
                await self._clock.sleep(min(2.0**waits, _LONGEST))

    async def _tried(
        self, arrivals: Sequence[Arrival], work: Callable[[], Awaitable[str]], give_up: Callable[[], Awaitable[None]]
    ) -> bool:
        """One try; whether the handling ended."""
        tries = await self._inbox.begin([one.id for one in arrivals])
        reach("arrival_begun")
        if tries > TRIES:
            await self._park(arrivals, give_up, "the process ended each time")
            return True
        try:
            outcome = await work()
        except BackendUnavailable:
            raise
        except Exception as fault:  # noqa: BLE001 - whatever a delivery breaks, the next one is to be handled
            told = f"{type(fault).__name__}: {fault}"
            self._notice(Notice(_SUBJECT, f"the update {arrivals[0].number} could not be handled ({told})"))
            if tries >= TRIES:
                await self._park(arrivals, give_up, type(fault).__name__)
                return True
            await self._clock.sleep(2.0 ** (tries - 1))
            return False
        reach("arrival_handled")
        await self._inbox.done([one.id for one in arrivals], outcome)
        return True

    async def _park(self, arrivals: Sequence[Arrival], give_up: Callable[[], Awaitable[None]], why: str) -> None:
        await give_up()
        await self._inbox.done([one.id for one in arrivals], f"{PARKED}: {why}")
