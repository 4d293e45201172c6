"""What only the outbox in a file can show: what it keeps of a delivered reply, and an older file that is brought up."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from goat.adapters.database import Database
from goat.adapters.journal import SqlOutbox, journal_database
from goat.adapters.journal.migrate import SHIPPED, Migrations, migrate
from goat.records.deliveries import Part, PartState
from goat.records.episodes import NewOutgoing
from goat.testing.clock import FakeClock

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


def all_bytes(home: Path) -> bytes:
    return b"".join(file.read_bytes() for file in home.glob("journal.db*"))


async def test_the_words_of_a_delivered_reply_leave_the_file(tmp_path: Path, clock: FakeClock) -> None:
    async with journal_database(tmp_path, clock) as database:
        outbox = SqlOutbox(database, clock)
        put = await outbox.put(NewOutgoing("ana", "home", "telegram", "the word is xylophone", {"file": "/a/marimba"}))
        assert await database.checkpoint()
        assert b"xylophone" in (tmp_path / "journal.db").read_bytes()
        await outbox.mark(put.id, Part(0, PartState.SENT, 5))
        await outbox.done([put.id])
    assert b"xylophone" not in all_bytes(tmp_path)
    assert b"marimba" not in all_bytes(tmp_path)
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        assert connection.execute("SELECT count(*) FROM delivery").fetchone() == (0,)
        assert connection.execute("SELECT outcome, text, extra FROM outbox").fetchall() == [("delivered", "", "{}")]


async def test_parts_and_previews_outlive_the_process(tmp_path: Path, clock: FakeClock) -> None:
    async with journal_database(tmp_path, clock) as database:
        put = await SqlOutbox(database, clock).put(NewOutgoing("ana", "home", "telegram", "hi"))
        await SqlOutbox(database, clock).mark(put.id, Part(0, PartState.SENDING))
    async with journal_database(tmp_path, clock) as database:
        [waiting] = await SqlOutbox(database, clock).pending("telegram", "ana", "home")
    assert waiting.parts == (Part(0, PartState.SENDING),)


async def test_what_was_said_is_known_to_the_next_process(tmp_path: Path, clock: FakeClock) -> None:
    notice = NewOutgoing("ana", "home", "telegram", "no answer", key="7:end")
    async with journal_database(tmp_path, clock) as database:
        put = await SqlOutbox(database, clock).put(notice)
        await SqlOutbox(database, clock).done([put.id])
    async with journal_database(tmp_path, clock) as database:
        assert await SqlOutbox(database, clock).put(notice) is None


async def test_replies_of_an_older_file_are_still_to_be_delivered(tmp_path: Path, clock: FakeClock) -> None:
    folder = tmp_path / "scripts"
    shutil.copytree(SHIPPED.folder, folder)
    for script in (folder / "versions").glob("r*.py"):
        if script.name > "r0006":
            script.unlink()
    home = tmp_path / "home"
    home.mkdir()
    path, backups = home / "journal.db", home / "backups"
    older = Migrations(folder, "0005")
    async with Database(path, backups=backups, prepare=lambda c: migrate(c, path, backups, clock, older)):
        pass
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO owner (id, name, next_ord) VALUES (1, 'ana', 0)")
        connection.execute("INSERT INTO chat (id, owner_id, name) VALUES (1, 1, 'home')")
        connection.execute(
            "INSERT INTO episode (id, uid, seq, owner_id, chat_id, role, speaker, text, at, recorded_at, exchange_id, "
            "topic_id, tags, source, meta) "
            "VALUES (4, 'u', 1, 1, 1, 'assistant', '', 'a', 0, 0, 'x', '', '[]', 't', '{}')"
        )
        connection.executemany(
            "INSERT INTO outbox (id, owner_id, chat_id, channel, text, episode_id, created, done_at) "
            "VALUES (?, 1, 1, 'telegram', ?, 4, 1772452800.0, ?)",
            [(7, "delivered before", 1772452801.0), (8, "waits", None)],
        )
    async with journal_database(home, clock) as database:
        outbox = SqlOutbox(database, clock)
        [waiting] = await outbox.pending("telegram", "ana", "home")
        assert (waiting.id, waiting.text, waiting.episode_id, waiting.created) == (8, "waits", 4, NOON)
        assert await outbox.undelivered("telegram", datetime(2020, 1, 1, tzinfo=UTC)) == []
        assert (await outbox.put(NewOutgoing("ana", "home", "telegram", "next"))).id == 9
