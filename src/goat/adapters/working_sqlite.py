"""The WorkingStore port in the home's SQLite file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, bindparam, delete, func, insert, select
from sqlalchemy.dialects.sqlite import insert as upsert

from goat.adapters.database import Database
from goat.adapters.journal.schema import kv, listing
from goat.ports.run import Clock
from goat.records.memory import Versioned

_SWEEP_EVERY = 256
"""Writes between two sweeps of what is past its time."""

_LIVE = select(kv.c.body, kv.c.version).where(
    kv.c.key == bindparam("key"), kv.c.expires_at.is_(None) | (kv.c.expires_at > bindparam("now"))
)
_FRESH = upsert(kv)
_STORE = _FRESH.on_conflict_do_update(
    index_elements=[kv.c.key],
    set_={"body": _FRESH.excluded.body, "version": _FRESH.excluded.version, "expires_at": _FRESH.excluded.expires_at},
)
_SWEEP = delete(kv).where(kv.c.expires_at <= bindparam("now"))

_ENDS = select(func.coalesce(func.max(listing.c.seq), 0), func.count()).where(listing.c.key == bindparam("key"))
_TRIM = delete(listing).where(listing.c.key == bindparam("of"), listing.c.seq <= bindparam("up_to"))
_TAIL = (
    select(listing.c.body)
    .where(listing.c.key == bindparam("key"))
    .order_by(listing.c.seq.desc())
    .limit(bindparam("count"))
)


class SqliteWorkingStore:
    """Values in the table `kv`, lists in `listing`; see the port `WorkingStore` for its promises."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database.for_port("WorkingStore")
        self._clock = clock
        self._until_sweep = _SWEEP_EVERY

    async def get(self, key: str) -> Versioned | None:
        """The value and its version."""
        now = self._clock.now()
        return await self._db.read(lambda connection: _live(connection, key, now))

    async def put(
        self, key: str, body: str, ttl_seconds: float | None = None, if_version: int | None = None
    ) -> int | None:
        """Store a value; None when `if_version` does not match."""
        new = self._value(key, body, ttl_seconds)
        sweep = self._sweep_is_due()

        def compare_and_set(connection: Connection) -> int | None:
            if sweep:
                connection.execute(_SWEEP, {"now": new.now})
            live = _live(connection, key, new.now)
            version = 0 if live is None else live.version
            if if_version not in (None, version):
                return None
            return _store(connection, new, version + 1)

        return await self._db.write(compare_and_set)

    async def claim(self, key: str, ttl_seconds: float) -> bool:
        """Set the key, with an empty value, if it is absent."""
        return await self.put(key, "", ttl_seconds, if_version=0) is not None

    async def append(self, key: str, items: Sequence[str], keep: int) -> int:
        """Append to a list and keep its newest `keep` items."""
        return await self._db.write(lambda connection: _append(connection, key, items, keep))

    async def tail(self, key: str, count: int) -> list[str]:
        """The newest `count` items of a list, oldest first."""
        wanted = {"key": key, "count": max(count, 0)}
        newest_first = await self._db.read(lambda connection: connection.execute(_TAIL, wanted).scalars().all())
        return list(reversed(newest_first))

    async def delete(self, key: str) -> None:
        """Remove the value and the list of this key."""

        def remove(connection: Connection) -> None:
            connection.execute(delete(kv).where(kv.c.key == key))
            connection.execute(delete(listing).where(listing.c.key == key))

        await self._db.write(remove)

    def _value(self, key: str, body: str, ttl_seconds: float | None) -> _Value:
        now = self._clock.now()
        return _Value(key, body, now, None if ttl_seconds is None else now + timedelta(seconds=ttl_seconds))

    def _sweep_is_due(self) -> bool:
        self._until_sweep -= 1
        if self._until_sweep > 0:
            return False
        self._until_sweep = _SWEEP_EVERY
        return True


@dataclass(frozen=True, slots=True)
class _Value:
    key: str
    body: str
    now: datetime
    expires_at: datetime | None


def _live(connection: Connection, key: str, now: datetime) -> Versioned | None:
    row = connection.execute(_LIVE, {"key": key, "now": now}).one_or_none()
    return None if row is None else Versioned(row.body, row.version)


def _store(connection: Connection, new: _Value, version: int) -> int:
    row = {"key": new.key, "body": new.body, "version": version, "expires_at": new.expires_at}
    connection.execute(_STORE, row)
    return version


def _append(connection: Connection, key: str, items: Sequence[str], keep: int) -> int:
    """Numbers within a list have no gaps, so the oldest one to stay is known without looking."""
    last, length = connection.execute(_ENDS, {"key": key}).one()
    rows = [{"key": key, "seq": last + step, "body": body} for step, body in enumerate(items, start=1)]
    if rows:
        connection.execute(insert(listing), rows)
    length += len(rows)
    if length > keep:
        connection.execute(_TRIM, {"of": key, "up_to": last + len(rows) - keep})
    return min(int(length), keep)
