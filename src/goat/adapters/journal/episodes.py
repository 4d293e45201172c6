"""The Journal port over SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select, union_all

from goat.adapters.database import Database
from goat.adapters.journal.append import Append
from goat.adapters.journal.batches import batches
from goat.adapters.journal.rows import EPISODE, episode_of, passage_of, passages_of
from goat.adapters.journal.schema import chat, emb, emb_model, episode, owner, passage, tombstone
from goat.ports.run import Clock
from goat.records.episodes import (
    Appended,
    ArchiveCounts,
    Change,
    Episode,
    NewEpisode,
    NewOutgoing,
    Passage,
    Span,
)

_ANY_ID = 2**63 - 1

# The owner is reached through the chat, so that ids are looked up one by one and not among all that the owner said.
_BY_ID = EPISODE.where(owner.c.name == bindparam("owner"), episode.c.id.in_(bindparam("ids", expanding=True)))
_OWNED = EPISODE.where(owner.c.name == bindparam("owner"), episode.c.owner_id == owner.c.id)
_BY_EXCHANGE = _OWNED.where(episode.c.exchange_id.in_(bindparam("exchange_ids", expanding=True)))
_RECENT = (
    _OWNED.where(
        chat.c.name == bindparam("chat"),
        episode.c.id < bindparam("before"),
    )
    .order_by(episode.c.id.desc())
    .limit(bindparam("limit"))
)
_FIRST = _OWNED.where(chat.c.name == bindparam("chat")).order_by(episode.c.id).limit(1)
_CHANGED = EPISODE.where(episode.c.seq > bindparam("after")).order_by(episode.c.seq).limit(bindparam("limit"))
_FORGOTTEN = (
    select(tombstone.c.seq, owner.c.name.label("owner"), tombstone.c.episode_id, tombstone.c.ords)
    .join(owner, owner.c.id == tombstone.c.owner_id)
    .where(tombstone.c.seq > bindparam("after"))
    .order_by(tombstone.c.seq)
    .limit(bindparam("limit"))
)
_NEWEST = union_all(select(func.max(episode.c.seq).label("seq")), select(func.max(tombstone.c.seq))).subquery()
_HEAD = select(func.coalesce(func.max(_NEWEST.c.seq), 0))
_LOCATE = (
    select(passage.c.ord, passage.c.episode_id)
    .join(owner, owner.c.id == passage.c.owner_id)
    .where(owner.c.name == bindparam("owner"), passage.c.ord.in_(bindparam("ords", expanding=True)))
)
_PASSAGES = (
    select(passage, owner.c.name.label("owner"))
    .join(owner, owner.c.id == passage.c.owner_id)
    .where(owner.c.name == bindparam("owner"), passage.c.ord.in_(bindparam("ords", expanding=True)))
)

_OWNER_ID = select(owner.c.id).where(owner.c.name == bindparam("owner")).scalar_subquery()
_MODEL_ID = select(emb_model.c.id).where(emb_model.c.name == bindparam("model")).scalar_subquery()
_COUNTS = select(
    select(func.count()).select_from(episode).where(episode.c.owner_id == _OWNER_ID).scalar_subquery(),
    select(func.count()).select_from(passage).where(passage.c.owner_id == _OWNER_ID).scalar_subquery(),
    select(func.count())
    .select_from(emb)
    .where(emb.c.owner_id == _OWNER_ID, emb.c.model_id == _MODEL_ID)
    .scalar_subquery(),
    select(func.count(episode.c.chat_id.distinct())).where(episode.c.owner_id == _OWNER_ID).scalar_subquery(),
)


class SqlJournal:
    """The archive in the tables `episode`, `passage` and `tombstone`; see the port `Journal` for its promises."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database.for_port("Journal")
        self._clock = clock

    async def append(
        self,
        episodes: Sequence[NewEpisode],
        outgoing: Sequence[NewOutgoing] = (),
        topics: Mapping[str, str] | None = None,
    ) -> list[Appended]:
        """Commit episodes, replies and topics; a redelivered last episode brings no reply into the outbox."""
        if outgoing and not episodes:
            raise ValueError("an outgoing reply needs an episode that it carries")
        now = self._clock.now()
        return await self._db.write(lambda connection: Append(connection, now, topics or {}).all(episodes, outgoing))

    async def episodes(self, owner: str, ids: Sequence[int]) -> list[Episode]:
        """The owner's episodes in the order of `ids`."""
        return await self._db.read(lambda connection: _by_id(connection, owner, ids))

    async def exchange(self, owner: str, exchange_ids: Sequence[str]) -> list[Episode]:
        """All episodes of these exchanges, oldest first."""
        return await self._db.read(lambda connection: _by_exchange(connection, owner, exchange_ids))

    async def recent(self, owner: str, chat: str, limit: int, before: int | None = None) -> list[Episode]:
        """The newest `limit` episodes of a chat, oldest first."""
        wanted = {
            "owner": owner,
            "chat": chat,
            "limit": max(limit, 0),
            "before": _ANY_ID if before is None else before,
        }
        newest_first = await self._db.read(lambda connection: connection.execute(_RECENT, wanted).all())
        return [episode_of(row) for row in reversed(newest_first)]

    async def first(self, owner: str, chat: str) -> Episode | None:
        """The oldest episode of a chat."""
        wanted = {"owner": owner, "chat": chat}
        row = await self._db.read(lambda connection: connection.execute(_FIRST, wanted).one_or_none())
        return None if row is None else episode_of(row)

    async def changes(self, after: int, limit: int) -> list[Change]:
        """The next changes of all owners, by `seq`; a forgotten passage keeps its number and an empty span."""
        return await self._db.read(lambda connection: _changes(connection, after, max(limit, 0)))

    async def head(self) -> int:
        """The `seq` of the newest change."""
        return await self._db.read(lambda connection: int(connection.execute(_HEAD).scalar_one()))

    async def locate(self, owner: str, ords: Sequence[int]) -> dict[int, int]:
        """Map passage numbers to episode ids."""
        return await self._db.read(lambda connection: _locate(connection, owner, ords))

    async def passages(self, owner: str, ords: Sequence[int]) -> dict[int, Passage]:
        """The owner's passages by their numbers."""
        return await self._db.read(lambda connection: _passages(connection, owner, ords))

    async def counts(self, owner: str, model: str) -> ArchiveCounts:
        """How much the owner's archive holds."""
        wanted = {"owner": owner, "model": model}
        return await self._db.read(lambda connection: ArchiveCounts(*connection.execute(_COUNTS, wanted).one()))


def _by_id(connection: Connection, owner: str, ids: Sequence[int]) -> list[Episode]:
    found: dict[int, Episode] = {}
    for some in batches(ids):
        for row in connection.execute(_BY_ID, {"owner": owner, "ids": list(some)}):
            found[row.id] = episode_of(row)
    return [found[number] for number in ids if number in found]


def _by_exchange(connection: Connection, owner: str, exchange_ids: Sequence[str]) -> list[Episode]:
    found: list[Episode] = []
    for some in batches(list(dict.fromkeys(exchange_ids))):
        rows = connection.execute(_BY_EXCHANGE, {"owner": owner, "exchange_ids": list(some)})
        found += [episode_of(row) for row in rows]
    return sorted(found, key=lambda episode: episode.id)


def _changes(connection: Connection, after: int, limit: int) -> list[Change]:
    page = {"after": after, "limit": limit}
    said = connection.execute(_CHANGED, page).all()
    forgotten = connection.execute(_FORGOTTEN, page).all()
    passages = passages_of(connection, [row.id for row in said])
    changes = [Change(row.seq, row.owner, row.id, episode_of(row), passages.get(row.id, ())) for row in said]
    changes += [Change(row.seq, row.owner, row.episode_id, None, _unspoken(row)) for row in forgotten]
    return sorted(changes, key=lambda change: change.seq)[:limit]


def _unspoken(row: Row[*tuple[Any, ...]]) -> tuple[Passage, ...]:
    """The passages of a forgotten episode: their numbers, of which the indexes must let go."""
    return tuple(Passage(row.owner, ord_, row.episode_id, part, Span(0, 0)) for part, ord_ in enumerate(row.ords))


def _locate(connection: Connection, owner: str, ords: Sequence[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for some in batches(ords):
        for row in connection.execute(_LOCATE, {"owner": owner, "ords": [int(number) for number in some]}):
            found[row.ord] = row.episode_id
    return found


def _passages(connection: Connection, owner: str, ords: Sequence[int]) -> dict[int, Passage]:
    found: dict[int, Passage] = {}
    for some in batches(ords):
        for row in connection.execute(_PASSAGES, {"owner": owner, "ords": [int(number) for number in some]}):
            found[row.ord] = passage_of(row)
    return found
