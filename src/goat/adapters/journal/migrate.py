"""Brings the tables of a journal file to the newest revision.

Alembic is imported only when there is something to do: its import costs more than the rest of a start.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from goat.errors import HomeError
from goat.ports.run import Clock

if TYPE_CHECKING:
    from alembic.config import Config

HEAD_REVISION = "0008"


@dataclass(frozen=True, slots=True)
class Migrations:
    """A folder of Alembic scripts and the revision that they lead to."""

    folder: Path
    head: str


SHIPPED = Migrations(Path(__file__).parent / "migrations", HEAD_REVISION)


def migrate(connection: Connection, path: Path, backups: Path, clock: Clock, migrations: Migrations = SHIPPED) -> None:
    """Make the tables of the file at `path`, open on `connection`, those of the newest revision.

    An older file is first copied to `backups` as `journal-<its revision>-<UTC time>.db`. The upgrade is one
    transaction. Raises `HomeError` for a file of a revision that the scripts do not know, or not made by GOAT at all.
    """
    with connection.begin():
        found = current_revision(connection)
        empty = not connection.exec_driver_sql("SELECT count(*) FROM sqlite_schema").scalar_one()
    if found == migrations.head:
        return
    if found is None and not empty:
        raise HomeError(
            path.parent,
            f"{path.name} is a database of another program",
            "Move that file away, or give GOAT a folder of its own with --home.",
        )
    config = _config(migrations, connection)
    if found is not None:
        _require_known(config, found, path, migrations.head)
        _back_up(connection, backups, f"journal-{found}-{_stamp(clock.now())}.db", path)
    _upgrade(config, connection)


def current_revision(connection: Connection) -> str | None:
    """The revision that the file says it has, None when it says nothing."""
    table = connection.exec_driver_sql("SELECT 1 FROM sqlite_schema WHERE name = 'alembic_version'").scalar()
    if table is None:
        return None
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return None if found is None else str(found)


def _config(migrations: Migrations, connection: Connection) -> Config:
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(migrations.folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _require_known(config: Config, found: str, path: Path, head: str) -> None:
    from alembic.script import ScriptDirectory

    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found not in known:
        raise HomeError(
            path.parent,
            f"{path.name} has revision {found} and this GOAT knows revisions up to {head}",
            "Update GOAT, or give this one a folder of its own with --home.",
        )


def _back_up(connection: Connection, backups: Path, name: str, path: Path) -> None:
    """Copy the file as it stands; a copy that is not complete never bears the final name."""
    source = connection.connection.driver_connection
    assert isinstance(source, sqlite3.Connection)
    unfinished = backups / f"{name}.part"
    try:
        backups.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished.touch(mode=0o600)
        with closing(sqlite3.connect(unfinished)) as target:
            source.backup(target)
        unfinished.rename(backups / name)
    except OSError as failure:
        raise HomeError(
            path.parent,
            f"no backup of {path.name} could be written to {backups} ({failure.strerror})",
            "GOAT changes the tables of a journal only after a backup: make that folder writable.",
        ) from failure


def _upgrade(config: Config, connection: Connection) -> None:
    from alembic import command

    with connection.begin():
        command.upgrade(config, "head")


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y%m%dT%H%M%SZ}"
