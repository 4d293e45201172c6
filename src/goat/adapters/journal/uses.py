"""The Uses port over SQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, func, select
from sqlalchemy.dialects.sqlite import insert as upsert

from goat.adapters.database import Database
from goat.adapters.journal.batches import batches
from goat.adapters.journal.columns import Moment, Number
from goat.adapters.journal.schema import episode, owner, recalled
from goat.records.episodes import Use

_OWNED = (
    select(
        episode.c.owner_id,
        episode.c.id,
        bindparam("uses", type_=Number),
        bindparam("last", type_=Moment),
    )
    .join(owner, owner.c.id == episode.c.owner_id)
    .where(owner.c.name == bindparam("owner"), episode.c.id.in_(bindparam("ids", expanding=True)))
)
_NEW = upsert(recalled).from_select(["owner_id", "episode_id", "count", "last"], _OWNED)
_LATER = func.max(recalled.c.last, _NEW.excluded.last)
_COUNT = _NEW.on_conflict_do_update(set_={"count": recalled.c.count + _NEW.excluded["count"], "last": _LATER})
_TAKE_IN = _NEW.on_conflict_do_update(
    set_={"count": func.max(recalled.c.count, _NEW.excluded["count"]), "last": _LATER}
)
_OF = (
    select(recalled.c.episode_id, recalled.c.count.label("uses"), recalled.c.last)
    .join(owner, owner.c.id == recalled.c.owner_id)
    .where(owner.c.name == bindparam("owner"), recalled.c.episode_id.in_(bindparam("ids", expanding=True)))
)


class SqlUses:
    """Counts in the table `recalled`; see the port `Uses` for its promises."""

    def __init__(self, database: Database) -> None:
        self._db = database.for_port("Uses")

    async def count(self, owner: str, times: Mapping[int, int], at: datetime) -> None:
        """Add to the counts of these episodes."""
        by_number: defaultdict[int, list[int]] = defaultdict(list)
        for episode_id, number in times.items():
            by_number[number].append(episode_id)

        def count(connection: Connection) -> None:
            for number, ids in by_number.items():
                for some in batches(ids):
                    connection.execute(_COUNT, {"owner": owner, "ids": list(some), "uses": number, "last": at})

        if times:
            await self._db.write(count)

    async def of(self, owner: str, ids: Sequence[int]) -> dict[int, Use]:
        """The uses of these episodes."""

        def of(connection: Connection) -> dict[int, Use]:
            found: dict[int, Use] = {}
            for some in batches(ids):
                rows = connection.execute(_OF, {"owner": owner, "ids": list(some)})
                found.update({row.episode_id: Use(row.uses, row.last) for row in rows})
            return found

        return await self._db.read(of) if ids else {}

    async def take_in(self, owner: str, brought: Mapping[int, Use]) -> None:
        """Take over the larger counts and the later times."""

        def take_in(connection: Connection) -> None:
            for number, use in brought.items():
                connection.execute(_TAKE_IN, {"owner": owner, "ids": [number], "uses": use.count, "last": use.last})

        if brought:
            await self._db.write(take_in)
