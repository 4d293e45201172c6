"""The ports Inbox and Admissions in memory, the reference for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from goat.ports.run import Clock
from goat.records.arrivals import Admitted, Arrival, Invitation, NewArrival


class MemoryInbox:
    """See the port `Inbox`. `outcomes` maps the ids of what is done to how it ended."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._arrivals: dict[tuple[str, int], Arrival] = {}
        self.outcomes: dict[int, str] = {}

    async def take(self, channel: str, arrivals: Sequence[NewArrival]) -> list[Arrival]:
        """Keep deliveries; the new ones."""
        new: list[Arrival] = []
        for one in arrivals:
            if (channel, one.number) in self._arrivals:
                continue
            arrival = Arrival(len(self._arrivals) + 1, channel, one.number, self._clock.now(), one.body)
            self._arrivals[channel, one.number] = arrival
            new.append(arrival)
        return new

    async def waiting(self, channel: str) -> list[Arrival]:
        """What is not done, oldest first."""
        mine = [one for one in self._arrivals.values() if one.channel == channel and one.id not in self.outcomes]
        return sorted(mine, key=lambda one: one.id)

    async def begin(self, ids: Sequence[int]) -> int:
        """Note that their handling begins, as one."""
        for place, one in list(self._arrivals.items()):
            if one.id in ids and one.id not in self.outcomes:
                self._arrivals[place] = replace(one, tries=one.tries + 1, turn=min(ids))
        return max((one.tries for one in self._arrivals.values() if one.id in ids), default=0)

    async def done(self, ids: Sequence[int], outcome: str) -> None:
        """Note how they ended and drop their bodies."""
        for place, one in list(self._arrivals.items()):
            if one.id in ids and one.id not in self.outcomes:
                self.outcomes[one.id] = outcome
                self._arrivals[place] = replace(one, body={})


class MemoryAdmissions:
    """See the port `Admissions`."""

    def __init__(self) -> None:
        self._admitted: dict[tuple[str, int], Admitted] = {}
        self._invitations: dict[int, tuple[str, Invitation]] = {}
        self._closed: set[int] = set()

    async def everybody(self, channel: str) -> list[Admitted]:
        """Who was let in, in that order."""
        mine = [one for (where, _), one in self._admitted.items() if where == channel]
        return sorted(mine, key=lambda one: (one.since, one.number))

    async def admit(self, channel: str, admitted: Admitted) -> None:
        """Let somebody in."""
        self._admitted[channel, admitted.number] = admitted

    async def dismiss(self, channel: str, number: int) -> bool:
        """Take an entry away."""
        return self._admitted.pop((channel, number), None) is not None

    async def invite(self, channel: str, invitation: Invitation) -> Invitation:
        """Keep a code."""
        kept = replace(invitation, id=len(self._invitations) + 1)
        self._invitations[kept.id] = (channel, kept)
        return kept

    async def invitations(self, channel: str, now: datetime) -> list[Invitation]:
        """The codes that can be used."""
        return [
            one
            for where, one in self._invitations.values()
            if where == channel and one.id not in self._closed and one.expires > now
        ]

    async def redeem(self, channel: str, id: int, admitted: Admitted) -> bool:
        """Use a code up and let somebody in."""
        where, _ = self._invitations.get(id, ("", None))
        if where != channel or id in self._closed:
            return False
        self._closed.add(id)
        await self.admit(channel, admitted)
        return True

    async def withdraw(self, channel: str, id: int) -> None:
        """Make a code useless."""
        if self._invitations.get(id, ("", None))[0] == channel:
            self._closed.add(id)
