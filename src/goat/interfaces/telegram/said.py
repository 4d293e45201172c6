"""What was said and waits for its turn, and the turn that it becomes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from goat.interfaces.telegram.access import Guest
from goat.interfaces.telegram.message import Message
from goat.records.arrivals import Arrival

SUPERGROUPS: Final = -1_000_000_000_000
"""The ids of supergroups lie below this."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of somebody who was let in, and its delivery.

    `before` are the words that an edit takes the place of. `replaced` are deliveries that need no answer of their own.
    """

    arrival: Arrival
    message: Message
    guest: Guest
    before: str = ""
    replaced: tuple[Arrival, ...] = ()

    @property
    def arrivals(self) -> list[Arrival]:
        """All deliveries that end with its answer."""
        return [self.arrival, *self.replaced]

    @property
    def key(self) -> str:
        """What names the message in the journal: a second delivery has the same.

        Only in a supergroup do all bots see a message under one number; elsewhere each bot counts for itself.
        """
        name = f"{self.message.address.chat}:{self.message.id}"
        if self.message.address.chat > SUPERGROUPS:
            name = f"{self.arrival.channel.rpartition(':')[2]}:{name}"
        return f"{name}:{self.message.update_id}" if self.message.edited else name


@dataclass(slots=True)
class Running:
    """A turn under way, of what one `sender` said. `ended` says why somebody ended it.

    The arrivals grow when messages join.
    """

    arrivals: list[Arrival]
    messages: set[int]
    sender: int
    interruptible: bool
    task: asyncio.Task[str] | None = None
    ended: str = ""
    begun: bool = False
    rest: list[Said] = field(default_factory=list)

    def over(self) -> bool:
        """Whether somebody ended it."""
        return bool(self.ended)

    def end(self, why: str) -> None:
        """End it, unless somebody did before."""
        self.ended = self.ended or why
        if self.task is not None:
            self.task.cancel()
