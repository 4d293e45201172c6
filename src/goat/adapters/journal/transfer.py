"""The Transfer port over SQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, exists, select

from goat.adapters.database import Database
from goat.adapters.episode_uid import own_uid
from goat.adapters.journal.batches import batches
from goat.adapters.journal.rows import EPISODE, episode_of, passages_of
from goat.adapters.journal.schema import episode, owner
from goat.records.episodes import Change

_OWNERS = select(owner.c.name).where(exists().where(episode.c.owner_id == owner.c.id)).order_by(owner.c.name)
_OWNER_ID = select(owner.c.id).where(owner.c.name == bindparam("owner"))
# The sum keeps SQLite from sorting all that the owner said: the ids are walked upwards from `after`.
_SCAN = (
    EPISODE.where(episode.c.owner_id + 0 == bindparam("owner_id"), episode.c.id > bindparam("after"))
    .order_by(episode.c.id)
    .limit(bindparam("limit"))
)
_FIND = (
    select(episode.c.uid, episode.c.id)
    .join(owner, owner.c.id == episode.c.owner_id)
    .where(owner.c.name == bindparam("owner"), episode.c.uid.in_(bindparam("uids", expanding=True)))
)


class SqlTransfer:
    """Whole archives, over the tables `episode` and `passage`; see the port `Transfer` for its promises."""

    def __init__(self, database: Database) -> None:
        self._db = database.for_port("Transfer")

    async def owners(self) -> list[str]:
        """The names of all who have episodes, sorted."""
        return await self._db.read(lambda connection: sorted(connection.execute(_OWNERS).scalars()))

    async def scan(self, owner: str, after: int, limit: int) -> list[Change]:
        """The owner's next episodes, by id."""
        return await self._db.read(lambda connection: _scan(connection, owner, after, max(limit, 0)))

    async def find(self, owner: str, uids: Sequence[str]) -> dict[str, int]:
        """Map uids to the ids of the owner's episodes."""
        names = {name: uid for uid in uids for name in (own_uid(owner, uid), uid)}

        def find(connection: Connection) -> dict[str, int]:
            found: dict[str, int] = {}
            for some in batches(list(names)):
                for row in connection.execute(_FIND, {"owner": owner, "uids": list(some)}):
                    found[names[row.uid]] = row.id
            return found

        return await self._db.read(find)


def _scan(connection: Connection, owner: str, after: int, limit: int) -> list[Change]:
    owner_id = connection.execute(_OWNER_ID, {"owner": owner}).scalar()
    if owner_id is None:
        return []
    rows = connection.execute(_SCAN, {"owner_id": owner_id, "after": after, "limit": limit}).all()
    passages = passages_of(connection, [row.id for row in rows])
    return [Change(row.seq, row.owner, row.id, episode_of(row), passages.get(row.id, ())) for row in rows]
