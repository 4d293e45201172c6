"""Candidate groups: each looks in its own way, all at once, and each may fail or be late alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from goat.errors import BackendUnavailable
from goat.ports.stores import LexicalIndex, VectorIndex
from goat.records.search import Hits, Lost, Ords
from goat.retrieval.query import Query, whole_text_term
from goat.retrieval.times import TELLING, asked_days, narrow, pinned, within
from goat.retrieval.when import Window

LIST_LENGTH = 200
"""Hits taken from each group. With the neighbours of every hit, 200 loses nothing against whole lists."""

Group = Callable[[Query], Awaitable[Hits]]
Windows = Callable[[Sequence[Window]], Sequence[Window]]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The union of the groups, the groups that found each passage, and the groups that were lost."""

    ords: Ords
    mechanisms: Mapping[int, tuple[str, ...]]
    lost: tuple[Lost, ...] = ()


def candidate_groups(lexical: LexicalIndex, vectors: VectorIndex) -> dict[str, Group]:
    """Every group by name: the same text, exact keys, words and meaning; in the chat, the topic, the named times.

    What was said in a named day or hour is a group by itself, whatever its words, and so is what tells of a named day.
    The prediction is what the thread holds already: found for the message before, it is scored for this one.
    """

    async def words(query: Query) -> Hits:
        return await lexical.search(query.owner, query.terms, LIST_LENGTH, query.where)

    async def verbatim(query: Query) -> Hits:
        return await lexical.search(query.owner, [whole_text_term(query.text)], LIST_LENGTH, query.where)

    async def keys(query: Query) -> Hits:
        return await lexical.search(query.owner, query.keys, LIST_LENGTH, query.where)

    async def meaning(query: Query) -> Hits:
        if query.vector is None:
            raise BackendUnavailable("Embedder", "query", "the message has no vector")
        return await vectors.search(query.owner, query.vector, LIST_LENGTH, query.where)

    async def said(query: Query) -> Hits:
        ords = await lexical.newest(query.owner, LIST_LENGTH, query.where)
        return Hits(ords, np.ones(len(ords), dtype=np.float32))

    async def telling(query: Query) -> Hits:
        return await lexical.search(query.owner, asked_days(query.windows), LIST_LENGTH, query.where)

    def in_chat(group: Group) -> Group:
        return lambda query: group(replace(query, where=replace(query.where, chat=query.chat)))

    def in_topic(group: Group) -> Group:
        return lambda query: group(replace(query, where=replace(query.where, topic_id=query.topic_id)))

    return {
        "verbatim": verbatim,
        "words": words,
        "meaning": meaning,
        "words_in_chat": in_chat(words),
        "meaning_in_chat": in_chat(meaning),
        "words_in_topic": in_topic(words),
        "meaning_in_topic": in_topic(meaning),
        "keys": keys,
        "prediction": prediction(lexical),
        "words_in_window": in_windows(words, pinned),
        "meaning_in_window": in_windows(meaning, pinned),
        "said_in_window": in_windows(said, narrow),
        TELLING: telling,
    }


def prediction(lexical: LexicalIndex) -> Group:
    """The group of what the thread holds."""

    async def search(query: Query) -> Hits:
        ords = await lexical.passages_of(query.owner, query.held, query.where)
        return Hits(ords, np.ones(len(ords), dtype=np.float32))

    return search


def in_windows(group: Group, chosen: Windows) -> Group:
    """The group within each chosen window of the query; nothing for a query without one."""

    async def search(query: Query) -> Hits:
        found = [await group(replace(query, where=within(query.where, window))) for window in chosen(query.windows)]
        if not found:
            return Hits(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))
        return Hits(np.concatenate([hits.ords for hits in found]), np.concatenate([hits.scores for hits in found]))

    return search


async def gather(query: Query, groups: Mapping[str, Group], seconds: float | None) -> Candidates:
    """Run the groups at once and unite what they found.

    A group that raises `BackendUnavailable`, or is not done within `seconds`, is returned as lost; any other exception
    is a fault of the program and is raised.
    """
    tasks = {name: asyncio.ensure_future(group(query)) for name, group in groups.items()}
    try:
        await asyncio.wait(tasks.values(), timeout=seconds)
        return _unite({name: _outcome(name, task) for name, task in tasks.items()})
    finally:
        for task in tasks.values():
            task.cancel()


def _outcome(name: str, task: asyncio.Future[Hits]) -> Hits | Lost:
    if not task.done():
        return Lost(name, "not done before the deadline")
    failure = task.exception()
    if isinstance(failure, BackendUnavailable):
        return Lost(name, str(failure))
    return task.result()


def _unite(outcomes: Mapping[str, Hits | Lost]) -> Candidates:
    found: dict[int, list[str]] = {}
    for name, outcome in outcomes.items():
        if isinstance(outcome, Hits):
            for number in outcome.ords.tolist():
                found.setdefault(number, []).append(name)
    return Candidates(
        ords=np.fromiter(found, dtype=np.int64, count=len(found)),
        mechanisms={number: tuple(names) for number, names in found.items()},
        lost=tuple(outcome for outcome in outcomes.values() if isinstance(outcome, Lost)),
    )
