"""The journal in memory: the reference for its contract, and a home that is gone when the process ends."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC

import numpy as np

from goat.adapters.episode_uid import own_uid
from goat.adapters.forgotten_mark import delivery_mark, uid_mark
from goat.adapters.outbox_memory import Replies
from goat.ports.run import Clock
from goat.records.check import Fault
from goat.records.episodes import (
    Appended,
    ArchiveCounts,
    Change,
    Episode,
    Forgotten,
    NewEpisode,
    NewOutgoing,
    Passage,
    Span,
    Use,
)
from goat.records.search import Floats, VectorRow


@dataclass(slots=True)
class _Model:
    """The vectors of one model by (owner, ord), and how far they have followed."""

    cursor: int = 0
    vectors: dict[tuple[str, int], Floats] = field(default_factory=dict)


class MemoryArchive:
    """What the ports over it share. The episode with id `n` stands at `n - 1`; `seqs` holds its newest change.

    Of a forgotten episode its place is left, without words, and its number stands in `gone`.
    """

    def __init__(self) -> None:
        self.episodes: list[Episode] = []
        self.seqs: dict[int, int] = {}
        self.head = 0
        self.delivered: dict[tuple[str, str, str], int] = {}
        self.uids: dict[str, int] = {}
        self.passages: dict[int, tuple[Passage, ...]] = {}
        self.next_ord: Counter[str] = Counter()
        self.replies = Replies()
        self.models: defaultdict[str, _Model] = defaultdict(_Model)
        self.gone: set[int] = set()
        self.uses: dict[int, Use] = {}
        self.to_enrich: set[int] = set()
        self.marks: dict[tuple[str, str], int] = {}
        self.unfinished: dict[int, Forgotten] = {}

    @property
    def present(self) -> list[Episode]:
        """The episodes that were not forgotten, by id."""
        return [episode for episode in self.episodes if episode.id not in self.gone]

    def change(self, episode_id: int) -> int:
        """Give an episode the next `seq`."""
        self.head += 1
        self.seqs[episode_id] = self.head
        return self.head


class MemoryJournal:
    """See the port `Journal`."""

    def __init__(self, archive: MemoryArchive, clock: Clock) -> None:
        self._archive = archive
        self._clock = clock

    async def append(
        self,
        episodes: Sequence[NewEpisode],
        outgoing: Sequence[NewOutgoing] = (),
        topics: Mapping[str, str] | None = None,
    ) -> list[Appended]:
        """Take in the episodes, the replies and the topics."""
        if outgoing and not episodes:
            raise ValueError("an outgoing reply needs an episode that it carries")
        self._assign({new.owner for new in episodes}, topics or {})
        appended = [self._append_one(new, topics or {}) for new in episodes]
        if outgoing and not appended[-1].duplicate:
            for reply in outgoing:
                self._archive.replies.add(reply, appended[-1].episode.id, self._clock.now())
        return appended

    def _append_one(self, new: NewEpisode, topics: Mapping[str, str]) -> Appended:
        delivery = None if new.key is None else (new.owner, new.source, new.key)
        uid = new.uid or uuid.uuid4().hex
        there = self._named(uid)
        if there is not None and there.owner != new.owner:
            uid = own_uid(new.owner, uid)
            there = self._named(uid)
        if there is None and delivery in self._archive.delivered:
            there = self._archive.episodes[self._archive.delivered[delivery] - 1]
        if there is not None:
            return Appended(there, duplicate=True)
        forgotten = self._forgotten(new)
        if forgotten is not None:
            return Appended(forgotten, duplicate=True, forgotten=True)
        episode = Episode(
            id=len(self._archive.episodes) + 1,
            uid=uid,
            owner=new.owner,
            chat=new.chat,
            role=new.role,
            text=new.text,
            at=new.at.astimezone(UTC),
            exchange_id=new.exchange_id,
            speaker=new.speaker,
            topic_id=new.topic_id or topics.get(new.exchange_id, ""),
            tags=tuple(new.tags),
            source=new.source,
            key=new.key,
            meta=dict(new.meta),
        )
        first = self._archive.next_ord[new.owner]
        self._archive.next_ord[new.owner] += len(new.passages)
        self._archive.passages[episode.id] = tuple(
            Passage(new.owner, first + part, episode.id, part, span) for part, span in enumerate(new.passages)
        )
        self._archive.episodes.append(episode)
        self._archive.uids[uid] = episode.id
        if new.to_enrich:
            self._archive.to_enrich.add(episode.id)
        self._archive.change(episode.id)
        if delivery is not None:
            self._archive.delivered[delivery] = episode.id
        return Appended(episode, duplicate=False)

    def _forgotten(self, new: NewEpisode) -> Episode | None:
        marks = [uid_mark(uid) for uid in (new.uid, own_uid(new.owner, new.uid)) if new.uid]
        if new.key is not None:
            marks.append(delivery_mark(new.source, new.key))
        numbers = (self._archive.marks.get((new.owner, mark)) for mark in marks)
        return next((self._archive.episodes[number - 1] for number in numbers if number is not None), None)

    def _named(self, uid: str) -> Episode | None:
        number = self._archive.uids.get(uid)
        return None if number is None else self._archive.episodes[number - 1]

    def _assign(self, owners: set[str], topics: Mapping[str, str]) -> None:
        for place, episode in enumerate(self._archive.episodes):
            there = episode.id not in self._archive.gone
            if there and episode.exchange_id in topics and not episode.topic_id and episode.owner in owners:
                self._archive.episodes[place] = replace(episode, topic_id=topics[episode.exchange_id])
                self._archive.change(episode.id)

    async def episodes(self, owner: str, ids: Sequence[int]) -> list[Episode]:
        """The owner's episodes in the order of `ids`."""
        owned = {episode.id: episode for episode in self._owned(owner)}
        return [owned[number] for number in ids if number in owned]

    async def exchange(self, owner: str, exchange_ids: Sequence[str]) -> list[Episode]:
        """All episodes of these exchanges, oldest first."""
        wanted = set(exchange_ids)
        return [episode for episode in self._owned(owner) if episode.exchange_id in wanted]

    async def recent(self, owner: str, chat: str, limit: int, before: int | None = None) -> list[Episode]:
        """The newest `limit` episodes of a chat, oldest first."""
        said = [one for one in self._owned(owner) if one.chat == chat and (before is None or one.id < before)]
        return said[max(len(said) - max(limit, 0), 0) :]

    async def first(self, owner: str, chat: str) -> Episode | None:
        """The oldest episode of a chat."""
        return next((one for one in self._owned(owner) if one.chat == chat), None)

    async def changes(self, after: int, limit: int) -> list[Change]:
        """The next changes of all owners, by `seq`."""
        seqs = self._archive.seqs
        newer = sorted((e for e in self._archive.episodes if seqs[e.id] > after), key=lambda e: seqs[e.id])
        return [
            Change(seqs[e.id], e.owner, e.id, None if e.id in self._archive.gone else e, self._archive.passages[e.id])
            for e in newer[: max(limit, 0)]
        ]

    async def head(self) -> int:
        """The `seq` of the newest change."""
        return self._archive.head

    async def locate(self, owner: str, ords: Sequence[int]) -> dict[int, int]:
        """Map passage numbers to episode ids."""
        wanted = {int(number) for number in ords}
        return {passage.ord: passage.episode_id for passage in self._passages(owner) if passage.ord in wanted}

    async def passages(self, owner: str, ords: Sequence[int]) -> dict[int, Passage]:
        """The owner's passages by their numbers."""
        return {passage.ord: passage for passage in self._passages(owner) if passage.ord in ords}

    async def counts(self, owner: str, model: str) -> ArchiveCounts:
        """How much the owner's archive holds."""
        episodes = self._owned(owner)
        vectors = self._archive.models[model].vectors if model in self._archive.models else {}
        return ArchiveCounts(
            episodes=len(episodes),
            passages=len(self._passages(owner)),
            embedded=sum(whose == owner for whose, _ in vectors),
            chats=len({episode.chat for episode in episodes}),
        )

    def _owned(self, owner: str) -> list[Episode]:
        return [episode for episode in self._archive.present if episode.owner == owner]

    def _passages(self, owner: str) -> list[Passage]:
        return [passage for episode in self._owned(owner) for passage in self._archive.passages[episode.id]]


class MemoryTransfer:
    """See the port `Transfer`."""

    def __init__(self, archive: MemoryArchive) -> None:
        self._archive = archive

    async def owners(self) -> list[str]:
        """The names of all who have episodes, sorted."""
        return sorted({episode.owner for episode in self._archive.present})

    async def scan(self, owner: str, after: int, limit: int) -> list[Change]:
        """The owner's next episodes, by id."""
        seqs, passages = self._archive.seqs, self._archive.passages
        newer = [episode for episode in self._archive.present if episode.owner == owner and episode.id > after]
        return [Change(seqs[e.id], owner, e.id, e, passages[e.id]) for e in newer[: max(limit, 0)]]

    async def find(self, owner: str, uids: Sequence[str]) -> dict[str, int]:
        """Map uids to the ids of the owner's episodes."""
        found: dict[str, int] = {}
        for uid in uids:
            for name in (own_uid(owner, uid), uid):
                number = self._archive.uids.get(name)
                if number is not None and self._archive.episodes[number - 1].owner == owner:
                    found[uid] = number
        return found


class MemoryForgetting:
    """See the port `Forgetting`."""

    def __init__(self, archive: MemoryArchive) -> None:
        self._archive = archive

    async def forget(self, owner: str, ids: Sequence[int]) -> list[Forgotten]:
        """Remove episodes and everything that was made of them."""
        wanted = set(ids)
        found = [episode for episode in self._archive.present if episode.owner == owner and episode.id in wanted]
        return [self._forget(episode) for episode in found]

    async def chats(self, owner: str) -> list[str]:
        """The names of all chats that the owner has had, sorted."""
        return sorted({episode.chat for episode in self._archive.episodes if episode.owner == owner})

    async def put_aside(self) -> list[str]:
        """None: nothing is restored here."""
        return []

    async def unfinished(self) -> list[Forgotten]:
        """What was forgotten and not finished, by `seq`."""
        return sorted(self._archive.unfinished.values(), key=lambda one: one.seq)

    async def finish(self, forgotten: Sequence[Forgotten]) -> None:
        """There are no files."""
        for one in forgotten:
            self._archive.unfinished.pop(one.episode_id, None)

    def _forget(self, episode: Episode) -> Forgotten:
        archive, owner, number = self._archive, episode.owner, episode.id
        ords = tuple(passage.ord for passage in archive.passages[number])
        archive.passages[number] = tuple(
            Passage(owner, ord_, number, part, Span(0, 0)) for part, ord_ in enumerate(ords)
        )
        archive.gone.add(number)
        archive.uses.pop(number, None)
        archive.to_enrich.discard(number)
        archive.episodes[number - 1] = replace(episode, text="", speaker="", key=None, meta={})
        archive.uids.pop(episode.uid, None)
        archive.marks[owner, uid_mark(episode.uid)] = number
        if episode.key is not None:
            archive.delivered.pop((owner, episode.source, episode.key), None)
            archive.marks[owner, delivery_mark(episode.source, episode.key)] = number
        pending = archive.replies.pending
        for reply in [reply for reply in pending.values() if reply.episode_id == number]:
            del pending[reply.id]
        for held in archive.models.values():
            for ord_ in ords:
                held.vectors.pop((owner, ord_), None)
        gone = Forgotten(archive.change(number), owner, episode.chat, number, ords)
        archive.unfinished[number] = gone
        return gone


class MemoryIntegrity:
    """See the port `Integrity`. There is nothing that could be damaged without the process."""

    async def faults(self) -> list[Fault]:
        """None."""
        return []

    async def mend(self, faults: list[Fault]) -> None:
        """Nothing to do."""


class MemoryEmbeddings:
    """See the port `Embeddings`. Vectors go through float16, as they do on disk."""

    def __init__(self, archive: MemoryArchive) -> None:
        self._models = archive.models

    async def cursor(self, model: str) -> int:
        """How far the vectors of a model have followed."""
        return self._models[model].cursor if model in self._models else 0

    async def put(self, model: str, rows: Sequence[VectorRow], cursor: int) -> None:
        """Store vectors and move the cursor."""
        held = self._models[model]
        held.cursor = cursor
        for row in rows:
            held.vectors[row.owner, int(row.ord)] = row.vector.astype(np.float16).astype(np.float32)

    async def get(self, model: str, owner: str, ords: Sequence[int]) -> dict[int, Floats]:
        """The stored vectors of these passages."""
        vectors = self._models[model].vectors if model in self._models else {}
        return {int(number): vectors[owner, int(number)].copy() for number in ords if (owner, int(number)) in vectors}

    async def remove(self, pairs: Sequence[tuple[str, int]]) -> None:
        """Take out vectors, of every model."""
        for held in self._models.values():
            for owner, number in pairs:
                held.vectors.pop((owner, int(number)), None)

    async def models(self) -> list[str]:
        """The names of the models that have vectors here, sorted."""
        return sorted(name for name, held in self._models.items() if held.vectors)

    async def drop(self, model: str) -> None:
        """Remove a model."""
        self._models.pop(model, None)
