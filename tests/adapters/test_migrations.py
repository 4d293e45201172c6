from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine

from goat.adapters.database import Database
from goat.adapters.journal import SqlEnrichment, SqlJournal, journal_database
from goat.adapters.journal.columns import metadata
from goat.adapters.journal.migrate import HEAD_REVISION, SHIPPED, Migrations, migrate
from goat.adapters.usage_sqlite import SqliteUsageLog
from goat.errors import BackendUnavailable, HomeError
from goat.records.episodes import Episode, NewEpisode, Role
from goat.records.usage import ModelCall, Usage
from goat.testing.clock import FakeClock

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)

NEXT_REVISION = f"""
from alembic import op

revision = "9999"
down_revision = "{HEAD_REVISION}"


def upgrade():
    op.execute("ALTER TABLE owner ADD COLUMN note TEXT NOT NULL DEFAULT 'from 9999'")
    op.execute("UPDATE owner SET note = 'seen ' || name")
"""
BROKEN_NEXT_REVISION = NEXT_REVISION + '    op.execute("INSERT INTO absent VALUES (1)")\n'


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


def with_scripts(home: Path, clock: FakeClock, migrations: Migrations) -> Database:
    path, backups = home / "journal.db", home / "backups"
    return Database(path, backups=backups, prepare=lambda c: migrate(c, path, backups, clock, migrations))


def newer_scripts(folder: Path, script: str = NEXT_REVISION) -> Migrations:
    """The shipped scripts and one more, as a later version of GOAT would have them."""
    shutil.copytree(SHIPPED.folder, folder)
    (folder / "versions" / "r9999_later.py").write_text(script)
    return Migrations(folder, "9999")


async def remember(home: Path, clock: FakeClock) -> Episode:
    """Make a home of the shipped revision that holds one episode."""
    async with journal_database(home, clock) as database:
        new = NewEpisode("ana", "home", Role.USER, "ține minte", NOON, "x1")
        [appended] = await SqlJournal(database, clock).append([new])
        return appended.episode


def schema_of(connection: Connection) -> dict[str, str]:
    """The statement that made each table and index, without its line breaks."""
    rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    return {name: " ".join(sql.split()) for name, sql in rows if name not in ("alembic_version", "sqlite_sequence")}


def tables(path: Path) -> list[tuple[str, bool]]:
    """The names of the file's own tables, and whether each is strict."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'").fetchall()
    return [(name, bool(strict)) for name, strict in rows if not name.startswith(("sqlite_", "alembic_"))]


def revision(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def copy_as_kill_9_leaves_it(home: Path, to: Path) -> None:
    """The file and its log, which a clean end would have moved into the file."""
    for file in home.glob("journal.db*"):
        shutil.copy(file, to / file.name)


def set_revision(path: Path, name: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (name,))


def test_the_head_revision_is_that_of_the_scripts() -> None:
    config = Config()
    config.set_main_option("script_location", str(SHIPPED.folder))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD_REVISION]


async def test_the_scripts_make_exactly_the_tables_of_the_schema(tmp_path: Path, clock: FakeClock) -> None:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection)
        declared = schema_of(connection)
    engine.dispose()
    async with journal_database(tmp_path, clock) as database:
        migrated = await database.read("Journal", schema_of)
    assert migrated == declared


async def test_every_table_is_strict(tmp_path: Path, clock: FakeClock) -> None:
    async with journal_database(tmp_path, clock):
        pass
    found = tables(tmp_path / "journal.db")
    assert {name for name, _ in found} == set(metadata.tables)
    assert [name for name, strict in found if not strict] == []


async def test_a_new_file_needs_no_copy(tmp_path: Path, clock: FakeClock) -> None:
    await remember(tmp_path, clock)
    assert revision(tmp_path / "journal.db") == HEAD_REVISION
    assert not (tmp_path / "backups").exists()


def test_a_file_of_the_newest_revision_is_opened_without_alembic(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from goat.adapters.journal import journal_database\n"
        "from goat.testing.clock import FakeClock\n"
        "async def main():\n"
        "    async with journal_database(Path(sys.argv[1]), FakeClock()):\n"
        "        print('alembic' in sys.modules)\n"
        "asyncio.run(main())\n"
    )
    seen = [
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)], check=True, capture_output=True, text=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert seen == ["True", "False"]


async def test_an_older_file_is_copied_and_then_upgraded_with_all_it_holds(tmp_path: Path, clock: FakeClock) -> None:
    stored = await remember(tmp_path, clock)
    async with with_scripts(tmp_path, clock, newer_scripts(tmp_path / "scripts")) as database:
        assert await SqlJournal(database, clock).recent("ana", "home", 5) == [stored]
        notes = await database.read("Journal", lambda c: c.exec_driver_sql("SELECT note FROM owner").scalars().all())
    assert notes == ["seen ana"]
    assert revision(tmp_path / "journal.db") == "9999"


def scripts_before(revision: str, folder: Path) -> Migrations:
    """The shipped scripts as they were before a revision."""
    shutil.copytree(SHIPPED.folder, folder)
    for script in (folder / "versions").glob("r0*.py"):
        if script.name[1:5] >= revision:
            script.unlink()
    return Migrations(folder, f"{int(revision) - 1:04}")


async def test_a47_what_an_older_version_wrote_waits_to_be_enriched(tmp_path: Path, clock: FakeClock) -> None:
    async with with_scripts(tmp_path, clock, scripts_before("0007", tmp_path / "older")) as database:
        new = [NewEpisode("ana", "home", Role.USER, text, NOON, "x1") for text in ("I met Dan", "in Cluj")]
        old = [one.episode for one in await SqlJournal(database, clock).append(new)]
    async with journal_database(tmp_path, clock) as database:
        waiting = SqlEnrichment(database)
        assert await waiting.waiting(9) == old
        await SqlJournal(database, clock).append([NewEpisode("ana", "home", Role.USER, "new", NOON, "x2")])
        await waiting.note({old[0].id: {"language": "en"}})
        assert await waiting.waiting(9) == old[1:]


async def test_the_copy_is_the_older_file_whole_under_its_revision_and_time(tmp_path: Path, clock: FakeClock) -> None:
    stored = await remember(tmp_path, clock)
    async with with_scripts(tmp_path, clock, newer_scripts(tmp_path / "scripts")):
        pass
    [copy] = (tmp_path / "backups").iterdir()
    assert copy.name == f"journal-{HEAD_REVISION}-20260302T120000Z.db"
    assert copy.stat().st_mode & 0o077 == 0
    restored = tmp_path / "restored"
    restored.mkdir()
    shutil.copy(copy, restored / "journal.db")
    async with journal_database(restored, clock) as database:
        assert await SqlJournal(database, clock).recent("ana", "home", 5) == [stored]
    assert revision(restored / "journal.db") == HEAD_REVISION


async def test_the_copy_holds_what_a_killed_process_left_in_the_log(tmp_path: Path, clock: FakeClock) -> None:
    home = tmp_path / "home"
    home.mkdir()
    async with journal_database(tmp_path, clock) as database:
        new = NewEpisode("ana", "home", Role.USER, "in the log", NOON, "x1")
        await SqlJournal(database, clock).append([new])
        copy_as_kill_9_leaves_it(tmp_path, home)
    async with with_scripts(home, clock, newer_scripts(tmp_path / "scripts")):
        pass
    [copy] = (home / "backups").iterdir()
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT text FROM episode").fetchall() == [("in the log",)]


async def test_an_upgrade_that_fails_leaves_the_file_as_it_was(tmp_path: Path, clock: FakeClock) -> None:
    stored = await remember(tmp_path, clock)
    broken = newer_scripts(tmp_path / "broken", BROKEN_NEXT_REVISION)
    with pytest.raises(BackendUnavailable, match="no such table: absent"):
        await with_scripts(tmp_path, clock, broken).__aenter__()
    assert revision(tmp_path / "journal.db") == HEAD_REVISION
    async with journal_database(tmp_path, clock) as database:
        assert await SqlJournal(database, clock).recent("ana", "home", 5) == [stored]
        columns = await database.read("Journal", lambda c: c.exec_driver_sql("SELECT * FROM owner").keys())
    assert "note" not in columns


async def test_telegram_h10_a_file_of_a_newer_version_is_refused_and_not_touched(
    tmp_path: Path, clock: FakeClock
) -> None:
    await remember(tmp_path, clock)
    path = tmp_path / "journal.db"
    set_revision(path, "0417")
    before = path.read_bytes()
    known = rf"revision 0417 and this GOAT knows revisions up to {HEAD_REVISION}\. Update GOAT"
    with pytest.raises(HomeError, match=known):
        await journal_database(tmp_path, clock).__aenter__()
    assert path.read_bytes() == before
    assert not (tmp_path / "backups").exists()


async def test_a_database_of_another_program_is_refused_and_not_touched(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE someone_elses (a)")
    with pytest.raises(HomeError, match=r"journal\.db is a database of another program\. Move that file away"):
        await journal_database(tmp_path, clock).__aenter__()
    assert tables(path) == [("someone_elses", False)]


async def test_without_a_copy_there_is_no_upgrade(tmp_path: Path, clock: FakeClock) -> None:
    await remember(tmp_path, clock)
    (tmp_path / "backups").write_text("in the way")
    with pytest.raises(HomeError, match=r"no backup of journal\.db could be written"):
        await with_scripts(tmp_path, clock, newer_scripts(tmp_path / "scripts")).__aenter__()
    assert revision(tmp_path / "journal.db") == HEAD_REVISION


async def test_a_home_with_unusual_characters_can_be_made_and_upgraded(tmp_path: Path, clock: FakeClock) -> None:
    home = tmp_path / "100% %(here)s țară ;:"
    home.mkdir()
    stored = await remember(home, clock)
    async with with_scripts(home, clock, newer_scripts(home / "scripts")) as database:
        assert await SqlJournal(database, clock).recent("ana", "home", 5) == [stored]


async def test_a_home_of_the_first_version_is_copied_and_gets_the_account_of_model_calls(
    tmp_path: Path, clock: FakeClock
) -> None:
    first = tmp_path / "first"
    shutil.copytree(SHIPPED.folder, first, ignore=lambda _, names: [one for one in names if re.match("r000[2-9]", one)])
    async with with_scripts(tmp_path, clock, Migrations(first, "0001")) as database:
        new = NewEpisode("ana", "home", Role.USER, "ține minte", NOON, "x1")
        [stored] = await SqlJournal(database, clock).append([new])
        assert "model_call" not in await database.read("Journal", schema_of)
    async with journal_database(tmp_path, clock) as database:
        assert await SqlJournal(database, clock).recent("ana", "home", 5) == [stored.episode]
        log = SqliteUsageLog(database)
        await log.record(ModelCall(NOON, NOON.date(), "ana", "home", "x1", "groq", "m", Usage(10, 2, 4, 0.5)))
        assert await log.spent(NOON.date()) == 0.5
    [copy] = (tmp_path / "backups").iterdir()
    assert (copy.name, revision(copy)) == ("journal-0001-20260302T120000Z.db", "0001")
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT text FROM episode").fetchall() == [("ține minte",)]


def test_the_scripts_import_nothing_that_may_change() -> None:
    scripts = list((SHIPPED.folder / "versions").glob("r*.py"))
    assert scripts
    for script in scripts:
        assert not re.search(r"^\s*(from|import) goat", script.read_text(), re.MULTILINE)
