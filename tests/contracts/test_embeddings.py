"""The contract of the port Embeddings, over every adapter."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from goat.ports.stores import Embeddings, Journal
from goat.records.episodes import ArchiveCounts, NewEpisode, Role, Span
from goat.records.search import Floats, VectorRow

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
DIMENSIONS = 16


def unit(seed: int) -> Floats:
    vector = np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def row(number: int, vector: Floats, owner: str = "ana") -> VectorRow:
    return VectorRow(owner, number, number + 1, "home", NOON, vector)


def at_rest(vector: Floats) -> Floats:
    return vector.astype(np.float16).astype(np.float32)


async def test_a_stored_vector_comes_back_as_float16_kept_it(embeddings: Embeddings) -> None:
    await embeddings.put("e5", [row(0, unit(0)), row(1, unit(1))], cursor=2)
    got = await embeddings.get("e5", "ana", [1, 0])
    assert set(got) == {0, 1}
    for number in (0, 1):
        assert got[number].dtype == np.float32
        np.testing.assert_array_equal(got[number], at_rest(unit(number)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(npst.arrays(np.float32, DIMENSIONS, elements=st.floats(-1, 1, width=32)))
async def test_no_component_of_a_unit_vector_moves_by_more_than_float16_does(
    embeddings: Embeddings, vector: Floats
) -> None:
    await embeddings.put("e5", [row(0, vector)], cursor=1)
    got = (await embeddings.get("e5", "ana", [0]))[0]
    np.testing.assert_allclose(got, vector, atol=2**-11)


async def test_a_vector_that_was_handed_out_can_be_changed_without_harm(embeddings: Embeddings) -> None:
    given_vector = unit(0)
    await embeddings.put("e5", [row(0, given_vector)], cursor=1)
    given_vector[:] = 0
    (await embeddings.get("e5", "ana", [0]))[0][:] = 0
    np.testing.assert_array_equal((await embeddings.get("e5", "ana", [0]))[0], at_rest(unit(0)))


async def test_passages_without_a_vector_are_left_out(embeddings: Embeddings) -> None:
    await embeddings.put("e5", [row(3, unit(3))], cursor=1)
    assert set(await embeddings.get("e5", "ana", [0, 3, 4, -1])) == {3}
    assert await embeddings.get("e5", "ana", []) == {}
    assert await embeddings.get("unknown", "ana", [3]) == {}
    assert await embeddings.get("e5", "nobody", [3]) == {}


async def test_numbers_may_be_numpy_integers(embeddings: Embeddings) -> None:
    numbers = np.arange(3, dtype=np.int64)
    await embeddings.put("e5", [row(number, unit(int(number))) for number in numbers], cursor=1)
    assert set(await embeddings.get("e5", "ana", list(numbers))) == {0, 1, 2}


async def test_a_row_replaces_the_one_before_it(embeddings: Embeddings) -> None:
    await embeddings.put("e5", [row(0, unit(0)), row(1, unit(1))], cursor=1)
    await embeddings.put("e5", [row(0, unit(8)), row(0, unit(9))], cursor=2)
    got = await embeddings.get("e5", "ana", [0, 1])
    np.testing.assert_array_equal(got[0], at_rest(unit(9)))
    np.testing.assert_array_equal(got[1], at_rest(unit(1)))


async def test_the_cursor_is_zero_at_first_and_then_what_was_put(embeddings: Embeddings) -> None:
    assert await embeddings.cursor("e5") == 0
    await embeddings.put("e5", [row(0, unit(0))], cursor=7)
    assert await embeddings.cursor("e5") == 7
    await embeddings.put("e5", [], cursor=12)
    assert await embeddings.cursor("e5") == 12
    assert await embeddings.cursor("minilm") == 0


async def test_two_models_never_mix(embeddings: Embeddings) -> None:
    await embeddings.put("e5", [row(0, unit(0))], cursor=1)
    await embeddings.put("minilm", [row(0, unit(5)[:8]), row(1, unit(6)[:8])], cursor=2)
    assert set(await embeddings.get("e5", "ana", [0, 1])) == {0}
    assert len((await embeddings.get("minilm", "ana", [0]))[0]) == 8
    assert await embeddings.models() == ["e5", "minilm"]


async def test_two_owners_with_the_same_numbers_never_mix(embeddings: Embeddings) -> None:
    await embeddings.put("e5", [row(0, unit(0)), row(0, unit(1), owner="bob"), row(1, unit(2), owner="bob")], cursor=3)
    anas, bobs = await embeddings.get("e5", "ana", [0, 1]), await embeddings.get("e5", "bob", [0, 1])
    assert (set(anas), set(bobs)) == ({0}, {0, 1})
    np.testing.assert_array_equal(anas[0], at_rest(unit(0)))
    np.testing.assert_array_equal(bobs[0], at_rest(unit(1)))


async def test_only_models_that_have_vectors_are_named(embeddings: Embeddings) -> None:
    assert await embeddings.models() == []
    await embeddings.put("nothing yet", [], cursor=4)
    await embeddings.put("ö model", [row(0, unit(0), owner="bob")], cursor=4)
    assert await embeddings.models() == ["ö model"]


async def test_a_dropped_model_leaves_nothing_and_the_others_all(embeddings: Embeddings, journal: Journal) -> None:
    await embeddings.put("e5", [row(0, unit(0)), row(0, unit(1), owner="bob")], cursor=3)
    await embeddings.put("minilm", [row(0, unit(2))], cursor=4)
    await embeddings.drop("e5")
    assert await embeddings.models() == ["minilm"]
    assert await embeddings.cursor("e5") == 0
    assert await embeddings.get("e5", "ana", [0]) == {}
    assert await embeddings.get("e5", "bob", [0]) == {}
    assert (await journal.counts("ana", "e5")).embedded == 0
    assert set(await embeddings.get("minilm", "ana", [0])) == {0}
    assert await embeddings.cursor("minilm") == 4


async def test_a_dropped_model_can_come_back(embeddings: Embeddings) -> None:
    await embeddings.put("e5", [row(0, unit(0)), row(1, unit(1))], cursor=3)
    await embeddings.drop("e5")
    await embeddings.drop("never there")
    await embeddings.put("e5", [row(1, unit(9))], cursor=1)
    assert set(await embeddings.get("e5", "ana", [0, 1])) == {1}
    assert await embeddings.cursor("e5") == 1


async def test_a_large_model_is_stored_read_and_dropped_whole(embeddings: Embeddings) -> None:
    vector = unit(0)
    await embeddings.put("e5", [row(number, vector) for number in range(5_301)], cursor=1)
    assert len(await embeddings.get("e5", "ana", range(5_301))) == 5_301
    await embeddings.drop("e5")
    assert await embeddings.get("e5", "ana", range(5_301)) == {}
    await embeddings.put("e5", [row(7, vector)], cursor=1)
    assert set(await embeddings.get("e5", "ana", range(5_301))) == {7}


async def test_concurrent_puts_are_all_kept(embeddings: Embeddings) -> None:
    await asyncio.gather(*(embeddings.put("e5", [row(number, unit(number))], cursor=number) for number in range(50)))
    got = await embeddings.get("e5", "ana", range(50))
    assert set(got) == set(range(50))
    for number, vector in got.items():
        np.testing.assert_array_equal(vector, at_rest(unit(number)))


async def test_vectors_stand_beside_the_words_they_were_made_from(embeddings: Embeddings, journal: Journal) -> None:
    new = NewEpisode("ana", "home", Role.USER, "two parts", NOON, "x1", passages=(Span(0, 3), Span(4, 9)))
    await journal.append([new])
    [change] = await journal.changes(0, 10)
    rows = [row(passage.ord, unit(passage.ord)) for passage in change.passages]
    await embeddings.put("e5", rows, cursor=change.seq)
    assert await embeddings.cursor("e5") == await journal.head()
    assert await journal.counts("ana", "e5") == ArchiveCounts(episodes=1, passages=2, embedded=2, chats=1)


@pytest.mark.parametrize("model", ["multilingual-e5-small", "модель", "a/b:c@d", "'; --"])
async def test_models_may_have_any_name(embeddings: Embeddings, model: str) -> None:
    await embeddings.put(model, [row(0, unit(0))], cursor=1)
    assert await embeddings.models() == [model]
    assert set(await embeddings.get(model, "ana", [0])) == {0}
