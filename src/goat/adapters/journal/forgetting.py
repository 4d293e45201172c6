"""The Forgetting port over SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from goat.adapters.database import Database
from goat.adapters.forgotten_mark import delivery_mark, uid_mark
from goat.adapters.journal.batches import batches
from goat.adapters.journal.counter import take_seqs
from goat.adapters.journal.embeddings import remove_vectors
from goat.adapters.journal.names import Names
from goat.adapters.journal.schema import (
    approval,
    chat,
    episode,
    forgotten,
    outbox,
    owner,
    passage,
    recalled,
    to_enrich,
    tombstone,
    unfinished,
)
from goat.failpoints import reach
from goat.records.episodes import Forgotten

PORT = "Forgetting"

_FOUND = (
    select(
        episode.c.id,
        episode.c.uid,
        episode.c.source,
        episode.c.key,
        episode.c.owner_id,
        episode.c.chat_id,
        chat.c.name.label("chat"),
    )
    .join(chat, chat.c.id == episode.c.chat_id)
    .join(owner, owner.c.id == chat.c.owner_id)
    .where(owner.c.name == bindparam("owner"), episode.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(episode.c.id)
)
_ORDS = (
    select(passage.c.ord).where(passage.c.episode_id == bindparam("episode_id")).order_by(passage.c.part, passage.c.ord)
)
_UNFINISHED = (
    select(
        tombstone.c.seq,
        owner.c.name.label("owner"),
        chat.c.name.label("chat"),
        tombstone.c.episode_id,
        tombstone.c.ords,
    )
    .join(unfinished, unfinished.c.seq == tombstone.c.seq)
    .join(owner, owner.c.id == tombstone.c.owner_id)
    .join(chat, chat.c.id == unfinished.c.chat_id)
    .order_by(tombstone.c.seq)
)
_CHATS = select(chat.c.name).join(owner, owner.c.id == chat.c.owner_id).where(owner.c.name == bindparam("owner"))
_UNCOUNT = delete(recalled).where(
    recalled.c.owner_id == bindparam("owner_id"), recalled.c.episode_id == bindparam("episode_id")
)
_MARK = upsert(forgotten).on_conflict_do_nothing()


class SqlForgetting:
    """Deletes rows, leaves tombstones, and writes the file anew; see the port `Forgetting` for its promises."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._db = database.for_port(PORT)

    async def forget(self, owner: str, ids: Sequence[int]) -> list[Forgotten]:
        """Remove episodes and everything in the journal that was made of them."""
        wanted = sorted({int(number) for number in ids})
        gone = await self._db.write(lambda connection: _forget(connection, owner, wanted))
        reach("forgotten_in_journal")
        return gone

    async def chats(self, owner: str) -> list[str]:
        """The names of all chats that the owner has had, sorted."""
        return await self._db.read(lambda connection: sorted(connection.execute(_CHATS, {"owner": owner}).scalars()))

    async def unfinished(self) -> list[Forgotten]:
        """What was forgotten and not finished, by `seq`."""
        rows = await self._db.read(lambda connection: connection.execute(_UNFINISHED).all())
        return [Forgotten(row.seq, row.owner, row.chat, row.episode_id, tuple(row.ords)) for row in rows]

    async def put_aside(self) -> list[str]:
        """The folders `backups/before-restore-…`."""
        return [str(path) for path in self._database.put_aside()]

    async def finish(self, forgotten: Sequence[Forgotten]) -> None:
        """Write the file anew, empty its log, remove the copies made before upgrades."""
        if not forgotten:
            return
        await self._database.scrub(PORT)
        reach("forgotten_scrubbed")
        seqs = [one.seq for one in forgotten]

        def done(connection: Connection) -> None:
            for some in batches(seqs):
                connection.execute(delete(unfinished).where(unfinished.c.seq.in_(list(some))))

        await self._db.write(done)


def _forget(connection: Connection, name: str, ids: Sequence[int]) -> list[Forgotten]:
    gone: list[Forgotten] = []
    owner_id = Names(connection).owner(name)
    connection.execute(update(approval).where(approval.c.owner_id == owner_id).values(shown="", reason=""))
    for some in batches(ids):
        found = connection.execute(_FOUND, {"owner": name, "ids": list(some)}).all()
        gone += [_forget_one(connection, name, row) for row in found]
    return gone


def _forget_one(connection: Connection, name: str, row: Row[*tuple[Any, ...]]) -> Forgotten:
    ords = tuple(connection.execute(_ORDS, {"episode_id": row.id}).scalars())
    seq = take_seqs(connection, 1)
    remove_vectors(connection, row.owner_id, ords)
    connection.execute(delete(outbox).where(outbox.c.episode_id == row.id))
    connection.execute(delete(passage).where(passage.c.episode_id == row.id))
    connection.execute(_UNCOUNT, {"owner_id": row.owner_id, "episode_id": row.id})
    connection.execute(delete(to_enrich).where(to_enrich.c.episode_id == row.id))
    connection.execute(delete(episode).where(episode.c.id == row.id))
    connection.execute(
        insert(tombstone).values(seq=seq, owner_id=row.owner_id, episode_id=row.id, ords=list(ords)),
    )
    connection.execute(insert(unfinished).values(seq=seq, chat_id=row.chat_id))
    marks = [uid_mark(row.uid), *([] if row.key is None else [delivery_mark(row.source, row.key)])]
    connection.execute(_MARK, [{"owner_id": row.owner_id, "mark": mark, "episode_id": row.id} for mark in marks])
    return Forgotten(seq, name, row.chat, row.id, ords)
