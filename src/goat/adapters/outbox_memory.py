"""The Outbox port in memory, the reference for the others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from goat.ports.run import Clock
from goat.records.deliveries import Outcome, Part, PartState, Preview, Undelivered
from goat.records.episodes import NewOutgoing, Outgoing


@dataclass
class Replies:
    """What an archive in memory has to say; the journal puts answers here, the outbox everything else."""

    pending: dict[int, Outgoing] = field(default_factory=dict)
    count: int = 0

    def add(self, reply: NewOutgoing, episode_id: int | None, now: datetime) -> Outgoing:
        """Take in a reply and give it the next id."""
        self.count += 1
        extra = dict(reply.extra)
        outgoing = Outgoing(self.count, reply.owner, reply.chat, reply.channel, reply.text, episode_id, now, extra)
        self.pending[outgoing.id] = outgoing
        return outgoing


class MemoryOutbox:
    """See the port `Outbox`."""

    def __init__(self, replies: Replies, clock: Clock) -> None:
        self._replies = replies
        self._clock = clock
        self._troubles: list[tuple[str, Undelivered]] = []
        self._previews: dict[tuple[str, str, str], Preview] = {}
        self._said: set[tuple[str, str]] = set()

    async def put(self, reply: NewOutgoing) -> Outgoing | None:
        """Commit a reply that carries no episode."""
        if reply.key is not None:
            if (reply.channel, reply.key) in self._said:
                return None
            self._said.add((reply.channel, reply.key))
        return self._replies.add(reply, None, self._clock.now())

    async def said(self, channel: str, key: str) -> bool:
        """Whether a reply was ever put under this key."""
        return (channel, key) in self._said

    async def pending(self, channel: str, owner: str, chat: str) -> list[Outgoing]:
        """Replies that were not acknowledged, oldest first."""
        where = (channel, owner, chat)
        return [one for one in self._replies.pending.values() if (one.channel, one.owner, one.chat) == where]

    async def waiting(self, channel: str) -> list[tuple[str, str]]:
        """The owners and chats that have pending replies."""
        through = [one for one in self._replies.pending.values() if one.channel == channel]
        return list(dict.fromkeys((one.owner, one.chat) for one in through))

    async def mark(self, id: int, part: Part | None, number: int = 0) -> None:
        """Keep where a part stands."""
        if (reply := self._replies.pending.get(id)) is not None:
            changed = number if part is None else part.number
            others = [one for one in reply.parts if one.number != changed]
            parts = sorted([*others, *([part] if part else [])], key=lambda one: one.number)
            self._replies.pending[id] = replace(reply, parts=tuple(parts))

    async def done(self, ids: list[int], outcome: Outcome = Outcome.DELIVERED, reason: str = "") -> None:
        """Acknowledge the delivery."""
        for number in ids:
            reply = self._replies.pending.pop(number, None)
            if reply is not None and outcome is not Outcome.DELIVERED:
                trouble = Undelivered(reply.owner, reply.chat, outcome, reason, self._clock.now())
                self._troubles.insert(0, (reply.channel, trouble))

    async def undelivered(self, channel: str, since: datetime) -> list[Undelivered]:
        """The replies that ended after `since` with another outcome than delivered."""
        found = [trouble for through, trouble in self._troubles if through == channel and trouble.at > since]
        return sorted(found, key=lambda trouble: trouble.at, reverse=True)

    async def preview(self, channel: str, owner: str, chat: str) -> Preview | None:
        """The message that shows the answer of this chat while it is written."""
        return self._previews.get((channel, owner, chat))

    async def keep_preview(self, channel: str, owner: str, chat: str, shown: Preview | None) -> None:
        """Keep which message that is."""
        self._previews.pop((channel, owner, chat), None)
        if shown is not None:
            self._previews[channel, owner, chat] = shown

    async def take_preview(self, reply: Outgoing, turn: str) -> Part | None:
        """Make the chat's preview the first part of a reply."""
        shown = self._previews.pop((reply.channel, reply.owner, reply.chat), None)
        if shown is None or shown.turn != turn:
            return None
        part = Part(0, PartState.SENDING, shown.message)
        await self.mark(reply.id, part)
        return part
