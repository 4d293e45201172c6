"""The Outbox port over SQL. `SqlJournal.append` writes the replies, in the transaction of the words they carry."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select, update

from goat.adapters.database import Database
from goat.adapters.journal.batches import batches
from goat.adapters.journal.schema import chat, outbox, owner
from goat.ports.run import Clock
from goat.records.episodes import Outgoing

_PENDING = (
    select(
        outbox.c.id,
        owner.c.name.label("owner"),
        chat.c.name.label("chat"),
        outbox.c.channel,
        outbox.c.text,
        outbox.c.episode_id,
        outbox.c.created,
    )
    .join(owner, owner.c.id == outbox.c.owner_id)
    .join(chat, chat.c.id == outbox.c.chat_id)
    .where(
        outbox.c.channel == bindparam("channel"),
        owner.c.name == bindparam("owner"),
        chat.c.owner_id == owner.c.id,
        chat.c.name == bindparam("chat"),
        outbox.c.done_at.is_(None),
    )
    .order_by(outbox.c.id)
)
_DONE = (
    update(outbox)
    .where(outbox.c.id.in_(bindparam("ids", expanding=True)), outbox.c.done_at.is_(None))
    .values(done_at=bindparam("now"))
)


class SqlOutbox:
    """Committed replies in the table `outbox`; see the port `Outbox` for its promises."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database.for_port("Outbox")
        self._clock = clock

    async def pending(self, channel: str, owner: str, chat: str) -> list[Outgoing]:
        """Replies that were not acknowledged, oldest first."""
        wanted = {"channel": channel, "owner": owner, "chat": chat}
        rows = await self._db.read(lambda connection: connection.execute(_PENDING, wanted).all())
        return [Outgoing(*row) for row in rows]

    async def done(self, ids: list[int]) -> None:
        """Acknowledge delivery."""
        now = self._clock.now()

        def acknowledge(connection: Connection) -> None:
            for some in batches(ids):
                connection.execute(_DONE, {"ids": list(some), "now": now})

        await self._db.write(acknowledge)
