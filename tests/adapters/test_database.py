from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from goat.adapters.database import Database, require_sqlite
from goat.errors import BackendUnavailable


def database_in(folder: Path, busy_timeout: float = 5.0) -> Database:
    return Database(folder / "journal.db", backups=folder / "backups", prepare=make_table, busy_timeout=busy_timeout)


def make_table(connection: Connection) -> None:
    with connection.begin():
        connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS word (t TEXT) STRICT")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with database_in(tmp_path) as opened:
        yield opened


def add(word: str) -> Callable[[Connection], None]:
    return lambda connection: connection.exec_driver_sql("INSERT INTO word VALUES (?)", (word,)).close()


def words(connection: Connection) -> list[str]:
    return list(connection.exec_driver_sql("SELECT t FROM word ORDER BY rowid").scalars())


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


async def read_words(database: Database) -> list[str]:
    return await database.read("Journal", words)


# Transactions


async def test_what_a_write_did_is_seen_by_the_next_read(database: Database) -> None:
    await database.write("Journal", add("one"))
    assert await read_words(database) == ["one"]


async def test_a_call_returns_what_its_function_returns(database: Database) -> None:
    assert await database.write("Journal", lambda _: {"any": "thing"}) == {"any": "thing"}
    assert await database.read("Journal", lambda _: None) is None


async def test_a_function_that_raises_leaves_nothing_and_is_told_as_it_raised(database: Database) -> None:
    def fail(connection: Connection) -> None:
        add("half")(connection)
        raise LookupError("its own trouble")

    with pytest.raises(LookupError, match="its own trouble"):
        await database.write("Journal", fail)
    await database.write("Journal", add("next"))
    assert await read_words(database) == ["next"]


async def test_a_read_stays_on_one_snapshot(database: Database) -> None:
    await database.write("Journal", add("one"))
    first_read, written = threading.Event(), threading.Event()

    def twice(connection: Connection) -> tuple[list[str], list[str]]:
        before = words(connection)
        first_read.set()
        assert written.wait(10)
        return before, words(connection)

    reading = asyncio.create_task(database.read("Journal", twice))
    await asyncio.to_thread(first_read.wait, 10)
    await database.write("Journal", add("two"))
    written.set()
    assert await reading == (["one"], ["one"])
    assert await read_words(database) == ["one", "two"]


async def test_reads_go_on_while_a_long_write_runs(database: Database) -> None:
    started, finish = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        add("slow")(connection)
        started.set()
        assert finish.wait(10)

    writing = asyncio.create_task(database.write("Journal", slow))
    await asyncio.to_thread(started.wait, 10)
    assert await read_words(database) == []
    finish.set()
    await writing
    assert await read_words(database) == ["slow"]


async def test_the_reading_connection_cannot_write(database: Database) -> None:
    with pytest.raises(BackendUnavailable, match="read-only"):
        await database.read("Journal", add("never"))


async def test_writes_follow_one_another_on_one_thread_and_reads_on_another(database: Database) -> None:
    def note(connection: Connection) -> int:
        count = len(words(connection))
        add(str(count))(connection)
        return threading.get_ident()

    writers = set(await asyncio.gather(*(database.write("Journal", note) for _ in range(50))))
    readers = set(await asyncio.gather(*(database.read("Journal", lambda _: threading.get_ident()) for _ in range(9))))
    assert len(writers) == len(readers) == 1
    assert len(writers | readers | {threading.get_ident()}) == 3
    assert await read_words(database) == [str(number) for number in range(50)]


async def test_two_databases_on_one_file_lose_no_read_modify_write(tmp_path: Path) -> None:
    def next_word(connection: Connection) -> None:
        add(str(len(words(connection))))(connection)

    async with database_in(tmp_path) as one, database_in(tmp_path) as other:
        await asyncio.gather(*(database.write("Journal", next_word) for database in (one, other) * 50))
        assert await read_words(one) == await read_words(other) == [str(number) for number in range(100)]


async def test_a_cancelled_caller_does_not_stop_a_transaction_half_way(database: Database) -> None:
    started, finish = threading.Event(), threading.Event()

    def two_words(connection: Connection) -> None:
        add("one")(connection)
        started.set()
        assert finish.wait(10)
        add("two")(connection)

    writing = asyncio.create_task(database.write("Journal", two_words))
    await asyncio.to_thread(started.wait, 10)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    finish.set()
    await database.write("Journal", add("three"))
    assert await read_words(database) == ["one", "two", "three"]


async def test_a_call_that_is_cancelled_before_its_turn_is_never_begun(database: Database) -> None:
    finish = threading.Event()
    running = asyncio.create_task(database.write("Journal", lambda _: finish.wait(10)))
    waiting = asyncio.create_task(database.write("Journal", add("never")))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    finish.set()
    await running
    assert await read_words(database) == []


# Settings of the file


@pytest.mark.parametrize("way", ["read", "write"])
async def test_both_connections_are_set_up_for_safety(database: Database, way: str) -> None:
    def settings(connection: Connection) -> dict[str, object]:
        names = (
            "journal_mode",
            "synchronous",
            "secure_delete",
            "foreign_keys",
            "mmap_size",
            "cache_size",
            "query_only",
        )
        return {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names}

    found = await getattr(database, way)("Journal", settings)
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "secure_delete": 1,
        "foreign_keys": 1,
        "mmap_size": 0,
        "cache_size": -65_536 if way == "read" else -8_192,
        "query_only": int(way == "read"),
    }


async def test_a_closed_database_leaves_one_file_with_everything_in_it(tmp_path: Path) -> None:
    async with database_in(tmp_path) as database:
        await database.write("Journal", add("kept"))
        assert (tmp_path / "journal.db-wal").stat().st_size > 0
    assert [path.name for path in files(tmp_path)] == ["journal.db"]
    async with database_in(tmp_path) as database:
        assert await read_words(database) == ["kept"]


async def test_only_the_owner_may_read_the_files(database: Database, tmp_path: Path) -> None:
    await database.write("Journal", add("private"))
    modes = {path.name: path.stat().st_mode & 0o777 for path in files(tmp_path)}
    assert modes == {"journal.db": 0o600, "journal.db-wal": 0o600, "journal.db-shm": 0o600}


async def test_a_deleted_word_stands_in_no_file_after_a_checkpoint(database: Database, tmp_path: Path) -> None:
    secret = "xylophone-7741"
    await database.write("Journal", add(secret))
    await database.write("Journal", lambda connection: connection.exec_driver_sql("DELETE FROM word").close())
    assert any(secret.encode() in path.read_bytes() for path in files(tmp_path))
    assert await database.checkpoint()
    assert not any(secret.encode() in path.read_bytes() for path in files(tmp_path))


async def test_a_checkpoint_says_when_a_reader_kept_it_from_emptying_the_log(tmp_path: Path) -> None:
    async with database_in(tmp_path, busy_timeout=0.05) as database:
        with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM word").fetchall()
            await database.write("Journal", add("one"))
            assert not await database.checkpoint()
            other.execute("COMMIT")
        assert await database.checkpoint()


async def test_folders_with_unusual_names_are_fine(tmp_path: Path) -> None:
    folder = tmp_path / "a%20b ?c=d#e țară 漢字"
    folder.mkdir()
    async with database_in(folder) as database:
        await database.write("Journal", add("one"))
    assert (folder / "journal.db").exists()


async def test_two_databases_in_one_process_share_nothing(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    async with database_in(tmp_path / "a") as a, database_in(tmp_path / "b") as b:
        await a.write("Journal", add("a's"))
        assert await read_words(b) == []


# Failures, each with its way out


async def test_a_failure_is_told_in_the_name_of_the_port_that_met_it(database: Database) -> None:
    lexical = database.for_port("LexicalIndex")
    with pytest.raises(BackendUnavailable, match="no such table: absent") as failure:
        await lexical.read(lambda connection: connection.exec_driver_sql("SELECT * FROM absent").all())
    assert (failure.value.port, failure.value.backend) == ("LexicalIndex", "SQLite")


async def test_a_failure_of_the_bare_driver_is_told_the_same_way(database: Database) -> None:
    def through_the_driver(connection: Connection) -> None:
        connection.connection.driver_connection.execute("SELECT * FROM absent")

    with pytest.raises(BackendUnavailable, match="no such table: absent"):
        await database.for_port("LexicalIndex").read(through_the_driver)


async def test_memory_16_a_locked_file_is_told_and_the_next_write_goes_on(tmp_path: Path) -> None:
    async with database_in(tmp_path, busy_timeout=0.05) as database:
        with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(BackendUnavailable, match=r"journal\.db is locked by another process; end"):
                await database.write("Journal", add("refused"))
            assert await read_words(database) == []
            other.execute("ROLLBACK")
        await database.write("Journal", add("kept"))
        assert await read_words(database) == ["kept"]


async def test_telegram_h10_a_full_disk_is_told_and_nothing_is_half_written(database: Database, tmp_path: Path) -> None:
    await database.write("Journal", add("before"))

    def limit(connection: Connection, pages: int) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}").close()

    await database.write("Journal", lambda connection: limit(connection, 4))

    def two_words(connection: Connection) -> None:
        add("small")(connection)
        add("large" * 10_000)(connection)

    with pytest.raises(BackendUnavailable, match="the disk is full; free some space") as failure:
        await database.write("Journal", two_words)
    assert str(tmp_path) in failure.value.reason
    assert await read_words(database) == ["before"]
    await database.write("Journal", lambda connection: limit(connection, 100_000))
    await database.write("Journal", two_words)
    assert len(await read_words(database)) == 3


async def test_telegram_h10_a_read_only_file_is_told(database: Database) -> None:
    await database.write("Journal", lambda connection: connection.exec_driver_sql("PRAGMA query_only = ON").close())
    with pytest.raises(BackendUnavailable, match="read-only; give its owner the right to write"):
        await database.write("Journal", add("refused"))


async def test_a_file_that_is_no_database_is_told_with_the_folder_of_the_copies(tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_bytes(b"this is not a database at all, whatever its name says" * 100)
    with pytest.raises(BackendUnavailable, match="is damaged") as failure:
        await database_in(tmp_path).__aenter__()
    assert str(tmp_path / "backups") in failure.value.reason
    assert "goat restore" in failure.value.reason


async def test_a_damaged_page_is_told_with_the_folder_of_the_copies(tmp_path: Path) -> None:
    async with database_in(tmp_path) as database:
        await database.write("Journal", lambda connection: [add("word" * 500)(connection) for _ in range(50)])
    path = tmp_path / "journal.db"
    content = bytearray(path.read_bytes())
    content[8_192:] = b"\xa5" * (len(content) - 8_192)
    path.write_bytes(content)
    async with database_in(tmp_path) as database:
        with pytest.raises(BackendUnavailable, match="is damaged") as failure:
            await read_words(database)
    assert str(tmp_path / "backups") in failure.value.reason


async def test_a_folder_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailable, match="cannot be written"):
        await database_in(tmp_path / "missing").__aenter__()


async def test_a_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "journal.db").mkdir()
    with pytest.raises(BackendUnavailable, match="cannot be opened; check that its folder"):
        await database_in(tmp_path).__aenter__()


async def test_a_database_that_is_not_open_refuses_calls(tmp_path: Path) -> None:
    database = database_in(tmp_path)
    with pytest.raises(BackendUnavailable, match="is not open"):
        await database.read("Journal", words)
    async with database:
        pass
    with pytest.raises(BackendUnavailable, match="is not open"):
        await database.write("Journal", add("late"))


async def test_an_opening_that_fails_leaves_no_thread_and_no_lock(tmp_path: Path) -> None:
    def fail(connection: Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE half (a)").close()
        raise LookupError("not these tables")

    before = set(threading.enumerate())
    with pytest.raises(LookupError):
        await Database(tmp_path / "journal.db", backups=tmp_path, prepare=fail).__aenter__()
    started = [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("journal-")]
    for thread in started:
        await asyncio.to_thread(thread.join, 10)
    assert not any(thread.is_alive() for thread in started)
    async with database_in(tmp_path) as database:
        await database.write("Journal", add("one"))
        tables = await database.read(
            "Journal", lambda c: list(c.exec_driver_sql("SELECT name FROM sqlite_schema").scalars())
        )
    assert tables == ["word"]


def test_a_sqlite_without_strict_tables_is_refused() -> None:
    require_sqlite((3, 37, 0))
    require_sqlite((4, 0))
    with pytest.raises(BackendUnavailable, match=r"needs SQLite 3\.37 or newer and this Python brings 3\.36\.9"):
        require_sqlite((3, 36, 9))


# Reading only


async def test_for_reading_only_nothing_is_made_prepared_or_written(tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailable, match="cannot be opened"):
        async with Database(tmp_path / "journal.db", backups=tmp_path, prepare=make_table, reading=True):
            pass
    assert files(tmp_path) == []
    async with (
        database_in(tmp_path) as writing,
        Database(tmp_path / "journal.db", backups=tmp_path, reading=True) as it,
    ):
        await writing.write("Journal", add("one"))
        assert await read_words(it) == ["one"]
        await writing.write("Journal", add("two"))
        assert await read_words(it) == ["one", "two"]
        with pytest.raises(BackendUnavailable, match="open for reading only"):
            await it.write("Journal", add("three"))
    assert files(tmp_path) == [tmp_path / "journal.db"]
