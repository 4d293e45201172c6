"""What the stores promise on SQLite beyond the contracts of their ports: a file that outlives every process."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Connection, insert

from goat.adapters.journal import SqlEmbeddings, SqlJournal, SqlOutbox, journal_database
from goat.adapters.journal.schema import emb, episode, passage, tombstone
from goat.adapters.permanent_sqlite import SqlitePermanentStore
from goat.adapters.working_sqlite import SqliteWorkingStore
from goat.records.episodes import NewEpisode, NewOutgoing, Passage, Role, Span
from goat.records.memory import Fact, Versioned
from goat.records.search import VectorRow
from goat.testing.clock import FakeClock

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


def said(text: str, passages: tuple[Span, ...] = (Span(0, 1),), key: str | None = None) -> NewEpisode:
    return NewEpisode("ana", "home", Role.USER, text, NOON, "x1", passages=passages, key=key)


# A file that is opened again


async def test_memory_16_a_reopened_file_holds_everything_that_every_store_was_given(
    tmp_path: Path, clock: FakeClock
) -> None:
    vector = VectorRow("ana", 0, 1, "home", NOON, np.array([0.6, 0.8], dtype=np.float32))
    async with journal_database(tmp_path, clock) as database:
        [stored] = await SqlJournal(database, clock).append([said("a", key="5")], [reply("b")])
        changes = await SqlJournal(database, clock).changes(0, 10)
        await SqlEmbeddings(database).put("e5", [vector], cursor=1)
        await SqliteWorkingStore(database, clock).put("k", "v", ttl_seconds=60)
        await SqliteWorkingStore(database, clock).append("l", ["a", "b"], keep=9)
        await SqlitePermanentStore(database).put_fact("ana", "city", "Iași", NOON, 1)
        await SqlitePermanentStore(database).put_identity("ana", "You are a goat.", NOON)
    async with journal_database(tmp_path, clock) as database:
        journal, working = SqlJournal(database, clock), SqliteWorkingStore(database, clock)
        assert await journal.recent("ana", "home", 9) == [stored.episode]
        assert await journal.changes(0, 10) == changes
        assert (await journal.append([said("a", key="5")]))[0].duplicate
        [waiting] = await SqlOutbox(database, clock).pending("telegram", "ana", "home")
        assert (waiting.text, waiting.episode_id) == ("b", stored.episode.id)
        assert set(await SqlEmbeddings(database).get("e5", "ana", [0])) == {0}
        assert await SqlEmbeddings(database).cursor("e5") == 1
        assert await working.get("k") == Versioned("v", 1)
        assert await working.tail("l", 9) == ["a", "b"]
        assert await SqlitePermanentStore(database).facts("ana") == [Fact("city", "Iași", NOON, None, 1)]
        assert await SqlitePermanentStore(database).identity("ana") == "You are a goat."
        clock.move(60)
        assert await working.get("k") is None


async def test_numbers_go_on_after_a_reopening(tmp_path: Path, clock: FakeClock) -> None:
    async with journal_database(tmp_path, clock) as database:
        [first] = await SqlJournal(database, clock).append([said("a", (Span(0, 1), Span(1, 2)))])
    async with journal_database(tmp_path, clock) as database:
        journal = SqlJournal(database, clock)
        [second] = await journal.append([said("b")])
        one, two = await journal.changes(0, 10)
    assert second.episode.id > first.episode.id
    assert two.seq > one.seq
    assert [passage.ord for passage in two.passages] == [2]


# Forgotten episodes


def forget(connection: Connection, number: int, seq: int, ords: list[int]) -> None:
    """What a removal leaves: no episode, no passages, and a tombstone under the next `seq`."""
    connection.execute(passage.delete().where(passage.c.episode_id == number))
    connection.execute(episode.delete().where(episode.c.id == number))
    connection.execute(insert(tombstone), {"seq": seq, "owner_id": 1, "episode_id": number, "ords": ords})
    connection.exec_driver_sql("UPDATE counter SET value = ?", (seq,))


async def test_a_forgotten_episode_is_a_change_that_names_its_passages(tmp_path: Path, clock: FakeClock) -> None:
    async with journal_database(tmp_path, clock) as database:
        journal = SqlJournal(database, clock)
        await journal.append([said("a"), said("b", (Span(0, 1), Span(1, 2))), said("c")])
        await database.write("Journal", lambda connection: forget(connection, 2, seq=4, ords=[1, 2]))
        await journal.append([said("d")])
        changes = await journal.changes(0, 10)
        assert [(change.seq, change.episode_id) for change in changes] == [(1, 1), (3, 3), (4, 2), (5, 4)]
        gone = changes[2]
        assert (gone.owner, gone.episode) == ("ana", None)
        assert gone.passages == (Passage("ana", 1, 2, 0, Span(0, 0)), Passage("ana", 2, 2, 1, Span(0, 0)))
        assert await journal.changes(1, 2) == changes[1:3]
        assert await journal.changes(3, 1) == [gone]
        assert await journal.locate("ana", [0, 1, 2, 3]) == {0: 1, 3: 3}


async def test_a_forgotten_episode_can_be_the_newest_change(tmp_path: Path, clock: FakeClock) -> None:
    async with journal_database(tmp_path, clock) as database:
        journal = SqlJournal(database, clock)
        await journal.append([said("a")])
        await database.write("Journal", lambda connection: forget(connection, 1, seq=2, ords=[0]))
        assert await journal.head() == 2
        assert [change.episode for change in await journal.changes(0, 10)] == [None]


async def test_the_numbers_of_forgotten_episodes_and_passages_are_never_used_again(
    tmp_path: Path, clock: FakeClock
) -> None:
    async with journal_database(tmp_path, clock) as database:
        await SqlJournal(database, clock).append([said("a"), said("b")])
        await database.write("Journal", lambda connection: forget(connection, 2, seq=3, ords=[1]))
    async with journal_database(tmp_path, clock) as database:
        journal = SqlJournal(database, clock)
        [new] = await journal.append([said("c")])
        [change] = await journal.changes(3, 10)
    assert new.episode.id == 3
    assert [passage.ord for passage in change.passages] == [2]


# Transactions


async def test_an_append_that_fails_leaves_nothing_of_the_whole_call(tmp_path: Path, clock: FakeClock) -> None:
    async with journal_database(tmp_path, clock) as database:
        journal, outbox = SqlJournal(database, clock), SqlOutbox(database, clock)
        await journal.append([said("before")])
        with pytest.raises(UnicodeEncodeError):
            await journal.append([said("fine"), said("a lone \ud800 surrogate")], [reply("fine too")])
        [kept] = await journal.recent("ana", "home", 9)
        assert kept.text == "before"
        assert await outbox.pending("telegram", "ana", "home") == []
        [after] = await journal.append([said("after")])
        assert after.episode.id == kept.id + 1
        assert [change.seq for change in await journal.changes(0, 9)] == [1, 2]


async def test_vectors_are_kept_in_half_the_bytes(tmp_path: Path, clock: FakeClock) -> None:
    async with journal_database(tmp_path, clock) as database:
        vector = np.full(384, 0.05, dtype=np.float32)
        await SqlEmbeddings(database).put("e5", [VectorRow("ana", 0, 1, "home", NOON, vector)], cursor=1)
        [body] = await database.read("Embeddings", lambda connection: connection.execute(emb.select()).all())
    assert len(body.v) == 384 * 2


async def test_expired_values_leave_the_file_while_others_are_written(tmp_path: Path, clock: FakeClock) -> None:
    def keys(connection: Connection) -> list[str]:
        return list(connection.exec_driver_sql("SELECT key FROM kv ORDER BY key").scalars())

    async with journal_database(tmp_path, clock) as database:
        working = SqliteWorkingStore(database, clock)
        await working.put("short", "v", ttl_seconds=1)
        await working.put("long", "v", ttl_seconds=1e6)
        clock.move(2)
        for number in range(300):
            await working.put("busy", str(number))
        assert await database.read("WorkingStore", keys) == ["busy", "long"]


MANY = list(range(300))
QUESTIONS = {
    "recent": ("ana", "home", 5),
    "episodes": ("ana", MANY),
    "exchange": ("ana", [f"x{number}" for number in MANY]),
    "locate": ("ana", MANY),
    "changes": (0, 300),
    "head": (),
    "pending": ("telegram", "ana", "home"),
    "get": ("e5", "ana", MANY),
    "models": (),
}


@pytest.mark.parametrize("question", QUESTIONS)
async def test_no_question_reads_all_that_an_owner_ever_said(tmp_path: Path, clock: FakeClock, question: str) -> None:
    asked: list[str] = []

    def listen(connection: Connection) -> None:
        connection.connection.driver_connection.set_trace_callback(asked.append)

    def plan(connection: Connection) -> list[str]:
        connection.connection.driver_connection.set_trace_callback(None)
        statements = [statement for statement in asked if statement.lstrip().startswith("SELECT")]
        return [row.detail for one in statements for row in connection.exec_driver_sql("EXPLAIN QUERY PLAN " + one)]

    async with journal_database(tmp_path, clock) as database:
        ports = (SqlJournal(database, clock), SqlOutbox(database, clock), SqlEmbeddings(database))
        await ports[0].append([said(str(number)) for number in MANY])
        [port] = [port for port in ports if hasattr(port, question)]
        await database.read("Journal", listen)
        await getattr(port, question)(*QUESTIONS[question])
        steps = await database.read("Journal", plan)
    assert [step for step in steps if step.startswith("SEARCH")]
    large = ("SCAN episode", "SCAN passage", "SCAN emb ", "SCAN outbox", "SCAN tombstone")
    assert [step for step in steps if step.startswith(large) or step.endswith("(owner_id=?)")] == []


# kill -9

CHILD = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path

from goat.adapters.clock_system import SystemClock
from goat.adapters.journal import SqlJournal, journal_database
from goat.records.episodes import NewEpisode, NewOutgoing, Role, Span


async def main(home, tag):
    clock = SystemClock("UTC")
    async with journal_database(Path(home), clock) as database:
        journal = SqlJournal(database, clock)
        for number in range(1_000_000):
            text = f"{tag}-{number} " + "țară 🐐 " * (number % 400)
            spans = (Span(0, 4), Span(4, len(text)))
            episodes = [
                NewEpisode("ana", "home", role, text, datetime.now(UTC), text[:20], passages=spans, key=f"{role}{text}")
                for role in Role
            ]
            appended = await journal.append(episodes, [NewOutgoing("ana", "home", "telegram", text)])
            print(*(one.episode.id for one in appended), text.split(" ")[0], flush=True)


asyncio.run(main(sys.argv[1], sys.argv[2]))
"""


def append_until_killed(home: Path, tag: str, acknowledged: int) -> list[tuple[int, int, str]]:
    """Let a process append and kill it after so many acknowledged exchanges; return all that it acknowledged."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(home), tag], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    lines = [child.stdout.readline() for _ in range(acknowledged)]
    child.kill()
    lines += child.stdout.read().splitlines(keepends=True)
    child.stdout.close()
    child.wait()
    words = [line.split() for line in lines if line.endswith("\n")]
    return [(int(question), int(answer), text) for question, answer, text in words]


async def test_memory_16_what_was_acknowledged_before_kill_9_is_there_once_and_whole(
    tmp_path: Path, clock: FakeClock
) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails
    chance = random.Random(seed)
    acknowledged: list[tuple[int, int, str]] = []
    for round_number in range(4):
        acknowledged += append_until_killed(tmp_path, f"r{round_number}", chance.randrange(1, 120))
    async with journal_database(tmp_path, clock) as database:
        journal = SqlJournal(database, clock)
        intact = await database.read("Journal", lambda c: c.exec_driver_sql("PRAGMA integrity_check").scalars().all())
        changes = await journal.changes(0, 10**6)
        waiting = await SqlOutbox(database, clock).pending("telegram", "ana", "home")
    assert intact == ["ok"]
    by_id = {change.episode_id: change for change in changes}
    for question, answer, text in acknowledged:
        assert by_id[question].episode.text.split(" ")[0] == text == by_id[answer].episode.text.split(" ")[0]
    kept = [(change.episode.role, change.episode.text) for change in changes]
    assert len(kept) == len(set(kept)) >= 2 * len(acknowledged)
    # Exchanges are whole, acknowledged or not: both episodes, their passages, and the reply.
    assert all(len(change.passages) == 2 for change in changes)
    answers = [change.episode_id for change in changes if change.episode.role is Role.ASSISTANT]
    assert [outgoing.episode_id for outgoing in waiting] == answers
    assert len(changes) == 2 * len(answers)
    numbers = [passage.ord for change in changes for passage in change.passages]
    assert numbers == list(range(len(numbers)))


async def test_an_append_is_not_acknowledged_before_it_is_in_the_file(tmp_path: Path, clock: FakeClock) -> None:
    """Read from beside, by another connection, at once."""
    async with journal_database(tmp_path, clock) as database, journal_database(tmp_path, clock) as beside:
        for number in range(20):
            [appended] = await SqlJournal(database, clock).append([said(str(number))])
            assert await SqlJournal(beside, clock).head() == number + 1
            assert await SqlJournal(beside, clock).episodes("ana", [appended.episode.id]) == [appended.episode]


def reply(text: str) -> NewOutgoing:
    return NewOutgoing("ana", "home", "telegram", text)
