"""The posting lists in SQLite: the same answers as the reference, and nothing left behind."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goat.adapters.database import Database
from goat.adapters.journal import journal_database
from goat.adapters.lexical_memory import MemoryLexicalIndex
from goat.adapters.lexical_postings import BLOCK
from goat.adapters.lexical_sqlite import SqliteLexicalIndex
from goat.adapters.passages_sqlite import SqlitePassages
from goat.errors import BackendUnavailable
from goat.ports.stores import LexicalIndex
from goat.records.search import EVERYWHERE, LexicalDocument, Where
from goat.testing.clock import FakeClock

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
FRESH = itertools.count()


def opened(home: Path) -> Database:
    return journal_database(home, FakeClock())


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with opened(tmp_path) as database:
        yield database


@pytest.fixture
def index(database: Database) -> SqliteLexicalIndex:
    return SqliteLexicalIndex(database, SqlitePassages(database))


def document(number: int, words: str, owner: str = "ana", chat: str = "home", **fields: Any) -> LexicalDocument:
    terms = Counter(words.split())
    at = fields.pop("at", NOON + timedelta(minutes=number))
    return LexicalDocument(owner, number, 100 + number, chat, at, terms, terms.total(), **fields)


async def rows(database: Database, statement: str) -> list[tuple[Any, ...]]:
    return await database.read("test", lambda c: [tuple(row) for row in c.exec_driver_sql(statement)])


async def posting_lists(database: Database) -> dict[str, list[tuple[int, int]]]:
    """Every term's (ord, tf), having checked the order and the size of the blocks."""
    lists: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    last: dict[str, int] = {}
    for term, key, data in await rows(
        database, "SELECT t.t, p.k, p.data FROM post p JOIN term t ON t.id = p.k >> 32 ORDER BY p.k"
    ):
        postings = np.frombuffer(data, "<u4").tolist()
        assert 0 < len(postings) <= BLOCK
        assert last.get(term, -1) < key & 0xFFFFFFFF <= postings[0] >> 8
        assert postings == sorted(postings)
        last[term] = postings[-1] >> 8
        lists[term] += [(posting >> 8, posting & 255) for posting in postings]
    return dict(lists)


def on_disk(home: Path, secret: bytes) -> bool:
    return any(secret in path.read_bytes() for path in home.glob("journal.db*"))


# The same answers as the reference

WORDS = ["tea", "cup", "猫", "zahăr", "x"]


@st.composite
def documents(draw: st.DrawFn) -> LexicalDocument:
    terms = draw(st.dictionaries(st.sampled_from(WORDS), st.sampled_from([1, 2, 3, 255, 700]), max_size=4))
    return LexicalDocument(
        owner=draw(st.sampled_from(["ana", "bob"])),
        ord=draw(st.integers(0, 11) | st.integers(79, 82)),
        episode_id=draw(st.integers(1, 8)),
        chat=draw(st.sampled_from(["home", "work"])),
        at=NOON + timedelta(minutes=draw(st.integers(0, 40)) * 37),
        terms=terms,
        length=sum(terms.values()) + draw(st.integers(0, 3)),
        topic_id=draw(st.sampled_from(["", "t1"])),
        speaker=draw(st.sampled_from(["", "Ana"])),
        question=draw(st.booleans()),
        human=draw(st.booleans()),
    )


STEPS = st.lists(
    st.tuples(
        st.lists(documents(), max_size=5),
        st.lists(st.tuples(st.sampled_from(["ana", "bob"]), st.integers(0, 11)), max_size=3),
    ),
    min_size=1,
    max_size=6,
)
FILTERS = [
    EVERYWHERE,
    Where(chat="home"),
    Where(topic_id=""),
    Where(after=NOON + timedelta(hours=5), before=NOON + timedelta(hours=20)),
    Where(up_to=5, chat="work"),
]


async def assert_same(index: LexicalIndex, reference: LexicalIndex, owner: str, known_as: str) -> None:
    every = np.arange(90)
    for where, terms in itertools.product(FILTERS, [["tea"], ["cup", "猫", "nothing"], WORDS]):
        got = await index.search(owner, terms, 50, where)
        expected = await reference.search(known_as, terms, 50, where)
        scores = dict(zip(expected.ords.tolist(), expected.scores.tolist(), strict=True))
        assert sorted(got.ords.tolist()) == sorted(scores)
        np.testing.assert_allclose(got.scores, [scores[n] for n in got.ords.tolist()], rtol=1e-5, atol=1e-5)
        near = await index.neighbourhood(owner, every, 2, where)
        expected_near = await reference.neighbourhood(known_as, every, 2, where)
        for name in ("ords", "episode_ids", "around", "question", "after_question", "human", "at", "speakers"):
            np.testing.assert_array_equal(getattr(near, name), getattr(expected_near, name), name)
        features = await index.features(owner, terms, near)
        expected_features = await reference.features(known_as, terms, near)
        np.testing.assert_allclose(features.passage, expected_features.passage, atol=1e-5)
        np.testing.assert_allclose(features.session, expected_features.session, atol=1e-5)
        np.testing.assert_allclose(features.held, expected_features.held, atol=1e-5)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_any_changes_leave_the_same_index_as_the_reference(
    index: SqliteLexicalIndex, steps: Sequence[tuple[list[LexicalDocument], list[tuple[str, int]]]]
) -> None:
    suffix = f"-{next(FRESH)}"
    reference = MemoryLexicalIndex()
    for number, (added, removed) in enumerate(steps):
        await reference.apply(added, removed, number)
        own = [LexicalDocument(**{**_fields(d), "owner": d.owner + suffix}) for d in added]
        await index.apply(own, [(owner + suffix, ord_) for owner, ord_ in removed], number)
    for owner in ("ana", "bob"):
        await assert_same(index, reference, owner + suffix, owner)


def _fields(document: LexicalDocument) -> dict[str, Any]:
    return {name: getattr(document, name) for name in LexicalDocument.__dataclass_fields__}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_an_index_opened_anew_answers_as_the_one_that_was_filled(
    database: Database, steps: Sequence[tuple[list[LexicalDocument], list[tuple[str, int]]]]
) -> None:
    suffix = f"-again-{next(FRESH)}"
    filled = SqliteLexicalIndex(database, SqlitePassages(database))
    for number, (added, removed) in enumerate(steps):
        own = [LexicalDocument(**{**_fields(d), "owner": d.owner + suffix}) for d in added]
        await filled.apply(own, [(owner + suffix, ord_) for owner, ord_ in removed], number)
    fresh = SqliteLexicalIndex(database, SqlitePassages(database))
    for owner in ("ana", "bob"):
        await assert_same(fresh, filled, owner + suffix, owner + suffix)


# What stands in the file


async def test_long_lists_are_cut_into_blocks_and_stay_in_order_through_late_passages(
    database: Database, index: SqliteLexicalIndex
) -> None:
    at_first = [*range(1_500), *range(2_000, 3_300)]
    late = [*range(1_500, 2_000), 3_300, 3_301]
    for some in (at_first[:1_000], at_first[1_000:], late):
        before = (await posting_lists(database)).get("tea", [])
        await index.apply([document(n, "tea") for n in some], [], cursor=1)
        assert (await posting_lists(database))["tea"] == sorted([*before, *((n, 1) for n in some)])
    await index.apply(
        [document(n, "tea tea cup") for n in range(0, 3_302, 7)], [("ana", n) for n in range(1, 3_302, 7)], 2
    )
    kept = [(n, 2 if n % 7 == 0 else 1) for n in range(3_302) if n % 7 != 1]
    assert await posting_lists(database) == {"tea": kept, "cup": [(n, 1) for n in range(0, 3_302, 7)]}


async def test_single_appends_fill_a_block_before_the_next_begins(
    database: Database, index: SqliteLexicalIndex
) -> None:
    await index.apply([document(n, "tea") for n in range(BLOCK - 1)], [], cursor=1)
    for n in range(BLOCK - 1, BLOCK + 2):
        await index.apply([document(n, "tea")], [], cursor=n)
    assert (await posting_lists(database))["tea"] == [(n, 1) for n in range(BLOCK + 2)]
    assert [size for (size,) in await rows(database, "SELECT length(data) / 4 FROM post ORDER BY k")] == [BLOCK, 2]


async def test_a_forgotten_passage_leaves_no_posting_no_word_no_name_and_no_time(
    database: Database, index: SqliteLexicalIndex, tmp_path: Path
) -> None:
    words = "aardvarkish tea"
    await index.apply(
        [document(0, "tea cup"), document(1, words, chat="secretchat", speaker="Secretperson", topic_id="secrettopic")],
        [],
        1,
    )
    await index.apply([], [("ana", 1)], cursor=2)
    assert await posting_lists(database) == {"tea": [(0, 1)], "cup": [(0, 1)]}
    assert [t for (t,) in await rows(database, "SELECT t FROM term ORDER BY t")] == ["cup", "tea"]
    assert await rows(database, "SELECT t FROM label") == [("home",)]
    assert await rows(database, "SELECT count(*) FROM forward") == [(1,)]
    episode, at = 101, int((NOON + timedelta(minutes=1)).timestamp() * 1e6)
    [(stored,)] = await rows(database, "SELECT data FROM docmeta")
    assert episode.to_bytes(8, "little") not in stored
    assert at.to_bytes(8, "little") not in stored

    assert await database.checkpoint()
    assert on_disk(tmp_path, b"cup")
    for secret in (b"aardvarkish", b"secretchat", b"Secretperson", b"secrettopic"):
        assert not on_disk(tmp_path, secret)


async def test_an_edited_passage_leaves_nothing_of_its_old_words(database: Database, index: SqliteLexicalIndex) -> None:
    await index.apply([document(0, "old tea", speaker="Ana"), document(1, "tea", speaker="Ana")], [], cursor=1)
    await index.apply([document(0, "new tea", speaker="Ion")], [], cursor=2)
    assert await posting_lists(database) == {"new": [(0, 1)], "tea": [(0, 1), (1, 1)]}
    await index.apply([document(1, "new")], [], cursor=3)
    assert {t for (t,) in await rows(database, "SELECT t FROM label")} == {"home", "Ion"}


async def test_a_cleared_index_leaves_no_word(database: Database, index: SqliteLexicalIndex) -> None:
    await index.apply([document(0, "tea"), document(1, "cup", owner="bob")], [], cursor=1)
    await index.clear()
    for table in ("term", "post", "forward"):
        assert await rows(database, f"SELECT * FROM {table}") == []


# Failure


async def test_a_failed_apply_changes_neither_the_file_nor_the_memory(
    database: Database, index: SqliteLexicalIndex
) -> None:
    await index.apply([document(n, "tea") for n in range(3)], [], cursor=1)
    refuse = "CREATE TRIGGER full BEFORE UPDATE ON follower BEGIN SELECT RAISE(ABORT, 'no room'); END"
    await database.write("test", lambda c: c.exec_driver_sql(refuse) and None)
    with pytest.raises(BackendUnavailable, match=r"LexicalIndex .*no room"):
        await index.apply([document(3, "tea"), document(1, "cup", chat="work")], [("ana", 0)], cursor=2)
    with pytest.raises(BackendUnavailable):
        await index.apply([document(0, "tea", owner="new")], [], cursor=2)

    assert await index.cursor() == 1
    assert (await index.search("ana", ["tea"], 9, EVERYWHERE)).ords.tolist() == [2, 1, 0]
    near = await index.neighbourhood("ana", np.array([0, 3]), 3, EVERYWHERE)
    assert near.around.tolist() == [[-1, -1, -1, 0, 1, 2, -1], [-1, -1, 0, 1, 2, -1, -1], [-1, 0, 1, 2, -1, -1, -1]]
    assert len(await index.search("new", ["tea"], 9, EVERYWHERE)) == 0

    await database.write("test", lambda c: c.exec_driver_sql("DROP TRIGGER full") and None)
    await index.apply([document(0, "secret", owner="bob")], [], cursor=2)
    await index.apply([document(0, "tea", owner="new"), document(3, "tea")], [], cursor=3)
    assert (await index.search("new", ["tea", "secret"], 9, EVERYWHERE)).ords.tolist() == [0]
    assert (await index.search("ana", ["tea"], 9, EVERYWHERE)).ords.tolist() == [3, 2, 1, 0]


async def test_after_a_cancelled_apply_the_memory_knows_what_the_file_holds(index: SqliteLexicalIndex) -> None:
    for n in range(20):
        applying = asyncio.create_task(index.apply([document(n, "tea")], [], cursor=n + 1))
        for _ in range(n % 4):
            await asyncio.sleep(0)
        applying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await applying
    await index.apply([document(50, "tea")], [], cursor=50)
    hits = sorted((await index.search("ana", ["tea"], 99, EVERYWHERE)).ords.tolist())
    near = await index.neighbourhood("ana", np.arange(60), 0, EVERYWHERE)
    assert near.ords.tolist() == hits
    assert [row[2] for row in near.around.tolist()] == [-1, *hits[:-1]]


async def test_taking_out_what_was_never_there_writes_nothing(database: Database, index: SqliteLexicalIndex) -> None:
    await index.apply([], [("nobody", 3), ("nobody", -1)], cursor=1)
    assert await rows(database, "SELECT * FROM owner") == await rows(database, "SELECT * FROM docmeta") == []


async def test_a_number_that_fits_no_posting_is_refused(index: SqliteLexicalIndex) -> None:
    for number in (-1, 2**24):
        with pytest.raises(ValueError, match=str(number)):
            await index.apply([document(number, "tea", at=NOON)], [], cursor=1)
    assert await index.cursor() == 0


CHILD = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {folder!r})
from test_lexical_sqlite import SqliteLexicalIndex, SqlitePassages, document, opened

async def main():
    async with opened(Path({home!r})) as database:
        index = SqliteLexicalIndex(database, SqlitePassages(database))
        for n in range(await index.cursor(), 100_000):
            removed = [("ana", n - 5)] if n % 10 == 9 else []
            await index.apply([document(n, f"tea w{{n}} m{{n % 7}}")], removed, cursor=n + 1)
            print(n + 1, flush=True)

asyncio.run(main())
"""


async def test_memory_15_killed_at_any_moment_the_cursor_and_the_postings_agree(tmp_path: Path) -> None:
    program = CHILD.format(folder=str(Path(__file__).parent), home=str(tmp_path))
    for lived in (0.05, 0.2, 0.35):
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
        assert child.stdout is not None
        told = await child.stdout.readline()
        assert told, "the child ended by itself"
        await asyncio.sleep(lived)
        child.kill()
        told += await child.stdout.read()
        await child.wait()
        whole_lines = told[: told.rindex(b"\n")].splitlines()
        await _assert_whole(tmp_path, int(whole_lines[-1]))


async def _assert_whole(home: Path, told: int) -> None:
    async with opened(home) as database:
        index = SqliteLexicalIndex(database, SqlitePassages(database))
        cursor = await index.cursor()
        assert cursor >= told
        there = [n for n in range(cursor) if not (n % 10 == 4 and n + 5 < cursor)]
        assert sorted((await index.search("ana", ["tea"], 100_000, EVERYWHERE)).ords.tolist()) == there
        lists = await posting_lists(database)
        assert lists.pop("tea") == [(n, 1) for n in there]
        assert {n for term, postings in lists.items() if term[0] == "w" for n, _ in postings} == set(there)
        near = await index.neighbourhood("ana", np.arange(cursor), 0, EVERYWHERE)
        assert near.around[:, 2].tolist() == [-1, *there[:-1]]
        assert await rows(database, "PRAGMA quick_check") == [("ok",)]
