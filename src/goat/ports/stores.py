"""Ports of the stores.

Every method of every port here raises `BackendUnavailable` when its backend cannot be reached or used; nothing else of
a backend's own failures passes a port. The owner is part of every key: no call sees another owner's data.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

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
    Use,
)
from goat.records.memory import Fact, PermanentHistory, Versioned
from goat.records.search import (
    EVERYWHERE,
    Centre,
    Floats,
    Hits,
    LexicalDocument,
    LexicalFeatures,
    Neighbourhood,
    Ords,
    VectorRow,
    Where,
)


class Journal(Protocol):
    """The verbatim archive: the truth that every index follows."""

    async def append(
        self,
        episodes: Sequence[NewEpisode],
        outgoing: Sequence[NewOutgoing] = (),
        topics: Mapping[str, str] | None = None,
    ) -> list[Appended]:
        """Commit the episodes, in order, the outgoing replies and the topics in one transaction.

        An episode whose (source, key) or `uid` stands in the owner's journal already is not written again: its stored
        form comes back with `duplicate` true. A `uid` that belongs to another owner's episode gives way to one that is
        made of it and the owner's name, the same every time. Each outgoing reply carries the last episode of the call.
        `topics` maps exchange ids to topic ids: episodes of these exchanges that have no topic and belong to an owner
        of this call get it, and move to a new `seq`. When this returns, a killed process has lost nothing of it.
        """
        ...

    async def episodes(self, owner: str, ids: Sequence[int]) -> list[Episode]:
        """The owner's episodes with these ids, in the order of `ids`; unknown ids are left out."""
        ...

    async def exchange(self, owner: str, exchange_ids: Sequence[str]) -> list[Episode]:
        """All episodes of these exchanges, oldest first."""
        ...

    async def recent(self, owner: str, chat: str, limit: int, before: int | None = None) -> list[Episode]:
        """The newest `limit` episodes of a chat, oldest first; with `before`, those with a smaller id."""
        ...

    async def first(self, owner: str, chat: str) -> Episode | None:
        """The oldest episode of a chat, None in an empty one."""
        ...

    async def changes(self, after: int, limit: int) -> list[Change]:
        """The next changes of all owners with `seq > after`, by `seq`. An episode stands once, at its newest change."""
        ...

    async def head(self) -> int:
        """The `seq` of the newest committed change, 0 in an empty journal."""
        ...

    async def locate(self, owner: str, ords: Sequence[int]) -> dict[int, int]:
        """Map passage numbers to episode ids; forgotten passages are left out."""
        ...

    async def passages(self, owner: str, ords: Sequence[int]) -> dict[int, Passage]:
        """The owner's passages by their numbers; unknown and forgotten ones are left out."""
        ...

    async def counts(self, owner: str, model: str) -> ArchiveCounts:
        """How much the owner's archive holds; `embedded` counts passages with a vector of `model`."""
        ...


class Transfer(Protocol):
    """What an export reads of the archive, and an import asks it for beside `Journal.append`."""

    async def owners(self) -> list[str]:
        """The names of all who have episodes, sorted."""
        ...

    async def scan(self, owner: str, after: int, limit: int) -> list[Change]:
        """The owner's next episodes with `id > after`, by id, with their passages."""
        ...

    async def find(self, owner: str, uids: Sequence[str]) -> dict[str, int]:
        """Map uids, as they were given to `append`, to the ids of the owner's episodes; unknown ones are left out."""
        ...


class Forgetting(Protocol):
    """Takes episodes out of the archive, so that no store and no file keeps their words."""

    async def forget(self, owner: str, ids: Sequence[int]) -> list[Forgotten]:
        """Remove the owner's episodes with these ids, in one transaction; unknown ids are left out.

        With an episode go its passages, their vectors, the replies of the outbox that carry it, and the words of all
        questions that the owner was asked about tools, which may quote it. Its number and the
        numbers of its passages stay as a change without words, which the indexes follow. What was delivered with its
        (source, key) or its `uid` is recognised by `Journal.append` and not written again. The episodes stand in
        `unfinished` until `finish` is called with them.
        """
        ...

    async def chats(self, owner: str) -> list[str]:
        """The names of all chats that the owner has had, sorted."""
        ...

    async def unfinished(self) -> list[Forgotten]:
        """The episodes of all owners that were forgotten and not finished, by `seq`."""
        ...

    async def finish(self, forgotten: Sequence[Forgotten]) -> None:
        """Make sure that no file of the archive holds what was deleted, then call these finished.

        Called when indexes and working store hold nothing of them any more.
        """
        ...

    async def put_aside(self) -> list[str]:
        """Copies of the archive that a restore put aside: they are left as they are, whatever is forgotten."""
        ...


class Uses(Protocol):
    """How often each episode was recalled for an answer. A count changes no word, so no index follows it."""

    async def count(self, owner: str, times: Mapping[int, int], at: datetime) -> None:
        """Add to the counts of the owner's episodes, by id, in one transaction; unknown ids are left out.

        The latest time stands. When this returns, a killed process has lost nothing of it.
        """
        ...

    async def of(self, owner: str, ids: Sequence[int]) -> dict[int, Use]:
        """The uses of the owner's episodes by id; those that never were used are left out."""
        ...

    async def take_in(self, owner: str, brought: Mapping[int, Use]) -> None:
        """Take over uses that were counted elsewhere: of each the larger count and the later time stand."""
        ...


class Enrichment(Protocol):
    """What is noted about episodes, for those that were written without it."""

    async def waiting(self, limit: int) -> list[Episode]:
        """The next episodes of all owners that were appended with `to_enrich` and not noted since, by id."""
        ...

    async def note(self, notes: Mapping[int, Mapping[str, str]]) -> list[int]:
        """Add to the meta of episodes, in one transaction; they wait no more. What stands there already stays.

        Returns the ids that name no episode, because it was forgotten or never was.
        """
        ...


class Integrity(Protocol):
    """What the tables of an archive must hold to, beyond what its database sees to itself."""

    async def faults(self) -> list[Fault]:
        """What is wrong; empty in a sound archive."""
        ...

    async def mend(self, faults: list[Fault]) -> None:
        """Put right what can be put right; no word that was said is lost by it."""
        ...


class Embeddings(Protocol):
    """Passage vectors, kept in the journal beside the words they were made from."""

    async def cursor(self, model: str) -> int:
        """The journal `seq` up to which every passage has a vector of this model."""
        ...

    async def put(self, model: str, rows: Sequence[VectorRow], cursor: int) -> None:
        """Store unit vectors (float32 in, float16 at rest) and move the cursor, in one transaction. A row replaces."""
        ...

    async def get(self, model: str, owner: str, ords: Sequence[int]) -> dict[int, Floats]:
        """The stored vectors of these passages, float32; passages without one are left out."""
        ...

    async def remove(self, pairs: Sequence[tuple[str, int]]) -> None:
        """Take out the vectors of these (owner, ord) pairs, of every model; absent ones are fine."""
        ...

    async def models(self) -> list[str]:
        """The names of the models that have vectors here."""
        ...

    async def drop(self, model: str) -> None:
        """Remove all vectors of a model and its cursor."""
        ...


class LexicalIndex(Protocol):
    """BM25 over passages, per owner: document frequencies and mean lengths are the owner's own."""

    async def cursor(self) -> int:
        """The journal `seq` up to which this index has followed, 0 when it is empty."""
        ...

    async def apply(self, added: Sequence[LexicalDocument], removed: Sequence[tuple[str, int]], cursor: int) -> None:
        """Take in documents, take out (owner, ord) pairs and move the cursor, in one transaction.

        A document whose ord is indexed replaces it. Documents of a chat arrive oldest first. The next search sees
        the result.
        """
        ...

    async def search(self, owner: str, terms: Sequence[str], limit: int, where: Where) -> Hits:
        """The best `limit` passages by BM25 over the distinct terms, filter first. Ties go to the newer passage."""
        ...

    async def passages_of(self, owner: str, episode_ids: Sequence[int], where: Where) -> Ords:
        """The indexed passages of these episodes that pass the filter, in rising order."""
        ...

    async def newest(self, owner: str, limit: int, where: Where) -> Ords:
        """The newest `limit` passages that pass the filter, newest first; of one time the higher number comes first."""
        ...

    async def neighbourhood(self, owner: str, ords: Ords, reach: int, where: Where) -> Neighbourhood:
        """The given passages and those up to `reach` steps away that pass the filter, each once, with surroundings."""
        ...

    async def features(
        self,
        owner: str,
        terms: Sequence[str],
        near: Neighbourhood,
        where: Where = EVERYWHERE,
        guesses: Collection[str] = (),
    ) -> LexicalFeatures:
        """Score each candidate with its neighbours' terms, its session, and alone; zeros where no term matches.

        The measure is what a passage could hold at most: the terms that are told by a passage which passes the filter
        and is no short question. A word that was only asked for was never told. Where nothing is told, all terms count.
        A term that no passage has lowers what is held; one of the `guesses` does not.
        """
        ...

    async def clear(self) -> None:
        """Empty the index and set its cursor to 0."""
        ...


class VectorIndex(Protocol):
    """Similarity search over passage vectors of one embedding model."""

    async def cursor(self) -> int:
        """The journal `seq` up to which this index has followed, 0 when it is empty."""
        ...

    async def apply(self, added: Sequence[VectorRow], removed: Sequence[tuple[str, int]], cursor: int) -> None:
        """Take in rows (a row replaces), take out (owner, ord) pairs and move the cursor."""
        ...

    async def search(self, owner: str, vector: Floats, limit: int, where: Where) -> Hits:
        """The best `limit` passages by cosine, filter first."""
        ...

    async def score(self, owner: str, vector: Floats, ords: Ords) -> Floats:
        """The cosine of each passage, NaN for a passage without a vector and for an ord below 0."""
        ...

    async def centre(self, owner: str) -> Centre | None:
        """The mean of the owner's vectors, of many an even sample; None where there are none."""
        ...

    async def clear(self) -> None:
        """Empty the index and set its cursor to 0."""
        ...


class WorkingStore(Protocol):
    """Short-lived state: values with versions, and lists."""

    async def get(self, key: str) -> Versioned | None:
        """The value, or None when it is absent or past its time."""
        ...

    async def put(
        self, key: str, body: str, ttl_seconds: float | None = None, if_version: int | None = None
    ) -> int | None:
        """Store a value and return its new version (1 for a new key).

        With `if_version` (0 = must be absent) the value is stored only when the version matches; None is returned
        when it does not. Without a time to live the value stays.
        """
        ...

    async def append(self, key: str, items: Sequence[str], keep: int) -> int:
        """Append to a list and keep its newest `keep` items; return the length afterwards."""
        ...

    async def tail(self, key: str, count: int) -> list[str]:
        """The newest `count` items of a list, oldest first."""
        ...

    async def claim(self, key: str, ttl_seconds: float) -> bool:
        """Set the key if it is absent; True for the one caller who set it."""
        ...

    async def delete(self, key: str) -> None:
        """Remove a value or a list; absent keys are fine."""
        ...


class PermanentStore(Protocol):
    """L1 facts and the L0 identity, with history."""

    async def facts(self, owner: str) -> list[Fact]:
        """The facts that hold now, by key."""
        ...

    async def put_fact(self, owner: str, key: str, value: str, at: datetime, source_episode: int | None) -> None:
        """Set a fact; an older value of the key stays in the history with its end."""
        ...

    async def drop_fact(self, owner: str, key: str, at: datetime) -> bool:
        """End a fact; False when there is none with this key."""
        ...

    async def history(self, owner: str, key: str) -> list[Fact]:
        """Every value that the key has had, oldest first."""
        ...

    async def identity(self, owner: str) -> str | None:
        """The owner's identity text, None when none is set."""
        ...

    async def put_identity(self, owner: str, text: str | None, at: datetime) -> None:
        """Set the identity text; None returns to the configured one."""
        ...

    async def everything(self, owner: str) -> PermanentHistory:
        """All facts and identity texts that the owner has or had."""
        ...

    async def take_in(self, owner: str, brought: PermanentHistory) -> int:
        """Merge values that come from elsewhere, with their times, into the history; return how many were new.

        A value that stands there already with the same start is left as it is. Of values that would hold at once the
        one with the latest start holds, and the others end there.
        """
        ...

    async def erase(self, owner: str, unwanted: PermanentHistory) -> int:
        """Remove these values, held or ended, also from the history, each known by its text and its start.

        Returns how many went. No other value begins to hold in their place.
        """
        ...
