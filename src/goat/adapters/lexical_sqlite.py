"""BM25 over posting lists in the journal's SQLite file, scored with numpy.

The reader's thread fetches the lists; the scores are made on a worker thread, so that a search neither waits for
another nor holds up the event loop.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from goat.adapters.database import Database
from goat.adapters.lexical_formula import K1, KERNEL, SOFT_B, SOFT_K1, SOFT_LENGTH, B, idf, rarity
from goat.adapters.lexical_postings import (
    Postings,
    add_postings,
    clear_postings,
    read_postings,
    remove_postings,
)
from goat.adapters.passage_chain import PassageDraft, PassageRow
from goat.adapters.passage_columns import (
    FILED,
    HUMAN,
    INDEXED,
    QUESTION,
    PassageColumns,
    PassageView,
    microseconds,
    require_ord,
)
from goat.adapters.passages_sqlite import SqlitePassages, get_cursor, label_ids, set_cursor
from goat.adapters.top_ranked import top_ranked
from goat.records.search import (
    EVERYWHERE,
    NEIGHBOUR_REACH,
    Floats,
    Hits,
    LexicalDocument,
    LexicalFeatures,
    Neighbourhood,
    Ords,
    Where,
)

PORT: Final = "LexicalIndex"
AT_HAND: Final = 8
"""Term lists whose postings are kept: one search asks for the same ones several times."""
FIRST_LOOK: Final = 256
"""Passages of a term that are looked at before the rest of them."""

_NONE: Final = Hits(np.empty(0, np.int64), np.empty(0, np.float32))


@dataclass(frozen=True, slots=True)
class _Fetched:
    """Posting lists at least as new as the columns were at `generation`."""

    columns: PassageColumns
    generation: int
    terms: tuple[str, ...]
    postings: Mapping[str, Postings]


class SqliteLexicalIndex:
    """The port LexicalIndex in the journal's file. `passages` is shared with the vector index of the same file.

    `version` names how terms are made: an index of another version starts from the journal's beginning and replaces
    its documents one by one.
    """

    def __init__(self, database: Database, passages: SqlitePassages, version: int = 1) -> None:
        self._database = database.for_port(PORT)
        self._passages = passages
        self._follower = f"lexical-{version}"
        self._fetched: OrderedDict[tuple[str, tuple[str, ...]], _Fetched] = OrderedDict()

    async def cursor(self) -> int:
        """See `LexicalIndex.cursor`."""
        return await self._database.read(lambda connection: get_cursor(connection, self._follower))

    async def apply(self, added: Sequence[LexicalDocument], removed: Sequence[tuple[str, int]], cursor: int) -> None:
        """See `LexicalIndex.apply`. A pair that stands in both is taken out.

        Raises `ValueError` for an ord outside 0..2**24 - 1.
        """
        documents: defaultdict[str, dict[int, LexicalDocument]] = defaultdict(dict)
        gone: defaultdict[str, set[int]] = defaultdict(set)
        for document in added:
            require_ord(document.ord)
            documents[document.owner][document.ord] = document
        for owner, ord_ in removed:
            gone[owner].add(ord_)
            documents[owner].pop(ord_, None)
        await self._database.write(lambda connection: self._apply(connection, documents, gone, cursor))
        for owner in documents:
            await self._passages.columns(PORT, owner)

    async def search(self, owner: str, terms: Sequence[str], limit: int, where: Where) -> Hits:
        """See `LexicalIndex.search`."""
        fetched = await self._fetch(owner, terms)
        if not fetched.postings:
            return _NONE
        return await asyncio.to_thread(_search, fetched.columns, fetched.postings.values(), limit, where)

    async def passages_of(self, owner: str, episode_ids: Sequence[int], where: Where) -> Ords:
        """See `LexicalIndex.passages_of`."""
        view = (await self._passages.columns(PORT, owner)).view()
        found = np.flatnonzero(np.isin(view.column("episode"), np.array(episode_ids, np.int64)))
        return found[view.having(INDEXED, found) & view.passing(where, found)]

    async def newest(self, owner: str, limit: int, where: Where) -> Ords:
        """See `LexicalIndex.newest`."""
        view = (await self._passages.columns(PORT, owner)).view()
        everything = slice(0, view.size)
        found = np.flatnonzero(view.having(INDEXED, everything) & view.passing(where, everything))
        return found[np.lexsort((-found, -view.column("at")[found]))[:limit]]

    async def neighbourhood(self, owner: str, ords: Ords, reach: int, where: Where) -> Neighbourhood:
        """See `LexicalIndex.neighbourhood`. The candidates come in rising order of their numbers.

        A passage that only the vector index has met is a candidate without surroundings.
        """
        columns = await self._passages.columns(PORT, owner)
        return await asyncio.to_thread(_neighbourhood, columns.view(), ords, reach, where)

    async def features(
        self,
        owner: str,
        terms: Sequence[str],
        near: Neighbourhood,
        where: Where = EVERYWHERE,
        guesses: Collection[str] = (),
    ) -> LexicalFeatures:
        """See `LexicalIndex.features`."""
        fetched = await self._fetch(owner, terms)
        return await asyncio.to_thread(_features, fetched, near, where, guesses)

    async def clear(self) -> None:
        """See `LexicalIndex.clear`. What the filters of the vector index need stays."""
        await self._database.write(self._clear)

    async def _fetch(self, owner: str, terms: Sequence[str]) -> _Fetched:
        """The posting lists of the distinct terms; those of the last few searches are at hand while nothing changes."""
        distinct = tuple(dict.fromkeys(terms))
        columns = await self._passages.columns(PORT, owner)
        known = self._fetched.get((owner, distinct))
        if known is not None and (known.columns, known.generation) == (columns, columns.generation):
            return known

        def fetch(connection: Connection) -> _Fetched:
            columns = self._passages.current(connection, owner)
            generation = columns.generation
            return _Fetched(columns, generation, distinct, read_postings(connection, columns.owner_id, distinct))

        fetched = await self._database.read(fetch)
        self._fetched[owner, distinct] = fetched
        while len(self._fetched) > AT_HAND:
            self._fetched.popitem(last=False)
        return fetched

    def _apply(
        self,
        connection: Connection,
        documents: dict[str, dict[int, LexicalDocument]],
        gone: dict[str, set[int]],
        cursor: int,
    ) -> None:
        drafts = {
            owner: self._passages.draft(connection, owner, adding=bool(added)) for owner, added in documents.items()
        }
        for owner, draft in drafts.items():
            _take_out(connection, draft, gone[owner] | set(documents[owner]))
            for ord_ in gone[owner]:
                draft.blank(ord_)
            _take_in(connection, draft, documents[owner])
        self._passages.save(connection, list(drafts.values()))
        set_cursor(connection, self._follower, cursor)

    def _clear(self, connection: Connection) -> None:
        clear_postings(connection)
        self._passages.unindex_all(connection)
        set_cursor(connection, self._follower, 0)


def _take_out(connection: Connection, draft: PassageDraft, ords: set[int]) -> None:
    indexed = sorted(ord_ for ord_ in ords if draft.peek(ord_).indexed)
    if indexed:
        remove_postings(connection, draft.owner_id, indexed)
    for ord_ in indexed:
        draft.unlink(ord_)


def _take_in(connection: Connection, draft: PassageDraft, documents: dict[int, LexicalDocument]) -> None:
    if not documents:
        return
    texts = {text for document in documents.values() for text in (document.chat, document.topic_id, document.speaker)}
    labels = label_ids(connection, draft.owner_id, texts)
    for ord_, document in documents.items():
        row = PassageRow(
            at=microseconds(document.at),
            episode=document.episode_id,
            chat=labels[document.chat],
            topic=labels[document.topic_id],
            speaker=labels[document.speaker],
            length=document.length,
            flags=FILED | INDEXED | (QUESTION if document.question else 0) | (HUMAN if document.human else 0),
        )
        draft.link(ord_, row)
    add_postings(connection, draft.owner_id, {ord_: document.terms for ord_, document in documents.items()})


def _search(columns: PassageColumns, postings: Iterable[Postings], limit: int, where: Where) -> Hits:
    view = columns.view()
    slope = K1 * B * view.totals.documents / max(view.totals.length, 1)
    k = view.column("length") * np.float32(slope) + np.float32(K1 * (1 - B))
    scores = np.zeros(view.size, np.float32)
    for ords, tf in _unpacked(postings, view):
        weight = np.float32(idf(view.totals.documents, len(ords)) * (K1 + 1))
        scores[ords] += weight * tf / (tf + k[ords])
    found = np.flatnonzero(scores)
    found = found[view.passing(where, found)]
    best = found[top_ranked(scores[found], view.column("at")[found], found, limit)]
    best = best[columns.filed(best)]
    return Hits(best, scores[best])


def _unpacked(postings: Iterable[Postings], view: PassageView) -> list[tuple[NDArray[np.int64], Floats]]:
    """The lists as row numbers inside the view and term counts."""
    end = np.uint32(min(view.size << 8, 0xFFFFFFFF))  # of the lists' own type, or numpy converts each of them
    unpacked = []
    for packed in postings:
        inside = packed[: np.searchsorted(packed, end)]
        unpacked.append(((inside >> 8).astype(np.int64), (inside & 255).astype(np.float32)))
    return unpacked


def _neighbourhood(view: PassageView, ords: Ords, reach: int, where: Where) -> Neighbourhood:
    given = ords[(ords >= 0) & (ords < view.size)]
    given = given[view.having(FILED, given)]
    met = np.unique(_around(view, given, reach))
    met = met[met >= 0]
    candidates = met[view.passing(where, met)]
    around = _around(view, candidates, NEIGHBOUR_REACH)
    before = around[:, NEIGHBOUR_REACH - 1]
    names = view.names
    return Neighbourhood(
        ords=candidates,
        episode_ids=view.column("episode")[candidates],
        around=around,
        question=view.having(QUESTION, candidates),
        after_question=(before >= 0) & view.having(QUESTION, before),
        human=view.having(HUMAN, candidates),
        at=view.column("at")[candidates] / 1e6,
        speakers=tuple([names.get(label, "") for label in view.column("speaker")[candidates].tolist()]),
    )


def _around(view: PassageView, rows: Ords, reach: int) -> NDArray[np.int64]:
    """The rows in the middle column, what is up to `reach` steps before and after them beside it."""
    around = np.full((len(rows), 2 * reach + 1), -1, np.int64)
    around[:, reach] = rows
    if len(rows):
        for place in range(reach, 0, -1):
            around[:, place - 1] = view.step(around[:, place], "previous")
            around[:, 2 * reach - place + 1] = view.step(around[:, 2 * reach - place], "following")
    return around


def _features(fetched: _Fetched, near: Neighbourhood, where: Where, guesses: Collection[str]) -> LexicalFeatures:
    view = fetched.columns.view()
    unpacked = zip(fetched.postings, _unpacked(fetched.postings.values(), view), strict=True)
    known = {term: (ords, tf) for term, (ords, tf) in unpacked if len(ords)}
    lists = list(known.values())
    weights = [idf(view.totals.documents, len(ords)) for ords, _ in lists]
    told = [_is_told(view, ords, where) for ords, _ in lists]
    best = sum(weight for weight, is_told in zip(weights, told, strict=True) if is_told) or sum(weights)
    if not best:
        nothing = np.zeros(len(near.ords), np.float32)
        return LexicalFeatures(nothing, nothing.copy(), nothing.copy(), nothing.copy())
    passage = _passage_scores(view, lists, near.around) / (2.0 * best)
    session = _session_scores(view, lists, near.ords) / (2.2 * best)
    unknown = len([term for term in fetched.terms if term not in known and term not in guesses])
    held, rare = _held(view, lists, near.ords)
    return LexicalFeatures(
        passage=np.minimum(passage, 1).astype(np.float32),
        session=np.minimum(session, 1).astype(np.float32),
        held=held / np.float32(sum(weights) + unknown * idf(view.totals.documents, 0)),
        rare=rare / np.float32(len(fetched.terms)),
    )


def _is_told(view: PassageView, rows: NDArray[np.int64], where: Where) -> bool:
    """Whether a passage that passes the filter and is no short question is among the rows: mostly one of the first."""
    for some in (rows[:FIRST_LOOK], rows[FIRST_LOOK:]):
        if bool((view.passing(where, some) & ~view.having(QUESTION, some)).any()):
            return True
    return False


def _passage_scores(
    view: PassageView, lists: list[tuple[NDArray[np.int64], Floats]], around: NDArray[np.int64]
) -> Floats:
    """Sum of idf * 2 * tf~ / (tf~ + K), where tf~ and the length in K are those of the neighbourhood, weighted."""
    kernel = np.array(KERNEL, np.float32)
    places = np.where((around >= 0) & (around < view.size), around, view.size)
    spread = np.zeros(view.size + 1, np.float32)  # the last place stands for a missing neighbour
    spread[: view.size] = view.column("length")
    mean_length = view.totals.length / max(view.totals.documents, 1)
    length = (spread[places] @ kernel) / np.float32(SOFT_LENGTH * mean_length or 1)
    k = SOFT_K1 * ((1 - SOFT_B) + SOFT_B * length)
    spread[:] = 0
    scores = np.zeros(len(places), np.float32)
    for ords, tf in lists:
        spread[ords] = tf
        soft_tf = spread[places] @ kernel
        spread[ords] = 0
        scores += np.float32(idf(view.totals.documents, len(ords)) * (SOFT_K1 + 1)) * soft_tf / (soft_tf + k)
    return scores


def _held(view: PassageView, lists: list[tuple[NDArray[np.int64], Floats]], candidates: Ords) -> tuple[Floats, Floats]:
    """Sums of idf and of rarity over the terms that each candidate holds."""
    places = np.where((candidates >= 0) & (candidates < view.size), candidates, view.size)
    holds = np.zeros(view.size + 1, np.bool_)
    held, rare = np.zeros(len(candidates), np.float32), np.zeros(len(candidates), np.float32)
    for ords, _ in lists:
        holds[ords] = True
        held += np.float32(idf(view.totals.documents, len(ords))) * holds[places]
        rare += np.float32(rarity(view.totals.documents, len(ords))) * holds[places]
        holds[ords] = False
    return held, rare


def _session_scores(
    view: PassageView, lists: list[tuple[NDArray[np.int64], Floats]], candidates: Ords
) -> NDArray[np.float64]:
    """BM25 of each candidate's session, as if the session were one document."""
    sessions = view.sessions(candidates)
    relative_length = view.session_length[sessions] * view.totals.sessions / max(view.totals.length, 1)
    k = K1 * ((1 - B) + B * relative_length)
    scores = np.zeros(len(candidates), np.float64)
    for ords, tf in lists:
        tf_of = np.bincount(view.sessions(ords), weights=tf, minlength=len(view.session_length))
        tf_of[0] = 0  # passages that went while their postings were at hand
        weight = idf(view.totals.sessions, int(np.count_nonzero(tf_of)))
        scores += weight * (K1 + 1) * tf_of[sessions] / (tf_of[sessions] + k)
    return scores
