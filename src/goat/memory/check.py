"""`goat check`: every index equals the journal, every counter is right; and what mends them.

The journal is the truth. What can be derived from it is made anew where it differs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from goat.memory.archive import Archive
from goat.memory.keys import activation_key, working_key
from goat.ports.models import Embedder
from goat.ports.stores import (
    Embeddings,
    Forgetting,
    Integrity,
    LexicalIndex,
    Transfer,
    VectorIndex,
    WorkingStore,
)
from goat.records.check import Fault
from goat.records.episodes import Change
from goat.records.search import EVERYWHERE, Where
from goat.retrieval.query import whole_text_term

PAGE: Final = 256
WORDS: Final = "word index"
MEANING: Final = "meaning index"
VECTORS: Final = "kept vectors"
WORKING: Final = "working store"
FORGOTTEN: Final = "forgetting"

ALIKE: Final = 0.98
"""The cosine of a vector with its own code."""


class Stores(Protocol):
    """What is compared."""

    @property
    def integrity(self) -> Integrity:
        """The rules of the tables."""
        ...

    @property
    def transfer(self) -> Transfer:
        """The whole archive, owner by owner."""
        ...

    @property
    def forgetting(self) -> Forgetting:
        """What was forgotten and is not finished."""
        ...

    @property
    def embeddings(self) -> Embeddings:
        """The kept vectors."""
        ...

    @property
    def lexical(self) -> LexicalIndex:
        """The word index."""
        ...

    @property
    def vectors(self) -> VectorIndex:
        """The meaning index."""
        ...

    @property
    def working(self) -> WorkingStore:
        """Conversations and threads."""
        ...

    @property
    def embedder(self) -> Embedder:
        """The model whose vectors count."""
        ...


@dataclass(slots=True)
class _Counts:
    """What was found wrong, by kind."""

    unindexed: int = 0
    unfindable: int = 0
    extra: int = 0
    misfiled: int = 0
    without_vector: int = 0
    vector_lost: int = 0
    vector_differs: int = 0


class Check:
    """Compares everything with the journal. Every method raises `BackendUnavailable`."""

    def __init__(self, stores: Stores, archive: Archive) -> None:
        self._integrity = stores.integrity
        self._transfer = stores.transfer
        self._forgetting = stores.forgetting
        self._embeddings = stores.embeddings
        self._lexical = stores.lexical
        self._vectors = stores.vectors
        self._working = stores.working
        self._embedder = stores.embedder
        self._archive = archive

    async def faults(self) -> list[Fault]:
        """All that is wrong. The indexes are first brought to where they have followed to."""
        found = await self._integrity.faults()
        if any(not fault.mendable for fault in found):
            return found
        counts = _Counts()
        for owner in await self._transfer.owners():
            async for page in self._pages(owner):
                await self._compare_words(owner, page, counts)
                await self._compare_meaning(owner, page, counts)
        found += _told(counts)
        unreadable = [key for owner in await self._transfer.owners() for key in await self._unreadable(owner)]
        if unreadable:
            found.append(Fault(WORKING, "conversations or threads that cannot be read", len(unreadable)))
        if unfinished := await self._forgetting.unfinished():
            found.append(Fault(FORGOTTEN, "messages were forgotten and something of them may be left", len(unfinished)))
        return found

    async def mend(self, found: Sequence[Fault]) -> None:
        """Mend what can be mended; whatever can be derived from the journal is made anew where it differs."""
        await self._integrity.mend([fault for fault in found if fault.mendable])
        places = {fault.where for fault in found}
        if VECTORS in places:
            await self._embeddings.drop(self._embedder.name)
        if WORKING in places:
            for owner in await self._transfer.owners():
                for key in await self._unreadable(owner):
                    await self._working.delete(key)
        if places - {WORKING, FORGOTTEN}:
            await self._archive.rebuild()

    async def _pages(self, owner: str) -> AsyncIterator[list[Change]]:
        last = 0
        while page := await self._transfer.scan(owner, last, PAGE):
            yield page
            last = page[-1].episode_id

    async def _compare_words(self, owner: str, page: Sequence[Change], counts: _Counts) -> None:
        expected = {passage.ord for change in page for passage in change.passages}
        ids = [change.episode_id for change in page]
        indexed = set((await self._lexical.passages_of(owner, ids, EVERYWHERE)).tolist())
        counts.unindexed += len(expected - indexed)
        counts.extra += len(indexed - expected)
        counts.misfiled += len(indexed & expected) - await self._found_where_said(owner, page)
        for change in page:
            first = next((passage for passage in change.passages if passage.part == 0), None)
            if first is None or change.episode is None or first.ord not in indexed:
                continue
            hits = await self._lexical.search(owner, [whole_text_term(change.episode.text)], 1000, EVERYWHERE)
            counts.unfindable += len(hits) < 1000 and first.ord not in hits.ords

    async def _found_where_said(self, owner: str, page: Sequence[Change]) -> int:
        """How many indexed passages of the page a filter by their own chat and topic lets through."""
        places: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for change in page:
            if change.episode is not None:
                places[change.episode.chat, change.episode.topic_id].append(change.episode_id)
        found = [
            await self._lexical.passages_of(owner, ids, Where(chat=chat, topic_id=topic or None))
            for (chat, topic), ids in places.items()
        ]
        return sum(map(len, found))

    async def _compare_meaning(self, owner: str, page: Sequence[Change], counts: _Counts) -> None:
        covered = await self._embeddings.cursor(self._embedder.name)
        ords = [passage.ord for change in page if change.seq <= covered for passage in change.passages]
        kept = await self._embeddings.get(self._embedder.name, owner, ords)
        counts.without_vector += len(ords) - len(kept)
        followed = await self._vectors.cursor() >= covered
        for ord_, vector in kept.items() if followed else ():
            (score,) = (await self._vectors.score(owner, vector, np.array([ord_], np.int64))).tolist()
            counts.vector_lost += bool(np.isnan(score))
            counts.vector_differs += bool(score < ALIKE)

    async def _unreadable(self, owner: str) -> list[str]:
        keys = []
        for chat in await self._forgetting.chats(owner):
            thread = await self._working.get(activation_key(owner, chat))
            if thread is not None and not _readable(thread.body):
                keys.append(activation_key(owner, chat))
            if not all(map(_readable, await self._working.tail(working_key(owner, chat), 1000))):
                keys.append(working_key(owner, chat))
        return keys


def _readable(body: str) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except ValueError:
        return False


def _told(counts: _Counts) -> list[Fault]:
    kinds = (
        (WORDS, "passages that it lacks", counts.unindexed),
        (WORDS, "passages that it holds and does not find by their words", counts.unfindable),
        (WORDS, "passages that the journal does not have", counts.extra),
        (WORDS, "passages that a search in their own chat or topic does not find", counts.misfiled),
        (VECTORS, "passages without a vector", counts.without_vector),
        (MEANING, "vectors that it lacks", counts.vector_lost),
        (MEANING, "vectors that differ from the kept ones", counts.vector_differs),
    )
    return [Fault(where, what, count) for where, what, count in kinds if count]
