"""SIGTERM in a bot at a bad moment: it ends with 0, and what was under way is done by the end or at the next start."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.database import Database
from goat.adapters.journal.migrate import HEAD_REVISION, SHIPPED, Migrations, migrate
from goat.testing.bot_api import Fault
from goat.testing.clock import FakeClock
from goat.testing.llm_answers import Answer, says
from goat.testing.llm_server import Prompt

PATIENCE = 240.0
ANSWER = "You said w7x1. That is all."

# ruff: noqa: ASYNC110 - a process and a file are looked at, which have no events

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to wait for")


def answer(_: Prompt) -> Answer:
    return says(ANSWER)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "fault", [Fault.slow(1.5), Fault.slow(1.5).after_effect(), Fault.too_many(30)], ids=["slow", "late", "too many"]
)
async def test_telegram_j8_sigterm_during_a_send_ends_with_0_and_the_answer_stands_once(
    worlds: Any, tmp_path: Path, fault: Fault
) -> None:
    async with worlds(answer) as one:
        async with one.bot("queue") as first:
            await one.receives(first)
            one.api.fails("sendMessage", fault)
            one.ana.says("hello w7x1")
            await one.api.until(lambda: one.api.calls_of("sendMessage"), PATIENCE)
            polls = len(one.api.calls_of("getUpdates"))
            await one.stop(first)
            assert len(one.api.calls_of("getUpdates")) <= polls + 1
        ended_with = (one.answers(), one.left())
        assert ended_with in (([ANSWER], 0), ([], 1))  # it is delivered, or the outbox has it
        await one.goes_on_in_peace()
        assert one.answers() == [ANSWER]
        assert one.left() == one.doubts == 0
    assert "Traceback" not in (tmp_path / "bot.log").read_text()


@pytest.mark.timeout(900)
async def test_telegram_j8_sigterm_during_a_migration_ends_with_0_and_leaves_whole_tables(
    worlds: Any, tmp_path: Path
) -> None:
    async with worlds(answer) as one:
        one.ana.says("hello w7x1")
        one.environment("queue")  # it makes the home
        path = await older_journal(one.home, tmp_path / "older")
        with closing(sqlite3.connect(path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")  # the migration waits for this
            async with one.bot("queue") as first:
                async with asyncio.timeout(PATIENCE):
                    while not (one.home / "goat.lock").exists():
                        await asyncio.sleep(0.02)
                await asyncio.sleep(1)
                first.send_signal(signal.SIGTERM)
                await asyncio.sleep(1)
                assert first.returncode is None
                holder.execute("ROLLBACK")
                assert await asyncio.wait_for(first.wait(), PATIENCE) == 0
        assert one.api.calls_of("getUpdates") == []
        assert revision(path) == HEAD_REVISION
        async with one.bot("queue") as second:
            await one.answered({"w7x1"}, second)
            await one.stop(second)
        assert one.answers() == [ANSWER]
    assert "Traceback" not in (tmp_path / "bot.log").read_text()


async def older_journal(home: Path, scripts: Path) -> Path:
    """Make a journal of the revision before the newest one."""
    older, path, backups = older_scripts(scripts), home / "journal.db", home / "backups"
    async with Database(
        path, backups=backups, prepare=lambda connection: migrate(connection, path, backups, FakeClock(), older)
    ):
        pass
    assert revision(path) == older.head
    return path


def older_scripts(folder: Path) -> Migrations:
    """The shipped scripts without the newest."""
    shutil.copytree(SHIPPED.folder, folder)
    for newest in (folder / "versions").glob(f"r{HEAD_REVISION}_*.py"):
        newest.unlink()
    return Migrations(folder, f"{int(HEAD_REVISION) - 1:04}")


def revision(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])
