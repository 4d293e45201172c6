"""How receiving stands: told by what the last polls came to, never by a flag that somebody set once."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from goat.ports.run import Clock
from goat.records.turns import Notice

QUIET_SECONDS: Final = 60.0
"""The same trouble is told at most this often."""


class State(StrEnum):
    """What the receiving does."""

    STARTING = "starting"
    RECEIVING = "receiving"
    WAITING = "waiting"  # Telegram cannot be reached, or wants to be left alone
    CONFLICT = "conflict"  # another process receives this bot's messages
    REFUSED = "refused"  # the token is not valid any more
    STOPPED = "stopped"


class Status:
    """The state of one bot's receiving. Trouble goes to `notice`, the same one once a minute."""

    def __init__(self, clock: Clock, notice: Callable[[Notice], None]) -> None:
        self._clock = clock
        self._notice = notice
        self._told: dict[str, float] = {}
        self._last = clock.monotonic()
        self.state = State.STARTING
        self.reason = ""

    @property
    def silence(self) -> float:
        """Seconds since a poll ended well, or since the start."""
        return self._clock.monotonic() - self._last

    def polled(self) -> None:
        """A poll ended well."""
        self._last = self._clock.monotonic()
        if self.state in (State.CONFLICT, State.WAITING):
            self._notice(Notice("Telegram", "receiving again"))
            self._told.clear()
        self.state, self.reason = State.RECEIVING, ""

    def troubled(self, state: State, reason: str) -> None:
        """It does not receive at the moment, and why."""
        self.state, self.reason = state, reason
        now = self._clock.monotonic()
        if now - self._told.get(state, -QUIET_SECONDS) >= QUIET_SECONDS:
            self._told[state] = now
            self._notice(Notice("Telegram", f"{state}: {reason}"))
