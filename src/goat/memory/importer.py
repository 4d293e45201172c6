"""Bringing a history in: every message once, with its own time, in the words of the one who said it.

A history is read twice. The first reading finds what is wrong with it, and who speaks in it, before anything is
written; the second writes. What stands in the journal already is passed over, so an import that was killed goes on
when it is called again, and one that is repeated adds nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, TypeAlias, TypeVar

from goat.failpoints import reach
from goat.memory.archive import Archive
from goat.memory.enrich import ENRICHED
from goat.memory.read_ahead import in_chunks
from goat.memory.senders import Senders, Sides
from goat.ports.edges import HistorySource
from goat.ports.stores import PermanentStore, Transfer, Uses
from goat.records.episodes import Appended, NewEpisode, Role, Use
from goat.records.history import ArchivedFact, ArchivedIdentity, BadRecord, HistoryKind, HistoryRecord
from goat.records.memory import Fact, IdentityText, PermanentHistory
from goat.retrieval.passages import split_passages

T = TypeVar("T")

IMPORTED: Final = "imported"
"""The tag of what an import archives."""

BATCH: Final = 512
"""Messages between two commits: a killed import repeats the reading of at most these."""

BAD_SHOWN: Final = 10
"""How many of the records that cannot be imported are named."""

_OPEN_QUESTIONS: Final = 1000
"""In how many chats at once an answer finds its question."""

Told: TypeAlias = Callable[[int, int], None]
"""Told how many bytes and how many records were read."""


def _untold(_position: int, _records: int) -> None:
    return


@dataclass(slots=True)
class Survey:
    """What a history holds. `owners` are those that an export of several people names; `bad` counts the records that
    cannot be imported, and `first_bad` are the first of them."""

    records: int = 0
    senders: Senders = field(default_factory=Senders)
    owners: set[str] = field(default_factory=set)
    bad: int = 0
    first_bad: list[BadRecord] = field(default_factory=list)

    def note_bad(self, record: BadRecord) -> None:
        """Count a record that cannot be imported."""
        self.bad += 1
        if len(self.first_bad) < BAD_SHOWN:
            self.first_bad.append(record)

    def note(self, record: HistoryRecord) -> None:
        """Count a record."""
        self.records += 1
        if record.archived is None:
            self.senders.note(record)
        elif record.archived.owner:
            self.owners.add(record.archived.owner)


@dataclass(frozen=True, slots=True)
class Aim:
    """Whose memory a history becomes. `sides` tells the owner's words from those of others.

    A line that an export of several people says to be another person's is left out, unless `everybody` takes each to
    its own. Without `values` the facts and the identity of our own export are left out.
    """

    owner: str
    sides: Sides
    everybody: bool = False
    values: bool = True

    def takes(self, said: str) -> str | None:
        """The owner for what an export says to be `said`'s (empty: it does not say); None leaves it out."""
        if not said or said == self.owner:
            return self.owner
        return said if self.everybody else None


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did. `known` messages stood in the journal already, `forgotten` ones did and are not brought back,
    `of_others` were another owner's, `values` are the facts and identity texts that were new."""

    new: int = 0
    known: int = 0
    forgotten: int = 0
    of_others: int = 0
    chats: int = 0
    values: int = 0


async def survey(source: HistorySource, skip_bad: bool, told: Told = _untold) -> Survey:
    """Read a history once without writing anything.

    Raises `HistoryError` at the first record that cannot be imported, unless `skip_bad` counts them.
    """
    found = Survey()
    on_bad = found.note_bad if skip_bad else None
    async with aclosing(in_chunks(_each(source.read(on_bad)), BATCH)) as chunks:
        async for chunk in chunks:
            for record in chunk:
                found.note(record)
            told(chunk[-1].position, found.records)
    async with aclosing(in_chunks(_each(source.values(on_bad)), BATCH)) as chunks_of_values:
        async for values in chunks_of_values:
            found.owners.update(value.owner for value in values if value.owner)
    return found


class Importer:
    """Writes histories into the archive."""

    def __init__(self, archive: Archive, transfer: Transfer, permanent: PermanentStore, uses: Uses) -> None:
        self._archive = archive
        self._transfer = transfer
        self._permanent = permanent
        self._uses = uses

    async def run(self, source: HistorySource, aim: Aim, skip_bad: bool, told: Told = _untold) -> Imported:
        """Archive what is new in a history, and let the word index follow.

        Raises `HistoryError` as `survey` does, and `BackendUnavailable` when the journal cannot be written; what was
        committed until then stays, and the next call goes on from there.
        """
        on_bad = _passed_over if skip_bad else None
        new = known = forgotten = of_others = 0
        chats: set[str] = set()
        async with aclosing(in_chunks(_drafts(source.read(on_bad), aim), BATCH)) as chunks:
            async for chunk in chunks:
                episodes = [draft.episode for draft in chunk if draft.episode is not None]
                appended = await self._archive.append(episodes) if episodes else []
                await self._take_uses([draft for draft in chunk if draft.episode is not None], appended)
                fresh = sum(not one.duplicate for one in appended)
                gone = sum(one.forgotten for one in appended)
                new += fresh
                forgotten += gone
                known += len(appended) - fresh - gone
                of_others += len(chunk) - len(episodes)
                chats.update(episode.chat for episode in episodes)
                told(chunk[-1].position, new + known + forgotten + of_others)
        await self._archive.catch_up_words()
        values = await self._take_values(source, aim, on_bad) if aim.values else 0
        return Imported(new, known, forgotten, of_others, len(chats), values)

    async def _take_uses(self, drafts: Sequence[_Draft], appended: Sequence[Appended]) -> None:
        """Take over how often messages of our own export were recalled."""
        brought: defaultdict[str, dict[int, Use]] = defaultdict(dict)
        for draft, one in zip(drafts, appended, strict=True):
            if draft.use is not None and not one.forgotten:
                brought[one.episode.owner][one.episode.id] = draft.use
        for owner, uses in brought.items():
            await self._uses.take_in(owner, uses)

    async def _take_values(self, source: HistorySource, aim: Aim, on_bad: Callable[[BadRecord], None] | None) -> int:
        """Take over facts and identity texts of our own export; return how many were new."""
        by_owner: defaultdict[str, list[ArchivedFact | ArchivedIdentity]] = defaultdict(list)
        async with aclosing(in_chunks(_each(source.values(on_bad)), BATCH)) as chunks:
            async for chunk in chunks:
                for value in chunk:
                    owner = aim.takes(value.owner)
                    if owner is not None:
                        by_owner[owner].append(value)
        taken = 0
        for owner, brought in by_owner.items():
            facts = [value for value in brought if isinstance(value, ArchivedFact)]
            ids = await self._transfer.find(owner, [fact.source_uid for fact in facts if fact.source_uid])
            history = PermanentHistory(
                tuple(Fact(f.key, f.value, f.since, f.until, ids.get(f.source_uid)) for f in facts),
                tuple(IdentityText(v.text, v.since, v.until) for v in brought if isinstance(v, ArchivedIdentity)),
            )
            taken += await self._permanent.take_in(owner, history)
        return taken


@dataclass(frozen=True, slots=True)
class _Draft:
    """A message that is ready for the journal, None for one that is left out, where its record ended, and how often it
    was recalled before."""

    position: int
    episode: NewEpisode | None
    use: Use | None = None


def _each(items: Iterator[T]) -> Generator[T, None, None]:
    yield from items


def _passed_over(_record: BadRecord) -> None:
    """Counted by the survey."""


def _drafts(records: Iterator[HistoryRecord], aim: Aim) -> Generator[_Draft, None, None]:
    questions: dict[str, str] = {}
    for record in records:
        reach("import_record")
        if record.archived is not None:
            owner = aim.takes(record.archived.owner)
            returning = None if owner is None else _returning(record, owner)
            yield _Draft(record.position, returning, record.archived.use)
        else:
            yield _Draft(record.position, _arriving(record, aim, _exchange(record, questions)))


def _returning(record: HistoryRecord, owner: str) -> NewEpisode:
    """An episode of our own export, as it was."""
    archived = record.archived
    assert archived is not None
    return NewEpisode(
        owner=owner,
        chat=record.chat,
        role=archived.role,
        text=record.text,
        at=record.at,
        exchange_id=archived.exchange_id,
        speaker=record.sender_name,
        topic_id=archived.topic_id,
        tags=archived.tags,
        source=archived.source,
        key=archived.key,
        passages=split_passages(record.text) if archived.indexed else (),
        meta=archived.meta,
        uid=archived.uid,
        to_enrich=ENRICHED not in archived.meta,
    )


def _arriving(record: HistoryRecord, aim: Aim, exchange_id: str) -> NewEpisode:
    """A message of a chat that was held elsewhere."""
    return NewEpisode(
        owner=aim.owner,
        chat=record.chat,
        role=record.role,
        text=record.text,
        at=record.at,
        exchange_id=exchange_id,
        speaker=aim.sides.speaker(record),
        tags=(IMPORTED,),
        source=record.source,
        key=record.key,
        passages=split_passages(record.text) if _says_something(record) else (),
        meta=_meta(record),
        to_enrich=True,
    )


def _exchange(record: HistoryRecord, questions: dict[str, str]) -> str:
    """An answer belongs to the last question of its chat; every other message stands for itself."""
    key = record.key
    if record.role is Role.ASSISTANT:
        key = questions.get(record.chat, key)
    else:
        questions.pop(record.chat, None)
        questions[record.chat] = key
        if len(questions) > _OPEN_QUESTIONS:
            del questions[next(iter(questions))]
    return sha256(f"{record.source}\0{key}".encode()).hexdigest()[:32]


def _says_something(record: HistoryRecord) -> bool:
    """Whether a search should find it: a line such as `[photo]` or `[voice message 0:12]` tells nothing apart."""
    return record.kind is HistoryKind.MESSAGE or ": " in record.text


def _meta(record: HistoryRecord) -> Mapping[str, str]:
    """What an export tells beyond the words; only what it does tell."""
    told = {
        "chat_title": record.chat_title,
        "sender_id": record.sender_id,
        "forwarded_by": record.sender_name if record.forwarded_from else "",
        "reply_to": record.reply_to or "",
        "forum_topic": record.topic,
        "media": record.media,
        "kind": "" if record.kind is HistoryKind.MESSAGE else str(record.kind),
        "edited": "yes" if record.edited else "",
    }
    return {name: value for name, value in told.items() if value}
