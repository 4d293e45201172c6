"""The int8 scan: as good as exact cosine, and a file that can be lost at any time."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goat.adapters.database import Database
from goat.adapters.journal import SqlEmbeddings, journal_database
from goat.adapters.passages_sqlite import SqlitePassages
from goat.adapters.vector_codes import to_codes, usual_scale
from goat.adapters.vector_scan import COMPARED, ScanVectorIndex
from goat.errors import BackendUnavailable
from goat.records.search import EVERYWHERE, Floats, VectorRow
from goat.testing.clock import FakeClock

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
DIMENSIONS = 32
E5 = 384


def opened(home: Path) -> Database:
    return journal_database(home, FakeClock())


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with opened(tmp_path) as database:
        yield database


def scan(database: Database, home: Path, model: str = "e5", scale: float | None = None) -> ScanVectorIndex:
    """An index as a start of the program finds it."""
    return ScanVectorIndex(database, SqlitePassages(database), home, model, DIMENSIONS, scale)


def units(count: int, seed: int = 0, dimensions: int = DIMENSIONS) -> Floats:
    vectors = np.random.default_rng(seed).normal(size=(count, dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def rows(vectors: Floats, first: int = 0, owner: str = "ana") -> list[VectorRow]:
    return [
        VectorRow(owner, n, 100 + n, "home", NOON + timedelta(minutes=n), vector)
        for n, vector in enumerate(vectors, first)
    ]


async def keep(
    database: Database, index: ScanVectorIndex, added: list[VectorRow], cursor: int = 1, model: str = "e5"
) -> None:
    """Bring vectors to the journal and then to the index, as the archive does."""
    await SqlEmbeddings(database).put(model, added, cursor)
    await index.apply(added, [], cursor)


async def found(index: ScanVectorIndex, query: Floats, limit: int = 5, owner: str = "ana") -> list[int]:
    return (await index.search(owner, query, limit, EVERYWHERE)).ords.tolist()


def files(home: Path) -> list[Path]:
    return list(home.glob("vec-*"))


def only_file(home: Path) -> Path:
    [path] = files(home)
    return path


def codes_in(path: Path) -> np.ndarray:
    return np.fromfile(path, np.int8).reshape(-1, DIMENSIONS)


# Quality


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 300), spread=st.floats(0.05, 1.0))
async def test_the_order_is_that_of_exact_cosine_within_the_error_of_a_code(
    database: Database, tmp_path: Path, seed: int, count: int, spread: float
) -> None:
    vectors = units(1, seed, E5) * 1.0 + spread * units(count + 1, seed + 1, E5)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    query, owner = vectors[-1], f"owner-{seed}-{count}-{spread}"
    scale = float(np.abs(vectors).max()) / 127
    index = ScanVectorIndex(database, SqlitePassages(database), tmp_path, "e5", E5, scale)
    await index.apply(rows(vectors[:-1], owner=owner), [], cursor=1)
    hits = await index.search(owner, query, 10, EVERYWHERE)
    exact = vectors[:-1] @ query
    error = 0.006
    np.testing.assert_allclose(hits.scores, exact[hits.ords], atol=error)
    assert exact[hits.ords].min() >= np.sort(exact)[-len(hits)] - 2 * error


async def test_cut_off_components_cost_little_of_the_order(database: Database, tmp_path: Path) -> None:
    vectors = units(400, dimensions=E5)
    vectors[:, 7] = -0.35  # a component beyond the reach of a code, the same in all, as some models have it
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index = ScanVectorIndex(database, SqlitePassages(database), tmp_path, "e5", E5)
    await index.apply(rows(vectors), [], cursor=1)
    for query in vectors[::40]:
        exact = np.argsort(-(vectors @ query))[:10]
        assert len(set(exact.tolist()) & set(await found(index, query, 10))) >= 8


# The file


async def test_the_file_holds_a_row_of_codes_at_the_number_of_the_passage(database: Database, tmp_path: Path) -> None:
    index, vectors = scan(database, tmp_path), units(5)
    await keep(database, index, [*rows(vectors[:2]), *rows(vectors[2:], first=7)])
    codes = codes_in(only_file(tmp_path))
    expected = to_codes(vectors, usual_scale(DIMENSIONS))
    np.testing.assert_array_equal(codes[[0, 1, 7, 8, 9]], expected)
    assert not codes[2:7].any()
    assert not codes[10:].any()


async def test_a_forgotten_passage_leaves_zeros(database: Database, tmp_path: Path) -> None:
    index, vectors = scan(database, tmp_path), units(3)
    await keep(database, index, rows(vectors))
    await index.apply([], [("ana", 1)], cursor=2)
    assert codes_in(only_file(tmp_path)).any(axis=1).tolist()[:4] == [True, False, True, False]
    assert await found(index, vectors[1]) != []
    assert 1 not in await found(index, vectors[1])


async def test_an_index_opened_anew_goes_on_where_it_stood(database: Database, tmp_path: Path) -> None:
    vectors = units(50)
    await keep(database, scan(database, tmp_path), rows(vectors[:40]), cursor=40)
    again = scan(database, tmp_path)
    assert await again.cursor() == 40
    assert await found(again, vectors[7], 1) == [7]
    await keep(database, again, rows(vectors[40:], first=40), cursor=50)
    assert await found(scan(database, tmp_path), vectors[44], 1) == [44]


def lost(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def cut_within_a_row(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 20 * DIMENSIONS + 5])


def cut_after_a_row(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 20 * DIMENSIONS])


def of_noise(path: Path) -> None:
    path.write_bytes(np.random.default_rng(1).bytes(path.stat().st_size))


def of_another(path: Path) -> None:
    path.write_bytes(to_codes(units(60, seed=9), usual_scale(DIMENSIONS)).tobytes())


def too_long(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\x07" * DIMENSIONS)


def with_one_bad_byte(path: Path) -> None:
    stored = bytearray(path.read_bytes())
    stored[33 * DIMENSIONS + 3] ^= 0x40
    path.write_bytes(stored)


@pytest.mark.parametrize(
    "damage",
    [lost, emptied, cut_within_a_row, cut_after_a_row, of_noise, of_another, too_long, with_one_bad_byte],
)
async def test_a_file_that_is_missing_short_torn_or_foreign_is_made_again(
    database: Database, tmp_path: Path, damage: object
) -> None:
    vectors = units(60)
    await keep(database, scan(database, tmp_path), rows(vectors), cursor=60)
    path = only_file(tmp_path)
    assert callable(damage)
    damage(path)
    again = scan(database, tmp_path)
    assert await again.cursor() == 60
    scores = await again.score("ana", vectors[0], np.arange(61))
    np.testing.assert_allclose(scores[:60], vectors @ vectors[0], atol=0.03)
    assert np.isnan(scores[60])
    expected = to_codes(vectors, usual_scale(DIMENSIONS))
    np.testing.assert_array_equal(codes_in(path)[:60], expected)
    assert not codes_in(path)[60:].any()
    assert only_file(tmp_path) == path


async def test_a_long_file_is_made_again_whole(database: Database, tmp_path: Path) -> None:
    vectors = units(COMPARED * 2 + 900)
    await keep(database, scan(database, tmp_path), rows(vectors), cursor=5)
    only_file(tmp_path).unlink()
    again = scan(database, tmp_path)
    for n in (0, COMPARED, len(vectors) - 1):
        assert await found(again, vectors[n], 1) == [n]
    np.testing.assert_array_equal(codes_in(only_file(tmp_path)), to_codes(vectors, usual_scale(DIMENSIONS)))


async def test_vectors_that_were_kept_when_the_process_ended_are_there_when_it_starts(
    database: Database, tmp_path: Path
) -> None:
    vectors = units(30)
    await keep(database, scan(database, tmp_path), rows(vectors[:20]), cursor=20)
    await SqlEmbeddings(database).put("e5", rows(vectors[20:], first=20), cursor=30)
    again = scan(database, tmp_path)
    assert await again.cursor() == 20
    np.testing.assert_allclose(
        await again.score("ana", vectors[3], np.arange(20)), vectors[:20] @ vectors[3], atol=0.03
    )
    await again.apply(rows(vectors[20:], first=20), [], cursor=30)
    assert await found(again, vectors[25], 1) == [25]


async def test_after_a_clear_that_was_cut_short_the_old_file_is_not_believed(
    database: Database, tmp_path: Path
) -> None:
    vectors = units(4)
    await keep(database, scan(database, tmp_path), rows(vectors))
    path = only_file(tmp_path)
    stored = path.read_bytes()
    await scan(database, tmp_path).clear()
    path.write_bytes(stored)
    again = scan(database, tmp_path)
    assert await found(again, vectors[2]) == []
    await again.apply(rows(vectors[:1]), [], cursor=1)
    assert await found(again, vectors[2]) == [0]


async def test_another_scale_makes_the_codes_anew(database: Database, tmp_path: Path) -> None:
    vectors = units(40)
    await keep(database, scan(database, tmp_path), rows(vectors))
    again = scan(database, tmp_path, scale=1 / 127)
    np.testing.assert_allclose(await again.score("ana", vectors[0], np.arange(40)), vectors @ vectors[0], atol=0.05)
    np.testing.assert_array_equal(codes_in(only_file(tmp_path))[:40], to_codes(vectors, 1 / 127))


async def test_memory_21_two_models_in_one_folder_never_mix(database: Database, tmp_path: Path) -> None:
    one, two = units(10, seed=1), units(10, seed=2)
    first, second = scan(database, tmp_path, "model/a"), scan(database, tmp_path, "model-a")
    await keep(database, first, rows(one), cursor=3, model="model/a")
    await keep(database, second, rows(two[:5]), cursor=2, model="model-a")
    assert (await first.cursor(), await second.cursor()) == (3, 2)
    assert len(files(tmp_path)) == 2
    np.testing.assert_allclose(await first.score("ana", one[0], np.arange(10)), one @ one[0], atol=0.03)
    assert np.isnan(await second.score("ana", two[0], np.arange(10))).tolist() == [False] * 5 + [True] * 5
    await second.clear()
    assert await found(second, two[0]) == []
    assert await found(scan(database, tmp_path, "model/a"), one[4], 1) == [4]


async def test_vectors_of_another_length_under_the_same_name_are_refused(database: Database, tmp_path: Path) -> None:
    await SqlEmbeddings(database).put("e5", rows(units(3, dimensions=8)), cursor=1)
    with pytest.raises(BackendUnavailable, match="goat reindex"):
        await found(scan(database, tmp_path), units(1)[0])
    index = scan(database, tmp_path, "other")
    for call in (
        index.search("ana", units(1, dimensions=8)[0], 5, EVERYWHERE),
        index.apply(rows(units(1, dimensions=8)), [], 1),
    ):
        with pytest.raises(ValueError, match=r"\(32,\), not \(8,\)"):
            await call


async def test_a_number_that_no_passage_can_have_is_refused(database: Database, tmp_path: Path) -> None:
    index = scan(database, tmp_path)
    with pytest.raises(ValueError, match="-1"):
        await index.apply(rows(units(1), first=-1), [], cursor=1)
    await index.apply([], [("nobody", 3), ("nobody", -1)], cursor=2)
    assert await database.read("test", lambda c: c.exec_driver_sql("SELECT name FROM owner").all()) == []


async def test_a_folder_that_cannot_be_written_is_told_as_the_index_being_away(
    database: Database, tmp_path: Path
) -> None:
    index = ScanVectorIndex(database, SqlitePassages(database), tmp_path / "gone", "e5", DIMENSIONS)
    with pytest.raises(BackendUnavailable, match="VectorIndex"):
        await index.apply(rows(units(1)), [], cursor=1)
    assert await index.cursor() == 0


# Killed


CHILD = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {folder!r})
from test_vector_scan import keep, opened, rows, scan, units

async def main():
    home, vectors = Path({home!r}), units(5_000)
    async with opened(home) as database:
        index = scan(database, home)
        for n in range(await index.cursor(), 5_000):
            await keep(database, index, rows(vectors[n : n + 1], first=n), cursor=n + 1)
            print(n + 1, flush=True)

asyncio.run(main())
"""


async def test_memory_15_killed_at_any_moment_the_file_holds_what_the_cursor_says(tmp_path: Path) -> None:
    program, vectors = CHILD.format(folder=str(Path(__file__).parent), home=str(tmp_path)), units(5_000)
    for lived in (0.05, 0.2, 0.35):
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
        assert child.stdout is not None
        told = await child.stdout.readline()
        assert told, "the child ended by itself"
        await asyncio.sleep(lived)
        child.kill()
        told += await child.stdout.read()
        await child.wait()
        async with opened(tmp_path) as database:
            index = scan(database, tmp_path)
            cursor = await index.cursor()
            assert cursor >= int(told[: told.rindex(b"\n")].splitlines()[-1])
            scores = await index.score("ana", vectors[0], np.arange(cursor))
            np.testing.assert_allclose(scores, vectors[:cursor] @ vectors[0], atol=0.03)


# Beside another process


def untouched(path: Path) -> None:
    """No damage at all."""


def behind(path: Path) -> None:
    """As if the other process had kept its newest vectors and not written their rows yet."""
    stored = bytearray(path.read_bytes())
    stored[55 * DIMENSIONS : 60 * DIMENSIONS] = bytes(5 * DIMENSIONS)
    path.write_bytes(stored)


def ahead(path: Path) -> None:
    """As if the other process had written a newer row since."""
    stored = bytearray(path.read_bytes())
    stored[60 * DIMENSIONS : 61 * DIMENSIONS] = to_codes(units(1, seed=3), usual_scale(DIMENSIONS)).tobytes()
    path.write_bytes(stored)


@pytest.mark.parametrize("state", [untouched, behind, ahead, lost, emptied, cut_within_a_row, of_noise])
async def test_for_reading_only_every_vector_is_served_and_the_file_is_left_as_it_is(
    database: Database, tmp_path: Path, state: object
) -> None:
    vectors = units(60)
    await keep(database, scan(database, tmp_path), rows(vectors), cursor=60)
    path = only_file(tmp_path)
    assert callable(state)
    state(path)
    before = {file: file.read_bytes() for file in files(tmp_path)}
    async with Database(tmp_path / "journal.db", backups=tmp_path / "backups", reading=True) as reading:
        beside = scan(reading, tmp_path)
        scores = await beside.score("ana", vectors[7], np.arange(61))
        np.testing.assert_allclose(scores[:60], vectors @ vectors[7], atol=0.03)
        assert np.isnan(scores[60])
        assert await found(beside, vectors[57], 1) == [57]
        assert await found(beside, vectors[57], 1, owner="nobody") == []
    assert {file: file.read_bytes() for file in files(tmp_path)} == before
