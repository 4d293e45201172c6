"""The PermanentStore port in the home's SQL database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Table, bindparam, delete, insert, select, update

from goat.adapters.database import Database
from goat.adapters.journal.names import Names
from goat.adapters.journal.schema import fact, identity, owner
from goat.adapters.permanent_merge import merged
from goat.records.memory import Fact, IdentityText, PermanentHistory

_FACT = select(fact.c.key, fact.c.value, fact.c.since, fact.c.until, fact.c.source_episode).join(
    owner, owner.c.id == fact.c.owner_id
)
_CURRENT_FACTS = _FACT.where(owner.c.name == bindparam("owner"), fact.c.until.is_(None))
_HISTORY = _FACT.where(owner.c.name == bindparam("owner"), fact.c.key == bindparam("key")).order_by(fact.c.id)
_CURRENT_FACT = (
    select(fact.c.id, fact.c.value, fact.c.since)
    .join(owner, owner.c.id == fact.c.owner_id)
    .where(owner.c.name == bindparam("owner"), fact.c.key == bindparam("key"), fact.c.until.is_(None))
)
_CURRENT_IDENTITY = (
    select(identity.c.id, identity.c.text, identity.c.since)
    .join(owner, owner.c.id == identity.c.owner_id)
    .where(owner.c.name == bindparam("owner"), identity.c.until.is_(None))
)
_EVERY_FACT = _FACT.where(owner.c.name == bindparam("owner")).order_by(fact.c.key, fact.c.id)
_IDENTITIES = (
    select(identity.c.text, identity.c.since, identity.c.until)
    .join(owner, owner.c.id == identity.c.owner_id)
    .where(owner.c.name == bindparam("owner"))
    .order_by(identity.c.id)
)


class SqlitePermanentStore:
    """Facts and identities with their times; see the port `PermanentStore` for its promises.

    Setting what holds already changes nothing. A value ends when the next one begins, and never before its own start.
    """

    def __init__(self, database: Database) -> None:
        self._db = database.for_port("PermanentStore")

    async def facts(self, owner: str) -> list[Fact]:
        """The facts that hold now, by key."""
        rows = await self._db.read(lambda connection: connection.execute(_CURRENT_FACTS, {"owner": owner}).all())
        return sorted((_fact(row) for row in rows), key=lambda fact: fact.key)

    async def put_fact(self, owner: str, key: str, value: str, at: datetime, source_episode: int | None) -> None:
        """Set a fact; the older value is kept with its end."""

        def supersede(connection: Connection) -> None:
            current = connection.execute(_CURRENT_FACT, {"owner": owner, "key": key}).one_or_none()
            if current is not None and current.value == value:
                return
            _end(connection, fact, current, at)
            row = {
                "owner_id": Names(connection).owner(owner),
                "key": key,
                "value": value,
                "since": at,
                "source_episode": source_episode,
            }
            connection.execute(insert(fact), row)

        await self._db.write(supersede)

    async def drop_fact(self, owner: str, key: str, at: datetime) -> bool:
        """End a fact; False when there is none."""

        def drop(connection: Connection) -> bool:
            current = connection.execute(_CURRENT_FACT, {"owner": owner, "key": key}).one_or_none()
            return _end(connection, fact, current, at)

        return await self._db.write(drop)

    async def history(self, owner: str, key: str) -> list[Fact]:
        """Every value that the key has had, oldest first."""
        wanted = {"owner": owner, "key": key}
        rows = await self._db.read(lambda connection: connection.execute(_HISTORY, wanted).all())
        return [_fact(row) for row in rows]

    async def identity(self, owner: str) -> str | None:
        """The owner's identity text."""
        row = await self._db.read(lambda connection: connection.execute(_CURRENT_IDENTITY, {"owner": owner}).first())
        return None if row is None else str(row.text)

    async def put_identity(self, owner: str, text: str | None, at: datetime) -> None:
        """Set the identity text; the older one is kept with its end."""

        def supersede(connection: Connection) -> None:
            current = connection.execute(_CURRENT_IDENTITY, {"owner": owner}).one_or_none()
            if current is not None and current.text == text:
                return
            _end(connection, identity, current, at)
            if text is not None:
                row = {"owner_id": Names(connection).owner(owner), "text": text, "since": at}
                connection.execute(insert(identity), row)

        await self._db.write(supersede)

    async def everything(self, owner: str) -> PermanentHistory:
        """All facts and identity texts that the owner has or had."""
        return await self._db.read(lambda connection: _everything(connection, owner))

    async def take_in(self, owner: str, brought: PermanentHistory) -> int:
        """Merge values that come from elsewhere; what changes is written anew, in its order."""

        def take(connection: Connection) -> int:
            owner_id = Names(connection).owner(owner)
            standing = _everything(connection, owner)
            taken = 0
            for key in dict.fromkeys(one.key for one in brought.facts):
                facts, count = merged(_of_key(standing.facts, key), _of_key(brought.facts, key))
                if count:
                    taken += count
                    connection.execute(delete(fact).where(fact.c.owner_id == owner_id, fact.c.key == key))
                    connection.execute(insert(fact), [{"owner_id": owner_id, **asdict(one)} for one in facts])
            texts, count = merged(standing.identities, brought.identities)
            if count:
                connection.execute(delete(identity).where(identity.c.owner_id == owner_id))
                connection.execute(insert(identity), [{"owner_id": owner_id, **asdict(one)} for one in texts])
            return taken + count

        return await self._db.write(take)

    async def erase(self, owner: str, unwanted: PermanentHistory) -> int:
        """Remove values, also from the history."""

        def erase(connection: Connection) -> int:
            owner_id = Names(connection).owner(owner)
            gone = 0
            for one in unwanted.facts:
                same = (fact.c.key == one.key, fact.c.value == one.value, fact.c.since == one.since)
                gone += connection.execute(delete(fact).where(fact.c.owner_id == owner_id, *same)).rowcount
            for text in unwanted.identities:
                like = (identity.c.text == text.text, identity.c.since == text.since)
                gone += connection.execute(delete(identity).where(identity.c.owner_id == owner_id, *like)).rowcount
            return gone

        return await self._db.write(erase)


def _everything(connection: Connection, name: str) -> PermanentHistory:
    facts = [_fact(row) for row in connection.execute(_EVERY_FACT, {"owner": name})]
    texts = tuple(IdentityText(*row) for row in connection.execute(_IDENTITIES, {"owner": name}))
    return PermanentHistory(tuple(sorted(facts, key=lambda fact: fact.key)), texts)


def _of_key(facts: Sequence[Fact], key: str) -> list[Fact]:
    return [fact for fact in facts if fact.key == key]


def _fact(row: Row[*tuple[Any, ...]]) -> Fact:
    return Fact(row.key, row.value, row.since, row.until, row.source_episode)


def _end(connection: Connection, table: Table, current: Row[*tuple[Any, ...]] | None, at: datetime) -> bool:
    """Give a current row its end; False when there is no row."""
    if current is None:
        return False
    connection.execute(update(table).where(table.c.id == current.id).values(until=max(at, current.since)))
    return True
