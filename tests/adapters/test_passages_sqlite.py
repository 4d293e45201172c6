"""What is known of a passage stands once, for the index of words and that of vectors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from goat.adapters.database import Database
from goat.adapters.journal import journal_database
from goat.adapters.lexical_sqlite import SqliteLexicalIndex
from goat.adapters.passages_sqlite import SqlitePassages
from goat.adapters.vector_scan import ScanVectorIndex
from goat.records.search import EVERYWHERE, Floats, LexicalDocument, VectorRow, Where
from goat.testing.clock import FakeClock

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
DIMENSIONS = 32


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with journal_database(tmp_path, FakeClock()) as database:
        yield database


def _units(count: int) -> Floats:
    vectors = np.random.default_rng(0).normal(size=(count, DIMENSIONS))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _rows(vectors: Floats) -> list[VectorRow]:
    return [
        VectorRow("ana", n, 100 + n, "home", NOON + timedelta(minutes=n), vector) for n, vector in enumerate(vectors)
    ]


async def _found(index: ScanVectorIndex, query: Floats) -> list[int]:
    return (await index.search("ana", query, 5, EVERYWHERE)).ords.tolist()


def _document(number: int, chat: str = "home") -> LexicalDocument:
    at = NOON + timedelta(minutes=number)
    return LexicalDocument("ana", number, 100 + number, chat, at, {"tea": 1}, 1)


async def test_both_indexes_share_what_is_known_of_a_passage(database: Database, tmp_path: Path) -> None:
    passages, vectors = SqlitePassages(database), _units(4)
    words = SqliteLexicalIndex(database, passages)
    index = ScanVectorIndex(database, passages, tmp_path, "e5", DIMENSIONS)
    await words.apply([_document(n, "work" if n == 2 else "home") for n in range(3)], [], cursor=1)
    await index.apply(_rows(vectors), [], cursor=1)
    # The words index knows better where passage 2 was said, and passage 3 it has not met yet.
    hits = await index.search("ana", vectors[0], 9, Where(chat="home"))
    assert sorted(hits.ords.tolist()) == [0, 1, 3]
    near = await words.neighbourhood("ana", np.array([3]), 2, EVERYWHERE)
    assert near.ords.tolist() == near.around[:, 3].tolist() == [3]
    assert near.episode_ids.tolist() == [103]

    await words.apply([], [("ana", 0)], cursor=2)
    assert sorted(await _found(index, vectors[0])) == [1, 2, 3]
    assert np.isnan((await index.score("ana", vectors[0], np.arange(4)))[0])

    await words.clear()
    assert sorted(await _found(index, vectors[0])) == [1, 2, 3]
    await words.apply([_document(1)], [], cursor=1)
    await index.apply([], [("ana", 1)], cursor=2)
    assert sorted(await _found(index, vectors[0])) == [2, 3]
    assert (await words.search("ana", ["tea"], 9, EVERYWHERE)).ords.tolist() == [1]
    await words.clear()
    assert len(await words.search("ana", ["tea"], 9, EVERYWHERE)) == 0
    await index.clear()
    await words.apply([_document(n) for n in range(1, 4)], [], cursor=3)
    near = await words.neighbourhood("ana", np.array([2]), 1, EVERYWHERE)
    assert near.ords.tolist() == [1, 2, 3]


async def test_a_passage_that_only_the_vector_index_knew_leaves_no_trace_when_it_goes(
    database: Database, tmp_path: Path
) -> None:
    index = ScanVectorIndex(database, SqlitePassages(database), tmp_path, "e5", DIMENSIONS)
    await index.apply([VectorRow("ana", 0, 1, "secretchat", NOON, _units(1)[0], "secrettopic")], [], cursor=1)
    await index.apply([], [("ana", 0)], cursor=2)
    assert await database.read("test", lambda c: c.exec_driver_sql("SELECT t FROM label").all()) == []
