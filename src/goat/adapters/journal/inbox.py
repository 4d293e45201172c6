"""The Inbox port over SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from goat.adapters.database import Database
from goat.adapters.journal.batches import batches
from goat.adapters.journal.schema_doors import inbox
from goat.ports.run import Clock
from goat.records.arrivals import Arrival, NewArrival

KEPT: Final = timedelta(days=3)
"""How long the number of a delivery is recognised after it was done: three times as long as Telegram keeps one."""

_FIELDS = (inbox.c.id, inbox.c.number, inbox.c.arrived, inbox.c.body, inbox.c.tries, inbox.c.turn)
_KNOWN = select(inbox.c.number).where(
    inbox.c.channel == bindparam("channel"), inbox.c.number.in_(bindparam("numbers", expanding=True))
)
_ADD = insert(inbox).returning(inbox.c.id)
_PRUNE = delete(inbox).where(inbox.c.channel == bindparam("channel"), inbox.c.done_at < bindparam("before"))
_WAITING = (
    select(*_FIELDS).where(inbox.c.channel == bindparam("channel"), inbox.c.done_at.is_(None)).order_by(inbox.c.id)
)
_BEGIN = (
    update(inbox)
    .where(inbox.c.id.in_(bindparam("ids", expanding=True)), inbox.c.done_at.is_(None))
    .values(tries=inbox.c.tries + 1, turn=bindparam("first"))
)
_TRIES = select(func.max(inbox.c.tries)).where(inbox.c.id.in_(bindparam("ids", expanding=True)))
_DONE = (
    update(inbox)
    .where(inbox.c.id.in_(bindparam("ids", expanding=True)), inbox.c.done_at.is_(None))
    .values(done_at=bindparam("now"), outcome=bindparam("how"), body=None)
)


class SqlInbox:
    """Deliveries in the table `inbox`; see the port `Inbox` for its promises."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database.for_port("Inbox")
        self._clock = clock

    async def take(self, channel: str, arrivals: Sequence[NewArrival]) -> list[Arrival]:
        """Commit deliveries; the new ones."""
        now = self._clock.now()

        def add(connection: Connection) -> list[Arrival]:
            connection.execute(_PRUNE, {"channel": channel, "before": now - KEPT})
            known = _known(connection, channel, [one.number for one in arrivals])
            new: dict[int, NewArrival] = {}
            for one in arrivals:
                if one.number not in known:
                    new.setdefault(one.number, one)
            return [_added(connection, channel, one, now) for one in new.values()]

        return await self._db.write(add)

    async def waiting(self, channel: str) -> list[Arrival]:
        """What is not done, oldest first."""
        rows = await self._db.read(lambda connection: connection.execute(_WAITING, {"channel": channel}).all())
        return [Arrival(row.id, channel, row.number, row.arrived, _body(row.body), row.tries, row.turn) for row in rows]

    async def begin(self, ids: Sequence[int]) -> int:
        """Note that their handling begins, as one."""
        together = {"ids": list(ids), "first": min(ids)}

        def note(connection: Connection) -> int:
            connection.execute(_BEGIN, together)
            return int(connection.execute(_TRIES, {"ids": list(ids)}).scalar() or 0)

        return await self._db.write(note)

    async def done(self, ids: Sequence[int], outcome: str) -> None:
        """Note how they ended and drop their bodies."""
        now = self._clock.now()

        def note(connection: Connection) -> None:
            for some in batches(ids):
                connection.execute(_DONE, {"ids": list(some), "now": now, "how": outcome})

        await self._db.write(note)


def _known(connection: Connection, channel: str, numbers: Sequence[int]) -> set[int]:
    known: set[int] = set()
    for some in batches(numbers):
        known.update(connection.execute(_KNOWN, {"channel": channel, "numbers": list(some)}).scalars())
    return known


def _added(connection: Connection, channel: str, new: NewArrival, now: datetime) -> Arrival:
    row = {
        "channel": channel,
        "number": new.number,
        "body": json.dumps(new.body, ensure_ascii=True),
        "arrived": now,
        "tries": 0,
    }
    return Arrival(connection.execute(_ADD, row).scalar_one(), channel, new.number, now, new.body)


def _body(text: str | None) -> Mapping[str, Any]:
    body = json.loads(text) if text else {}
    return body if isinstance(body, dict) else {}
