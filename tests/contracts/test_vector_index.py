"""The contract of the port VectorIndex, over every adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goat.adapters.journal import journal_database
from goat.adapters.passages_sqlite import SqlitePassages
from goat.adapters.vector_memory import MemoryVectorIndex
from goat.adapters.vector_scan import ScanVectorIndex
from goat.ports.stores import VectorIndex
from goat.records.search import EVERYWHERE, Floats, Ords, VectorRow, Where
from goat.testing.clock import FakeClock

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
DIMENSIONS = 16


@pytest.fixture(params=["memory", "scan"])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VectorIndex]:
    if request.param == "memory":
        yield MemoryVectorIndex()
        return
    async with journal_database(tmp_path, FakeClock()) as database:
        yield ScanVectorIndex(database, SqlitePassages(database), tmp_path, "e5", DIMENSIONS)


def toward(share: float, axis: int = 1) -> Floats:
    """A unit vector whose cosine with `QUERY` is `share`."""
    vector = np.zeros(DIMENSIONS, np.float32)
    vector[0], vector[axis] = share, (1 - share**2) ** 0.5
    return vector


QUERY = toward(1.0)


def row(number: int, vector: Floats, **fields: Any) -> VectorRow:
    """A passage of Ana at home, a minute after the one before it."""
    values: dict[str, Any] = {
        "owner": "ana",
        "ord": number,
        "episode_id": 100 + number,
        "chat": "home",
        "at": NOON + timedelta(minutes=number),
        "vector": vector,
    }
    return VectorRow(**values | fields)


async def add(index: VectorIndex, *rows: VectorRow) -> None:
    await index.apply(rows, [], cursor=1)


async def found(index: VectorIndex, where: Where = EVERYWHERE, limit: int = 10, owner: str = "ana") -> list[int]:
    return (await index.search(owner, QUERY, limit, where)).ords.tolist()


def ords(*numbers: int) -> Ords:
    return np.array(numbers, np.int64)


async def test_a_new_index_is_empty_and_stands_at_zero(index: VectorIndex) -> None:
    assert await index.cursor() == 0
    hits = await index.search("ana", QUERY, 10, EVERYWHERE)
    assert len(hits) == 0
    assert hits.ords.dtype == np.int64
    assert hits.scores.dtype == np.float32
    assert np.isnan(await index.score("ana", QUERY, ords(0, 1))).all()


async def test_the_next_search_sees_what_was_applied_and_the_cursor_moved(index: VectorIndex) -> None:
    await index.apply([row(0, toward(0.9))], [], cursor=4)
    assert await index.cursor() == 4
    assert await found(index) == [0]
    await index.apply([row(1, toward(0.95))], [], cursor=6)
    assert await index.cursor() == 6
    assert await found(index) == [1, 0]


async def test_only_the_cursor_moves_when_nothing_is_given(index: VectorIndex) -> None:
    await index.apply([], [], cursor=5)
    assert await index.cursor() == 5


async def test_the_best_cosines_come_first_whatever_the_length_of_the_query(index: VectorIndex) -> None:
    shares = [0.2, 0.9, -0.5, 0.6]
    await add(index, *[row(n, toward(share)) for n, share in enumerate(shares)])
    for query in (QUERY, np.float32(7.5) * QUERY):
        hits = await index.search("ana", query, 3, EVERYWHERE)
        assert hits.ords.tolist() == [1, 3, 0]
        np.testing.assert_allclose(hits.scores, [0.9, 0.6, 0.2], atol=0.01)


async def test_equal_cosines_put_the_newer_passage_first(index: VectorIndex) -> None:
    times = [0, 2, 1, 1]
    await add(index, *[row(n, toward(0.5), at=NOON + timedelta(hours=hours)) for n, hours in enumerate(times)])
    assert await found(index) == [1, 3, 2, 0]
    assert await found(index, limit=2) == [1, 3]


async def test_no_room_and_no_owner_find_nothing(index: VectorIndex) -> None:
    await add(index, row(0, toward(0.9)))
    assert await found(index, limit=0) == []
    assert await found(index, owner="nobody") == []


async def test_a_passage_at_a_right_angle_is_found_and_scored(index: VectorIndex) -> None:
    await add(index, row(0, toward(0.0)))
    assert await found(index) == [0]
    np.testing.assert_allclose(await index.score("ana", QUERY, ords(0)), [0.0], atol=0.01)


async def test_the_best_of_many_come_back(index: VectorIndex) -> None:
    shares = np.linspace(-0.9, 0.9, 2_600).astype(np.float32)
    shuffled = np.random.default_rng(3).permutation(len(shares))
    await add(index, *[row(n, toward(float(shares[place]))) for n, place in enumerate(shuffled)])
    hits = await index.search("ana", QUERY, 100, EVERYWHERE)
    assert len(set(hits.ords.tolist())) == 100
    assert (np.diff(hits.scores) <= 0).all()
    assert shares[shuffled[hits.ords]].min() > 0.9 - 1.8 * 100 / 2_600 - 0.02


# Filters


async def test_each_filter_keeps_what_it_names(index: VectorIndex) -> None:
    await add(
        index,
        row(0, toward(0.9), chat="work", topic_id="t1"),
        row(1, toward(0.5), chat="home", topic_id="t2"),
        row(2, toward(0.8), chat="home", topic_id=""),
    )
    assert await found(index, Where(chat="home")) == [2, 1]
    assert await found(index, Where(chat="nowhere")) == []
    assert await found(index, Where(topic_id="t1")) == [0]
    assert await found(index, Where(topic_id="")) == [2]
    assert await found(index, Where(chat="work", topic_id="t2")) == []
    assert await found(index, Where(after=NOON + timedelta(minutes=1))) == [2, 1]
    assert await found(index, Where(before=NOON + timedelta(minutes=2))) == [0, 1]
    assert await found(index, Where(after=NOON + timedelta(minutes=1), before=NOON + timedelta(minutes=2))) == [1]
    assert await found(index, Where(up_to=102)) == [0, 1]


async def test_f_b24_an_entry_in_the_window_is_found_however_many_outside_rank_above_it(index: VectorIndex) -> None:
    await add(
        index,
        *[row(n, toward(0.9)) for n in range(300)],
        row(300, toward(0.1), at=NOON + timedelta(days=3)),
        *[row(n, toward(0.9)) for n in range(301, 400)],
    )
    assert 300 not in await found(index, limit=20)
    window = Where(after=NOON + timedelta(days=2), before=NOON + timedelta(days=4))
    assert await found(index, window, limit=20) == [300]


@pytest.mark.parametrize("every", [2, 40])
async def test_a_filter_finds_the_best_of_what_it_keeps_be_that_much_or_little(index: VectorIndex, every: int) -> None:
    shares = np.random.default_rng(5).uniform(-0.9, 0.9, 1_500)
    await add(
        index,
        *[row(n, toward(float(share)), chat="work" if n % every == 0 else "home") for n, share in enumerate(shares)],
    )
    hits = await index.search("ana", QUERY, 10, Where(chat="work"))
    own = np.arange(0, 1_500, every)
    assert set(hits.ords.tolist()) <= set(own.tolist())
    best = np.sort(shares[own])[::-1][:10]
    np.testing.assert_allclose(hits.scores, best, atol=0.02)
    np.testing.assert_allclose(shares[hits.ords], best, atol=0.02)


async def test_one_owner_never_sees_another(index: VectorIndex) -> None:
    await add(index, row(0, toward(0.3)), row(0, toward(0.9), owner="bob"), row(1, toward(0.95), owner="bob"))
    assert await found(index) == [0]
    np.testing.assert_allclose(await index.score("ana", QUERY, ords(0, 1)), [0.3, np.nan], atol=0.01)
    await index.apply([], [("bob", 0)], cursor=2)
    assert await found(index) == [0]
    assert await found(index, owner="bob") == [1]


# Change


async def test_a_row_replaces_the_one_before_it(index: VectorIndex) -> None:
    await add(index, row(0, toward(0.9)), row(1, toward(0.5)))
    await index.apply([row(0, toward(0.1), chat="work"), row(2, toward(0.2)), row(2, toward(0.7))], [], cursor=2)
    assert await found(index) == [2, 1, 0]
    assert await found(index, Where(chat="work")) == [0]
    np.testing.assert_allclose(await index.score("ana", QUERY, ords(0, 2)), [0.1, 0.7], atol=0.01)


async def test_what_is_taken_out_is_neither_found_nor_scored(index: VectorIndex) -> None:
    await add(index, *[row(n, toward(0.9)) for n in range(3)])
    await index.apply(
        [row(3, toward(0.9))], [("ana", 1), ("ana", 3), ("ana", 77), ("ana", -1), ("nobody", 0)], cursor=2
    )
    assert await found(index) == [2, 0]
    assert np.isnan(await index.score("ana", QUERY, ords(0, 1, 2, 3))).tolist() == [False, True, False, True]
    await index.apply([row(1, toward(0.9))], [], cursor=3)
    assert await found(index) == [2, 1, 0]


async def test_applying_the_same_again_changes_nothing(index: VectorIndex) -> None:
    step = [row(n, toward(0.1 * n)) for n in range(6)]
    await index.apply(step, [("ana", 4)], cursor=3)
    before = await index.search("ana", QUERY, 10, EVERYWHERE)
    await index.apply(step, [("ana", 4)], cursor=3)
    after = await index.search("ana", QUERY, 10, EVERYWHERE)
    np.testing.assert_array_equal(after.ords, before.ords)
    np.testing.assert_array_equal(after.scores, before.scores)


async def test_a_cleared_index_is_empty_and_can_be_filled_again(index: VectorIndex) -> None:
    await index.apply([row(0, toward(0.9)), row(0, toward(0.9), owner="bob")], [], cursor=4)
    await index.clear()
    assert await index.cursor() == 0
    assert await found(index) == []
    assert await found(index, owner="bob") == []
    assert np.isnan(await index.score("ana", QUERY, ords(0))).all()
    await index.apply([row(1, toward(0.9))], [], cursor=1)
    assert await found(index) == [1]


async def test_a_vector_that_was_handed_in_can_be_changed_without_harm(index: VectorIndex) -> None:
    vector, query = toward(0.9), QUERY.copy()
    await add(index, row(0, vector.copy()))
    await index.search("ana", query, 1, EVERYWHERE)
    await index.score("ana", query, ords(0))
    np.testing.assert_array_equal(query, QUERY)


# Scores


async def test_a_passage_without_a_vector_scores_nan_and_not_0(index: VectorIndex) -> None:
    await add(index, row(0, toward(0.8)), row(5, toward(-0.3)))
    scores = await index.score("ana", QUERY, ords(5, -1, 3, 0, 0, 10_000_000))
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, [-0.3, np.nan, np.nan, 0.8, 0.8, np.nan], atol=0.01)


async def test_scores_have_the_shape_of_the_numbers(index: VectorIndex) -> None:
    await add(index, row(0, toward(0.8)), row(1, toward(0.4)))
    scores = await index.score("ana", QUERY, np.array([[-1, 0, 1], [0, 1, -1]], np.int64))
    np.testing.assert_allclose(scores, [[np.nan, 0.8, 0.4], [0.8, 0.4, np.nan]], atol=0.01)
    assert (await index.score("ana", QUERY, ords())).shape == (0,)


async def test_a_search_and_a_score_agree(index: VectorIndex) -> None:
    await add(index, *[row(n, toward(0.03 * n)) for n in range(30)])
    hits = await index.search("ana", QUERY, 30, EVERYWHERE)
    np.testing.assert_allclose(await index.score("ana", QUERY, hits.ords), hits.scores, atol=1e-6)


# Many at once


async def test_memory_13_writers_and_readers_at_once_lose_and_duplicate_nothing(index: VectorIndex) -> None:
    done = False

    async def write(writer: int) -> None:
        for n in range(10):
            await index.apply([row(8 * n + writer, toward(0.01 * n, axis=1 + writer), chat=f"c{writer}")], [], cursor=1)

    async def read() -> None:
        while not done:
            hits = await index.search("ana", QUERY, 200, EVERYWHERE)
            assert len(set(hits.ords.tolist())) == len(hits)
            assert not np.isnan(await index.score("ana", QUERY, hits.ords)).any()
            await asyncio.sleep(0)

    readers = [asyncio.create_task(read()) for _ in range(8)]
    await asyncio.gather(*(write(writer) for writer in range(8)))
    done = True
    await asyncio.gather(*readers)

    assert sorted(await found(index, limit=200)) == list(range(80))
    for writer in range(8):
        assert sorted(await found(index, Where(chat=f"c{writer}"), limit=200)) == list(range(writer, 80, 8))
    expected = [0.01 * (n // 8) for n in range(80)]
    np.testing.assert_allclose(await index.score("ana", QUERY, np.arange(80)), expected, atol=0.01)


async def test_a39_a_search_during_changes_finds_what_stays_and_nothing_that_has_gone(index: VectorIndex) -> None:
    await add(index, *[row(n, toward(0.9)) for n in range(40)])
    came, gone = set(range(40)), set[int]()

    async def change() -> None:
        for n in range(40):
            await index.apply([row(1_500 * (1 + n % 4) + n, toward(0.9))], [("ana", n)], cursor=2 + n)
            came.add(1_500 * (1 + n % 4) + n)
            gone.add(n)

    changing = asyncio.create_task(change())
    while not changing.done():
        came_before, gone_before = set(came), set(gone)
        hits = set((await index.search("ana", QUERY, 200, EVERYWHERE)).ords.tolist())
        # The next change may be under way: its passage has gone already while nobody was told.
        under_way = {len(gone)}
        assert came_before - gone - under_way <= hits
        assert not hits & gone_before
        await asyncio.sleep(0)
    await changing
    assert set(await found(index, limit=200)) == came - gone


async def test_the_centre_is_the_mean_of_one_owners_vectors(index: VectorIndex) -> None:
    assert await index.centre("ana") is None
    await add(index, row(0, toward(0.9)), row(1, toward(0.5)), row(2, toward(0.1), owner="dan"))
    centre = await index.centre("ana")
    assert centre is not None
    assert centre.count == 2
    assert np.allclose(centre.mean, (toward(0.9) + toward(0.5)) / 2, atol=0.01)
    await index.apply([], [("ana", 0)], cursor=2)
    left = await index.centre("ana")
    assert left is not None
    assert np.allclose(left.mean, toward(0.5), atol=0.01)
    await index.apply([], [("ana", 1)], cursor=3)
    assert await index.centre("ana") is None


async def test_the_centre_of_many_vectors_is_near_their_mean(index: VectorIndex) -> None:
    random = np.random.default_rng(1)
    drawn = random.standard_normal((3000, DIMENSIONS)) + 1
    vectors = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    await add(index, *(row(number, vector) for number, vector in enumerate(vectors)))
    centre = await index.centre("ana")
    assert centre is not None
    assert centre.count == 3000
    assert np.allclose(centre.mean, vectors.mean(axis=0), atol=0.03)
