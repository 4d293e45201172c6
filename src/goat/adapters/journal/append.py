"""One append to the journal, inside its transaction: a message of a turn, or hundreds of an import.

The number of statements does not grow with the number of episodes, only with the number of their owners and sources.
"""

from __future__ import annotations

import os
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from goat.adapters.episode_uid import own_uid
from goat.adapters.forgotten_mark import delivery_mark, uid_mark
from goat.adapters.journal.batches import batches
from goat.adapters.journal.counter import take_seqs
from goat.adapters.journal.names import Names
from goat.adapters.journal.outbox import add_reply
from goat.adapters.journal.rows import EPISODE, episode_of
from goat.adapters.journal.schema import episode, forgotten, owner, passage, to_enrich
from goat.records.episodes import Appended, Episode, NewEpisode, NewOutgoing

_ADD = insert(episode).returning(episode.c.seq, episode.c.id)
_TAKE_ORDS = (
    update(owner)
    .where(owner.c.id == bindparam("owner_id"))
    .values(next_ord=owner.c.next_ord + bindparam("count"))
    .returning(owner.c.next_ord)
)
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
_DELIVERED = EPISODE.where(
    episode.c.owner_id == bindparam("owner_id"),
    episode.c.source == bindparam("source"),
    episode.c.key.in_(bindparam("keys", expanding=True)),
)
_FORGOTTEN = select(forgotten.c.mark, forgotten.c.episode_id).where(
    forgotten.c.owner_id == bindparam("owner_id"), forgotten.c.mark.in_(bindparam("marks", expanding=True))
)
_NAMED = EPISODE.where(episode.c.uid.in_(bindparam("uids", expanding=True)))


@dataclass(slots=True)
class _Place:
    """An episode that stands in the journal, or one that is about to: then `episode` comes with the insert."""

    owner: str
    new: NewEpisode
    uid: str = ""
    topic_id: str = ""
    episode: Episode | None = None
    forgotten: bool = False


class Append:
    """See `Journal.append`. `now` is when the episodes arrive, `topics` maps exchange ids to topic ids."""

    def __init__(self, connection: Connection, now: datetime, topics: Mapping[str, str]) -> None:
        self._connection = connection
        self._now = now
        self._topics = topics
        self._names = Names(connection)
        self._by_key: dict[tuple[str, str, str], _Place] = {}
        self._by_uid: dict[str, _Place] = {}
        self._forgotten: dict[tuple[str, str], int] = {}

    def all(self, episodes: Sequence[NewEpisode], outgoing: Sequence[NewOutgoing]) -> list[Appended]:
        """Topics come first: they reach older episodes, and a redelivered one is to come back as it then stands."""
        if self._topics:
            for name in dict.fromkeys(new.owner for new in episodes):
                self._assign_topics(self._names.owner(name))
        self._find_delivered(episodes)
        self._find_named(episodes)
        self._find_forgotten(episodes)
        placed = [self._place(new, uid) for new, uid in zip(episodes, _new_uids(len(episodes)), strict=True)]
        self._add([place for place, duplicate in placed if not duplicate])
        appended = [Appended(_stored(place), duplicate, place.forgotten) for place, duplicate in placed]
        if outgoing and not appended[-1].duplicate:
            self._send(outgoing, appended[-1].episode.id)
        return appended

    def _assign_topics(self, owner_id: int) -> None:
        """An episode that gets its topic takes a new `seq`, so that the indexes follow."""
        for exchange_ids in batches(list(self._topics)):
            without = {"owner_id": owner_id, "exchange_ids": list(exchange_ids)}
            for row in self._connection.execute(_WITHOUT_TOPIC, without).all():
                given = {
                    "episode_id": row.id,
                    "topic": self._topics[row.exchange_id],
                    "new_seq": take_seqs(self._connection, 1),
                }
                self._connection.execute(_SET_TOPIC, given)

    def _find_delivered(self, episodes: Sequence[NewEpisode]) -> None:
        keys: defaultdict[tuple[str, str], dict[str, NewEpisode]] = defaultdict(dict)
        for new in episodes:
            if new.key is not None:
                keys[new.owner, new.source][new.key] = new
        for (name, source), wanted in keys.items():
            for some in batches(list(wanted)):
                delivery = {"owner_id": self._names.owner(name), "source": source, "keys": list(some)}
                for row in self._connection.execute(_DELIVERED, delivery):
                    self._by_key[name, source, row.key] = _Place(
                        name, wanted[row.key], row.uid, episode=episode_of(row)
                    )

    def _find_named(self, episodes: Sequence[NewEpisode]) -> None:
        wanted = {uid: new for new in episodes if new.uid for uid in (new.uid, own_uid(new.owner, new.uid))}
        for some in batches(list(wanted)):
            for row in self._connection.execute(_NAMED, {"uids": list(some)}):
                self._by_uid[row.uid] = _Place(row.owner, wanted[row.uid], row.uid, episode=episode_of(row))

    def _find_forgotten(self, episodes: Sequence[NewEpisode]) -> None:
        marks: defaultdict[str, set[str]] = defaultdict(set)
        for new in episodes:
            marks[new.owner].update(_marks(new))
        for name, wanted in marks.items():
            for some in batches(sorted(wanted)):
                mine = {"owner_id": self._names.owner(name), "marks": list(some)}
                for row in self._connection.execute(_FORGOTTEN, mine):
                    self._forgotten[name, row.mark] = row.episode_id

    def _place(self, new: NewEpisode, new_uid: str) -> tuple[_Place, bool]:
        """Where the episode stands or will stand, and whether that place was taken already."""
        uid = new.uid or new_uid
        there = self._by_uid.get(uid)
        if there is not None and there.owner != new.owner:
            uid = own_uid(new.owner, uid)
            there = self._by_uid.get(uid)
        if there is None and new.key is not None:
            there = self._by_key.get((new.owner, new.source, new.key))
        if there is None:
            there = self._place_forgotten(new, uid)
        if there is not None:
            return there, True
        place = _Place(new.owner, new, uid, new.topic_id or self._topics.get(new.exchange_id, ""))
        self._by_uid[uid] = place
        if new.key is not None:
            self._by_key[new.owner, new.source, new.key] = place
        return place, False

    def _place_forgotten(self, new: NewEpisode, uid: str) -> _Place | None:
        for mark in _marks(new):
            number = self._forgotten.get((new.owner, mark))
            if number is not None:
                place = _Place(new.owner, replace(new, text="", speaker="", meta={}), uid, new.topic_id, forgotten=True)
                place.episode = _episode(place, number)
                return place
        return None

    def _add(self, places: Sequence[_Place]) -> None:
        if not places:
            return
        first = take_seqs(self._connection, len(places))
        rows = [self._row(place, first + offset) for offset, place in enumerate(places)]
        ids = {row.seq: int(row.id) for row in self._connection.execute(_ADD, rows)}
        for offset, place in enumerate(places):
            place.episode = _episode(place, ids[first + offset])
        self._add_passages(places)
        if bare := [{"episode_id": _stored(place).id} for place in places if place.new.to_enrich]:
            self._connection.execute(insert(to_enrich), bare)

    def _row(self, place: _Place, seq: int) -> dict[str, Any]:
        new = place.new
        owner_id = self._names.owner(new.owner)
        return {
            "uid": place.uid,
            "seq": seq,
            "owner_id": owner_id,
            "chat_id": self._names.chat(owner_id, new.chat),
            "role": str(new.role),
            "speaker": new.speaker,
            "text": new.text,
            "at": new.at,
            "recorded_at": self._now,
            "exchange_id": new.exchange_id,
            "topic_id": place.topic_id,
            "tags": new.tags,
            "source": new.source,
            "key": new.key,
            "meta": dict(new.meta),
        }

    def _add_passages(self, places: Iterable[_Place]) -> None:
        """Numbers are dense within an owner and follow the order of the episodes."""
        by_owner: defaultdict[int, list[dict[str, int]]] = defaultdict(list)
        for place in places:
            rows = by_owner[self._names.owner(place.owner)]
            for part, span in enumerate(place.new.passages):
                rows.append({"episode_id": _stored(place).id, "part": part, "start": span.start, "end": span.end})
        for owner_id, rows in by_owner.items():
            if not rows:
                continue
            taken = {"owner_id": owner_id, "count": len(rows)}
            first = int(self._connection.execute(_TAKE_ORDS, taken).scalar_one()) - len(rows)
            numbered = [{"owner_id": owner_id, "ord": first + offset, **row} for offset, row in enumerate(rows)]
            self._connection.execute(insert(passage), numbered)

    def _send(self, outgoing: Sequence[NewOutgoing], episode_id: int) -> None:
        for reply in outgoing:
            add_reply(self._connection, self._names, reply, episode_id, self._now)


def _marks(new: NewEpisode) -> list[str]:
    """By what the episode would be recognised if it was forgotten; nothing for one that comes from no delivery."""
    named = [uid_mark(uid) for uid in (new.uid, own_uid(new.owner, new.uid))] if new.uid else []
    return named if new.key is None else [*named, delivery_mark(new.source, new.key)]


def _new_uids(count: int) -> Iterator[str]:
    """Random UUIDs (RFC 9562, version 4) as 32 letters, from one call to the system's source of chance."""
    chance = os.urandom(16 * count)
    return (uuid.UUID(bytes=chance[start : start + 16], version=4).hex for start in range(0, len(chance), 16))


def _stored(place: _Place) -> Episode:
    assert place.episode is not None
    return place.episode


def _episode(place: _Place, episode_id: int) -> Episode:
    """The episode as a later read will give it."""
    new = place.new
    return Episode(
        id=episode_id,
        uid=place.uid,
        owner=new.owner,
        chat=new.chat,
        role=new.role,
        text=new.text,
        at=new.at.astimezone(UTC),
        exchange_id=new.exchange_id,
        speaker=new.speaker,
        topic_id=place.topic_id,
        tags=tuple(new.tags),
        source=new.source,
        key=new.key,
        meta=dict(new.meta),
    )
