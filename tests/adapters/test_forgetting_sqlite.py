"""What SQLite leaves behind of deleted rows, and that forgetting takes it out."""

from __future__ import annotations

import random
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from goat.adapters.journal import SqlForgetting, SqlJournal, journal_database
from goat.errors import BackendUnavailable
from goat.records.episodes import NewEpisode, Role
from goat.testing.clock import FakeClock

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
WORD = "qwzxkjvbnmplokijuhyg"


def said(text: str, number: int) -> NewEpisode:
    return NewEpisode("ana", "home", Role.USER, text, NOON, f"x{number}", speaker=text[:40], meta={"of": text[:30]})


def _bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_records_that_moved_between_pages_leave_no_copy_of_what_is_forgotten(tmp_path: Path) -> None:
    source = random.Random(4)
    texts = [" ".join(source.choices([WORD, "harbour", "é"], k=source.randint(3, 300))) for _ in range(200)]
    clock = FakeClock()
    async with journal_database(tmp_path, clock) as database:
        journal, forgetting = SqlJournal(database, clock), SqlForgetting(database)
        appended = [await journal.append([said(text, number)]) for number, text in enumerate(texts)]
        ids = [one.episode.id for (one,) in appended if WORD in one.episode.text]
        gone = [one for id_ in source.sample(ids, len(ids)) for one in await forgetting.forget("ana", [id_])]
        await forgetting.finish(gone)
        assert len(gone) == len(ids)
        assert WORD.encode() not in _bytes_of(tmp_path)


async def test_the_log_is_empty_and_older_copies_are_gone_when_it_is_finished(tmp_path: Path) -> None:
    clock = FakeClock()
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "journal-0001-20260101T000000Z.db").write_text(WORD)
    (tmp_path / "backups" / "a-persons-own.txt").write_text("kept")
    async with journal_database(tmp_path, clock) as database:
        journal, forgetting = SqlJournal(database, clock), SqlForgetting(database)
        [one] = await journal.append([said(WORD, 1)])
        await forgetting.finish(await forgetting.forget("ana", [one.episode.id]))
        assert [path.name for path in (tmp_path / "backups").iterdir()] == ["a-persons-own.txt"]
        assert WORD.encode() not in (tmp_path / "journal.db-wal").read_bytes()


async def test_a_reader_that_holds_the_log_leaves_it_unfinished(tmp_path: Path) -> None:
    clock = FakeClock()
    async with journal_database(tmp_path, clock, busy_timeout=0.05) as database:
        journal, forgetting = SqlJournal(database, clock), SqlForgetting(database)
        [one] = await journal.append([said(WORD, 1)])
        reader = sqlite3.connect(tmp_path / "journal.db", isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM episode").fetchone()
        gone = await forgetting.forget("ana", [one.episode.id])
        with pytest.raises(BackendUnavailable):
            await forgetting.finish(gone)
        assert await forgetting.unfinished() == gone
        reader.close()
        await forgetting.finish(gone)
        assert await forgetting.unfinished() == []
