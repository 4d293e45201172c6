"""The Outbox port over SQL. `SqlJournal.append` writes the answers, in the transaction of the words they carry."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from goat.adapters.database import Database
from goat.adapters.journal.batches import batches
from goat.adapters.journal.names import Names
from goat.adapters.journal.schema import chat, delivery, outbox, owner, preview
from goat.ports.run import Clock
from goat.records.deliveries import Outcome, Part, PartState, Preview, Undelivered
from goat.records.episodes import NewOutgoing, Outgoing

_ADD = insert(outbox).returning(outbox.c.id)
_IN_CHAT = (owner.c.name == bindparam("owner"), chat.c.owner_id == owner.c.id, chat.c.name == bindparam("chat"))
_PENDING = (
    select(
        outbox.c.id,
        owner.c.name.label("owner"),
        chat.c.name.label("chat"),
        outbox.c.channel,
        outbox.c.text,
        outbox.c.episode_id,
        outbox.c.created,
        outbox.c.extra,
    )
    .join(owner, owner.c.id == outbox.c.owner_id)
    .join(chat, chat.c.id == outbox.c.chat_id)
    .where(outbox.c.channel == bindparam("channel"), *_IN_CHAT, outbox.c.done_at.is_(None))
    .order_by(outbox.c.id)
)
_PARTS = (
    select(delivery)
    .where(delivery.c.outbox_id.in_(bindparam("ids", expanding=True)))
    .order_by(delivery.c.outbox_id, delivery.c.part)
)
_WAITING = (
    select(owner.c.name, chat.c.name)
    .select_from(outbox)
    .join(owner, owner.c.id == outbox.c.owner_id)
    .join(chat, chat.c.id == outbox.c.chat_id)
    .where(outbox.c.channel == bindparam("channel"), outbox.c.done_at.is_(None))
    .group_by(owner.c.name, chat.c.name)
    .order_by(func.min(outbox.c.id))
)
_KNOWN = select(outbox.c.id).where(outbox.c.id == bindparam("id"), outbox.c.done_at.is_(None))
_SAID = select(outbox.c.id).where(outbox.c.channel == bindparam("channel"), outbox.c.key == bindparam("key"))
_UNMARK = delete(delivery).where(delivery.c.outbox_id == bindparam("id"), delivery.c.part == bindparam("number"))
_FORGET_PARTS = delete(delivery).where(delivery.c.outbox_id.in_(bindparam("ids", expanding=True)))
_DONE = (
    update(outbox)
    .where(outbox.c.id.in_(bindparam("ids", expanding=True)), outbox.c.done_at.is_(None))
    .values(done_at=bindparam("now"), outcome=bindparam("how"), reason=bindparam("why"), text="", extra={})
)
_WAITS = select(outbox.c.id).where(outbox.c.done_at.is_(None))
_UNDELIVERED = (
    select(owner.c.name, chat.c.name, outbox.c.outcome, outbox.c.reason, outbox.c.done_at)
    .join(owner, owner.c.id == outbox.c.owner_id)
    .join(chat, chat.c.id == outbox.c.chat_id)
    .where(
        outbox.c.channel == bindparam("channel"),
        outbox.c.outcome != Outcome.DELIVERED.value,
        outbox.c.done_at > bindparam("since"),
    )
    .order_by(outbox.c.done_at.desc(), outbox.c.id.desc())
)
_PREVIEW = (
    select(preview.c.turn, preview.c.message)
    .join(chat, chat.c.id == preview.c.chat_id)
    .join(owner, owner.c.id == chat.c.owner_id)
    .where(preview.c.channel == bindparam("channel"), *_IN_CHAT)
)
_DROP_PREVIEW = delete(preview).where(
    preview.c.chat_id == bindparam("in_chat"), preview.c.channel == bindparam("through")
)


class SqlOutbox:
    """Committed replies in the tables `outbox`, `delivery` and `preview`; see the port `Outbox` for its promises."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database.for_port("Outbox")
        self._clock = clock

    async def put(self, reply: NewOutgoing) -> Outgoing | None:
        """Commit a reply that carries no episode."""
        now = self._clock.now()

        def add(connection: Connection) -> int | None:
            if reply.key is not None and _said(connection, reply.channel, reply.key):
                return None
            return add_reply(connection, Names(connection), reply, None, now)

        number = await self._db.write(add)
        if number is None:
            return None
        return Outgoing(number, reply.owner, reply.chat, reply.channel, reply.text, None, now, dict(reply.extra))

    async def said(self, channel: str, key: str) -> bool:
        """Whether a reply was ever put under this key."""
        return await self._db.read(lambda connection: _said(connection, channel, key))

    async def pending(self, channel: str, owner: str, chat: str) -> list[Outgoing]:
        """Replies that were not acknowledged, oldest first."""
        wanted = {"channel": channel, "owner": owner, "chat": chat}

        def find(connection: Connection) -> list[Outgoing]:
            rows = connection.execute(_PENDING, wanted).all()
            parts = _parts(connection, [row.id for row in rows])
            return [Outgoing(*row, parts=tuple(parts[row.id])) for row in rows]

        return await self._db.read(find)

    async def waiting(self, channel: str) -> list[tuple[str, str]]:
        """The owners and chats that have pending replies."""
        rows = await self._db.read(lambda connection: connection.execute(_WAITING, {"channel": channel}).all())
        return [(row[0], row[1]) for row in rows]

    async def mark(self, id: int, part: Part | None, number: int = 0) -> None:
        """Keep where a part stands."""

        def keep(connection: Connection) -> None:
            connection.execute(_UNMARK, {"id": id, "number": number if part is None else part.number})
            if part is not None and connection.execute(_KNOWN, {"id": id}).first() is not None:
                connection.execute(insert(delivery), _delivery(id, part))

        await self._db.write(keep)

    async def done(self, ids: list[int], outcome: Outcome = Outcome.DELIVERED, reason: str = "") -> None:
        """Acknowledge the delivery."""
        ending = {"now": self._clock.now(), "how": outcome.value, "why": reason}

        def acknowledge(connection: Connection) -> None:
            for some in batches(ids):
                connection.execute(_DONE, {"ids": list(some), **ending})
                connection.execute(_FORGET_PARTS, {"ids": list(some)})

        await self._db.write(acknowledge)

    async def end_all(self, reason: str) -> int:
        """End what waits in every channel, as delivered or not for all that is known here; how many replies that were.

        What shows an answer while it is written is let go too.
        """
        ending = {"now": self._clock.now(), "how": Outcome.UNKNOWN.value, "why": reason}

        def end(connection: Connection) -> int:
            ids = connection.execute(_WAITS).scalars().all()
            for some in batches(ids):
                connection.execute(_DONE, {"ids": list(some), **ending})
                connection.execute(_FORGET_PARTS, {"ids": list(some)})
            connection.execute(delete(preview))
            return len(ids)

        return await self._db.write(end)

    async def undelivered(self, channel: str, since: datetime) -> list[Undelivered]:
        """The replies that ended after `since` with another outcome than delivered."""
        wanted = {"channel": channel, "since": since}
        rows = await self._db.read(lambda connection: connection.execute(_UNDELIVERED, wanted).all())
        return [Undelivered(row[0], row[1], Outcome(row.outcome), row.reason, row.done_at) for row in rows]

    async def preview(self, channel: str, owner: str, chat: str) -> Preview | None:
        """The message that shows the answer of this chat while it is written."""
        wanted = {"channel": channel, "owner": owner, "chat": chat}
        row = await self._db.read(lambda connection: connection.execute(_PREVIEW, wanted).first())
        return None if row is None else Preview(row.turn, row.message)

    async def keep_preview(self, channel: str, owner: str, chat: str, shown: Preview | None) -> None:
        """Keep which message that is."""

        def keep(connection: Connection) -> None:
            in_chat = _chat_number(connection, owner, chat)
            connection.execute(_DROP_PREVIEW, {"in_chat": in_chat, "through": channel})
            if shown is not None:
                row = {"chat_id": in_chat, "channel": channel, "turn": shown.turn, "message": shown.message}
                connection.execute(insert(preview), row)

        await self._db.write(keep)

    async def take_preview(self, reply: Outgoing, turn: str) -> Part | None:
        """Make the chat's preview the first part of a reply."""
        wanted = {"channel": reply.channel, "owner": reply.owner, "chat": reply.chat}
        if await self.preview(**wanted) is None:  # mostly so, and a look costs less than a commit
            return None

        def take(connection: Connection) -> Part | None:
            row = connection.execute(_PREVIEW, wanted).first()
            if row is None:
                return None
            in_chat = _chat_number(connection, reply.owner, reply.chat)
            connection.execute(_DROP_PREVIEW, {"in_chat": in_chat, "through": reply.channel})
            if row.turn != turn:
                return None
            part = Part(0, PartState.SENDING, row.message)
            connection.execute(_UNMARK, {"id": reply.id, "number": 0})
            connection.execute(insert(delivery), _delivery(reply.id, part))
            return part

        return await self._db.write(take)


def add_reply(connection: Connection, names: Names, reply: NewOutgoing, episode_id: int | None, now: datetime) -> int:
    """Write a reply within a transaction and return its id."""
    owner_id = names.owner(reply.owner)
    row = {
        "owner_id": owner_id,
        "chat_id": names.chat(owner_id, reply.chat),
        "channel": reply.channel,
        "text": reply.text,
        "extra": dict(reply.extra),
        "episode_id": episode_id,
        "created": now,
        "key": reply.key,
    }
    return int(connection.execute(_ADD, row).scalar_one())


def _said(connection: Connection, channel: str, key: str) -> bool:
    return connection.execute(_SAID, {"channel": channel, "key": key}).first() is not None


def _chat_number(connection: Connection, owner: str, chat: str) -> int:
    names = Names(connection)
    return names.chat(names.owner(owner), chat)


def _parts(connection: Connection, ids: list[int]) -> defaultdict[int, list[Part]]:
    parts: defaultdict[int, list[Part]] = defaultdict(list)
    for some in batches(ids):
        for row in connection.execute(_PARTS, {"ids": list(some)}):
            parts[row.outbox_id].append(Part(row.part, PartState(row.state), row.message))
    return parts


def _delivery(id: int, part: Part) -> dict[str, object]:
    return {"outbox_id": id, "part": part.number, "state": part.state.value, "message": part.message}
