"""The Enrichment port over SQL."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, bindparam, delete, select, update

from goat.adapters.database import Database
from goat.adapters.journal.batches import batches
from goat.adapters.journal.rows import EPISODE, episode_of
from goat.adapters.journal.schema import episode, to_enrich
from goat.records.episodes import Episode

_WAITING = (
    EPISODE.join(to_enrich, to_enrich.c.episode_id == episode.c.id)
    .order_by(to_enrich.c.episode_id)
    .limit(bindparam("limit"))
)
_META = select(episode.c.id, episode.c.meta).where(episode.c.id.in_(bindparam("ids", expanding=True)))
_SET = update(episode).where(episode.c.id == bindparam("episode_id")).values(meta=bindparam("noted"))


class SqlEnrichment:
    """The table `to_enrich` says what waits; see the port `Enrichment` for its promises."""

    def __init__(self, database: Database) -> None:
        self._db = database.for_port("Enrichment")

    async def waiting(self, limit: int) -> list[Episode]:
        """The next episodes that wait, by id."""
        page = {"limit": max(limit, 0)}
        rows = await self._db.read(lambda connection: connection.execute(_WAITING, page).all())
        return [episode_of(row) for row in rows]

    async def note(self, notes: Mapping[int, Mapping[str, str]]) -> list[int]:
        """Add to the meta of these episodes."""

        def note(connection: Connection) -> list[int]:
            unknown = set(notes)
            for some in batches(list(notes)):
                found = connection.execute(_META, {"ids": list(some)}).all()
                rows = [{"episode_id": row.id, "noted": {**notes[row.id], **row.meta}} for row in found]
                if rows:
                    connection.execute(_SET, rows)
                connection.execute(delete(to_enrich).where(to_enrich.c.episode_id.in_(list(some))))
                unknown.difference_update(row.id for row in found)
            return sorted(unknown)

        return await self._db.write(note) if notes else []
