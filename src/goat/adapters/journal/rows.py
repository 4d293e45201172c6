"""Episodes and their passages as they are read from the tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from goat.adapters.journal.batches import batches
from goat.adapters.journal.schema import chat, episode, owner, passage
from goat.records.episodes import Episode, Passage, Role, Span

EPISODE = (
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
_PASSAGES = (
    select(passage, owner.c.name.label("owner"))
    .join(owner, owner.c.id == passage.c.owner_id)
    .where(passage.c.episode_id.in_(bindparam("ids", expanding=True)))
    .order_by(passage.c.episode_id, passage.c.part)
)


def episode_of(row: Row[*tuple[Any, ...]]) -> Episode:
    """The record of a row of `EPISODE`."""
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


def passage_of(row: Row[*tuple[Any, ...]]) -> Passage:
    """The record of a row of the table `passage` with its owner's name."""
    return Passage(row.owner, row.ord, row.episode_id, row.part, Span(row.start, row.end))


def passages_of(connection: Connection, episode_ids: Sequence[int]) -> dict[int, tuple[Passage, ...]]:
    """The passages of episodes, by episode id, in the order of their parts."""
    found: dict[int, list[Passage]] = defaultdict(list)
    for some in batches(episode_ids):
        for row in connection.execute(_PASSAGES, {"ids": list(some)}):
            found[row.episode_id].append(passage_of(row))
    return {episode_id: tuple(passages) for episode_id, passages in found.items()}
