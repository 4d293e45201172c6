"""The Journal port over SQL."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, union_all, update

from goat.adapters.database import Database
from goat.adapters.journal.batches import batches
from goat.adapters.journal.names import Names
from goat.adapters.journal.schema import (
    chat,
    counter,
    emb,
    emb_model,
    episode,
    outbox,
    owner,
    passage,
    tombstone,
)
from goat.ports.run import Clock
from goat.records.episodes import (
    Appended,
    ArchiveCounts,
    Change,
    Episode,
    NewEpisode,
    NewOutgoing,
    Passage,
    Role,
    Span,
)

_ANY_ID = 2**63 - 1

_EPISODE = (
    select(
        episode.c.id,
        episode.c.uid,
        episode.c.seq,
        owner.c.name.label("owner"),
        chat.c.name.label("chat"),
        episode.c.role,
        episode.c.text,
        episode.c.at,
        episode.c.exchange_id,
        episode.c.speaker,
        episode.c.topic_id,
        episode.c.tags,
        episode.c.source,
        episode.c.key,
        episode.c.meta,
    )
    .join(chat, chat.c.id == episode.c.chat_id)
    .join(owner, owner.c.id == chat.c.owner_id)
)
# The owner is reached through the chat, so that ids are looked up one by one and not among all that the owner said.
_BY_ID = _EPISODE.where(owner.c.name == bindparam("owner"), episode.c.id.in_(bindparam("ids", expanding=True)))
_OWNED = _EPISODE.where(owner.c.name == bindparam("owner"), episode.c.owner_id == owner.c.id)
_BY_EXCHANGE = _OWNED.where(episode.c.exchange_id.in_(bindparam("exchange_ids", expanding=True)))
_RECENT = (
    _OWNED.where(
        chat.c.name == bindparam("chat"),
        episode.c.id < bindparam("before"),
    )
    .order_by(episode.c.id.desc())
    .limit(bindparam("limit"))
)
_DELIVERED = _EPISODE.where(
    episode.c.owner_id == bindparam("owner_id"),
    episode.c.source == bindparam("source"),
    episode.c.key == bindparam("key"),
)

_CHANGED = _EPISODE.where(episode.c.seq > bindparam("after")).order_by(episode.c.seq).limit(bindparam("limit"))
_FORGOTTEN = (
    select(tombstone.c.seq, owner.c.name.label("owner"), tombstone.c.episode_id, tombstone.c.ords)
    .join(owner, owner.c.id == tombstone.c.owner_id)
    .where(tombstone.c.seq > bindparam("after"))
    .order_by(tombstone.c.seq)
    .limit(bindparam("limit"))
)
_PASSAGES = (
    select(passage, owner.c.name.label("owner"))
    .join(owner, owner.c.id == passage.c.owner_id)
    .where(passage.c.episode_id.in_(bindparam("ids", expanding=True)))
    .order_by(passage.c.episode_id, passage.c.part)
)
_NEWEST = union_all(select(func.max(episode.c.seq).label("seq")), select(func.max(tombstone.c.seq))).subquery()
_HEAD = select(func.coalesce(func.max(_NEWEST.c.seq), 0))
_LOCATE = (
    select(passage.c.ord, passage.c.episode_id)
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

_ADD = insert(episode).returning(episode.c.id)
_NEXT_SEQ = update(counter).values(value=counter.c.value + 1).returning(counter.c.value)
_WITHOUT_TOPIC = (
    select(episode.c.id, episode.c.exchange_id)
    .where(
        episode.c.owner_id == bindparam("owner_id"),
        episode.c.exchange_id.in_(bindparam("exchange_ids", expanding=True)),
        episode.c.topic_id == "",
    )
    .order_by(episode.c.id)
)
_SET_TOPIC = (
    update(episode)
    .where(episode.c.id == bindparam("episode_id"))
    .values(topic_id=bindparam("topic"), seq=bindparam("new_seq"))
)
_TAKE_ORDS = (
    update(owner)
    .where(owner.c.id == bindparam("owner_id"))
    .values(next_ord=owner.c.next_ord + bindparam("count"))
    .returning(owner.c.next_ord)
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
        return await self._db.write(lambda connection: _Append(connection, now, topics or {}).all(episodes, outgoing))

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
        return [_episode(row) for row in reversed(newest_first)]

    async def changes(self, after: int, limit: int) -> list[Change]:
        """The next changes of all owners, by `seq`; a forgotten passage keeps its number and an empty span."""
        return await self._db.read(lambda connection: _changes(connection, after, max(limit, 0)))

    async def head(self) -> int:
        """The `seq` of the newest change."""
        return await self._db.read(lambda connection: int(connection.execute(_HEAD).scalar_one()))

    async def locate(self, owner: str, ords: Sequence[int]) -> dict[int, int]:
        """Map passage numbers to episode ids."""
        return await self._db.read(lambda connection: _locate(connection, owner, ords))

    async def counts(self, owner: str, model: str) -> ArchiveCounts:
        """How much the owner's archive holds."""
        wanted = {"owner": owner, "model": model}
        return await self._db.read(lambda connection: ArchiveCounts(*connection.execute(_COUNTS, wanted).one()))


class _Append:
    """One append, inside its transaction."""

    def __init__(self, connection: Connection, now: datetime, topics: Mapping[str, str]) -> None:
        self._connection = connection
        self._now = now
        self._topics = topics
        self._names = Names(connection)

    def all(self, episodes: Sequence[NewEpisode], outgoing: Sequence[NewOutgoing]) -> list[Appended]:
        """Topics come first: they reach older episodes, and a redelivered one is to come back as it then stands."""
        if self._topics:
            for name in dict.fromkeys(new.owner for new in episodes):
                self._assign_topics(self._names.owner(name))
        appended = [self._one(new) for new in episodes]
        if outgoing and not appended[-1].duplicate:
            self._send(outgoing, appended[-1].episode.id)
        return appended

    def _one(self, new: NewEpisode) -> Appended:
        owner_id = self._names.owner(new.owner)
        delivered = self._delivered(owner_id, new)
        if delivered is not None:
            return Appended(delivered, duplicate=True)
        topic_id = new.topic_id or self._topics.get(new.exchange_id, "")
        uid = uuid.uuid4().hex
        row = {
            "uid": uid,
            "seq": self._next_seq(),
            "owner_id": owner_id,
            "chat_id": self._names.chat(owner_id, new.chat),
            "role": str(new.role),
            "speaker": new.speaker,
            "text": new.text,
            "at": new.at,
            "recorded_at": self._now,
            "exchange_id": new.exchange_id,
            "topic_id": topic_id,
            "tags": new.tags,
            "source": new.source,
            "key": new.key,
            "meta": dict(new.meta),
        }
        episode_id = int(self._connection.execute(_ADD, row).scalar_one())
        self._add_passages(owner_id, episode_id, new.passages)
        return Appended(_stored(new, episode_id, uid, topic_id), duplicate=False)

    def _assign_topics(self, owner_id: int) -> None:
        """An episode that gets its topic takes a new `seq`, so that the indexes follow."""
        for exchange_ids in batches(list(self._topics)):
            without = {"owner_id": owner_id, "exchange_ids": list(exchange_ids)}
            for row in self._connection.execute(_WITHOUT_TOPIC, without).all():
                given = {"episode_id": row.id, "topic": self._topics[row.exchange_id], "new_seq": self._next_seq()}
                self._connection.execute(_SET_TOPIC, given)

    def _next_seq(self) -> int:
        return int(self._connection.execute(_NEXT_SEQ).scalar_one())

    def _delivered(self, owner_id: int, new: NewEpisode) -> Episode | None:
        if new.key is None:
            return None
        delivery = {"owner_id": owner_id, "source": new.source, "key": new.key}
        row = self._connection.execute(_DELIVERED, delivery).one_or_none()
        return None if row is None else _episode(row)

    def _add_passages(self, owner_id: int, episode_id: int, spans: Sequence[Span]) -> None:
        if not spans:
            return
        taken = {"owner_id": owner_id, "count": len(spans)}
        first = int(self._connection.execute(_TAKE_ORDS, taken).scalar_one()) - len(spans)
        rows = [
            {
                "owner_id": owner_id,
                "ord": first + part,
                "episode_id": episode_id,
                "part": part,
                "start": span.start,
                "end": span.end,
            }
            for part, span in enumerate(spans)
        ]
        self._connection.execute(insert(passage), rows)

    def _send(self, outgoing: Sequence[NewOutgoing], episode_id: int) -> None:
        for reply in outgoing:
            owner_id = self._names.owner(reply.owner)
            row = {
                "owner_id": owner_id,
                "chat_id": self._names.chat(owner_id, reply.chat),
                "channel": reply.channel,
                "text": reply.text,
                "episode_id": episode_id,
                "created": self._now,
            }
            self._connection.execute(insert(outbox), row)


def _stored(new: NewEpisode, episode_id: int, uid: str, topic_id: str) -> Episode:
    """The episode as a later read will give it."""
    return Episode(
        id=episode_id,
        uid=uid,
        owner=new.owner,
        chat=new.chat,
        role=new.role,
        text=new.text,
        at=new.at.astimezone(UTC),
        exchange_id=new.exchange_id,
        speaker=new.speaker,
        topic_id=topic_id,
        tags=tuple(new.tags),
        source=new.source,
        key=new.key,
        meta=dict(new.meta),
    )


def _episode(row: Row[*tuple[Any, ...]]) -> Episode:
    return Episode(
        id=row.id,
        uid=row.uid,
        owner=row.owner,
        chat=row.chat,
        role=Role(row.role),
        text=row.text,
        at=row.at,
        exchange_id=row.exchange_id,
        speaker=row.speaker,
        topic_id=row.topic_id,
        tags=tuple(row.tags),
        source=row.source,
        key=row.key,
        meta=row.meta,
    )


def _by_id(connection: Connection, owner: str, ids: Sequence[int]) -> list[Episode]:
    found: dict[int, Episode] = {}
    for some in batches(ids):
        for row in connection.execute(_BY_ID, {"owner": owner, "ids": list(some)}):
            found[row.id] = _episode(row)
    return [found[number] for number in ids if number in found]


def _by_exchange(connection: Connection, owner: str, exchange_ids: Sequence[str]) -> list[Episode]:
    found: list[Episode] = []
    for some in batches(list(dict.fromkeys(exchange_ids))):
        rows = connection.execute(_BY_EXCHANGE, {"owner": owner, "exchange_ids": list(some)})
        found += [_episode(row) for row in rows]
    return sorted(found, key=lambda episode: episode.id)


def _changes(connection: Connection, after: int, limit: int) -> list[Change]:
    page = {"after": after, "limit": limit}
    said = connection.execute(_CHANGED, page).all()
    forgotten = connection.execute(_FORGOTTEN, page).all()
    passages = _passages(connection, [row.id for row in said])
    changes = [Change(row.seq, row.owner, row.id, _episode(row), passages.get(row.id, ())) for row in said]
    changes += [Change(row.seq, row.owner, row.episode_id, None, _unspoken(row)) for row in forgotten]
    return sorted(changes, key=lambda change: change.seq)[:limit]


def _passages(connection: Connection, episode_ids: Sequence[int]) -> dict[int, tuple[Passage, ...]]:
    found: dict[int, list[Passage]] = defaultdict(list)
    for some in batches(episode_ids):
        for row in connection.execute(_PASSAGES, {"ids": list(some)}):
            span = Span(row.start, row.end)
            found[row.episode_id].append(Passage(row.owner, row.ord, row.episode_id, row.part, span))
    return {episode_id: tuple(passages) for episode_id, passages in found.items()}


def _unspoken(row: Row[*tuple[Any, ...]]) -> tuple[Passage, ...]:
    """The passages of a forgotten episode: their numbers, of which the indexes must let go."""
    return tuple(Passage(row.owner, ord_, row.episode_id, part, Span(0, 0)) for part, ord_ in enumerate(row.ords))


def _locate(connection: Connection, owner: str, ords: Sequence[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for some in batches(ords):
        for row in connection.execute(_LOCATE, {"owner": owner, "ords": [int(number) for number in some]}):
            found[row.ord] = row.episode_id
    return found
