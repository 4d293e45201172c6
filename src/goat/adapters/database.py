"""One SQLite file with one writing and one reading connection, each on a thread of its own.

A single writer needs no retry and makes commits follow one another; the reader works on a WAL snapshot beside it, so a
long write does not hold up a turn that only reads.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from goat.errors import BackendUnavailable

T = TypeVar("T")

BACKEND = "SQLite"
OLDEST_SQLITE = (3, 37)
"""The first version that knows STRICT tables."""

BEFORE_RESTORE = "before-restore-"
"""How the names of folders begin in which a restore keeps what stood in the home."""

READ_CACHE_KIB = 65_536
WRITE_CACHE_KIB = 8_192
"""The reader keeps what searches come back to; the writer goes on to other pages, and needs those of a batch only."""

_RESTORE = "bring a backup back with `goat restore FILE`; copies from before upgrades stand in {backups}"
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space for {folder}",
    sqlite3.SQLITE_READONLY: "{path} is read-only; give its owner the right to write it and its folder",
    sqlite3.SQLITE_BUSY: "{path} is locked by another process; end that process",
    sqlite3.SQLITE_LOCKED: "{path} is locked by another connection; end what holds it",
    sqlite3.SQLITE_CORRUPT: "{path} is damaged ({failure}); " + _RESTORE,
    sqlite3.SQLITE_NOTADB: "{path} is damaged ({failure}); " + _RESTORE,
    sqlite3.SQLITE_CANTOPEN: "{path} cannot be opened; check that its folder exists and may be written",
    sqlite3.SQLITE_IOERR: "the disk failed while {path} was used ({failure}); check the disk",
}


def _nothing(connection: Connection) -> None:
    """Leave the file as it is."""


class Database:
    """Opens the file when entered, closes it when left; it is entered once.

    `prepare` gets the writing connection at opening, outside a transaction, to bring the tables up to date; what it
    raises ends the opening. `backups` is the folder that the sentence about a damaged file points to. `busy_timeout`
    is how many seconds a call waits for another process that holds the file. With `reading` nothing is made, prepared
    or written, so that another process may work with the file meanwhile; a writing call raises `BackendUnavailable`.
    """

    def __init__(
        self,
        path: Path,
        *,
        backups: Path,
        prepare: Callable[[Connection], None] = _nothing,
        busy_timeout: float = 5.0,
        reading: bool = False,
    ) -> None:
        self.path = path
        self.reading = reading
        self._backups = backups
        self._prepare = prepare
        self._writer = _Worker("journal-writer", _engine(path, "BEGIN IMMEDIATE", busy_timeout))
        self._reader = _Worker("journal-reader", _engine(path, "BEGIN", busy_timeout, query_only=True))
        self._opened = False

    async def __aenter__(self) -> Self:
        with self._translated("Journal"):
            require_sqlite(sqlite3.sqlite_version_info)
            try:
                if not self.reading:
                    await self._writer.call(self._create)
                    await self._writer.open()
                    await self._writer.run(self._prepare)
                await self._reader.open()
            except BaseException:
                await self._close(last=_nothing)
                raise
        self._opened = True
        return self

    async def __aexit__(self, *failure: object) -> None:
        self._opened = False
        with self._translated("Journal"):
            await self._close(last=_checkpoint)

    async def write(self, port: str, fn: Callable[[Connection], T]) -> T:
        """Run `fn` in one transaction of the writing connection; commit when it returns, roll back when it raises.

        `fn` runs on the writer's thread and hands out plain data, no cursors. A cancelled caller does not stop it:
        the transaction ends as a whole, or is never begun. Raises `BackendUnavailable` in the name of `port`.
        """
        return await self._transact(self._writer, port, fn)

    async def read(self, port: str, fn: Callable[[Connection], T]) -> T:
        """Run `fn` on the reading connection, on one snapshot that holds all that was committed before the call."""
        return await self._transact(self._reader, port, fn)

    async def _transact(self, worker: _Worker, port: str, fn: Callable[[Connection], T]) -> T:
        with self._translated(port):
            if not self._opened:
                raise BackendUnavailable(port, BACKEND, f"{self.path} is not open")
            if self.reading and worker is self._writer:
                raise BackendUnavailable(port, BACKEND, f"{self.path} is open for reading only")
            return await worker.transact(fn)

    async def checkpoint(self) -> bool:
        """Move the write-ahead log into the file and empty it, so that what was deleted stands in neither.

        False when somebody read an older snapshot for longer than the busy timeout and the log had to stay.
        """
        with self._translated("Journal"):
            return await self._writer.run(_checkpoint)

    async def scrub(self, port: str) -> None:
        """Leave nothing of what was deleted: write the file anew, empty its log, remove the copies of older files.

        Takes as long as copying the file does. Raises `BackendUnavailable` in the name of `port`, also when a reader
        kept the log from being emptied.
        """
        with self._translated(port):
            await self._writer.run(_vacuum)
            if not await self._writer.run(_checkpoint):
                raise BackendUnavailable(port, BACKEND, f"the log of {self.path} is being read; it is emptied later")
        for copy in self._backups.glob(f"{self.path.stem}-*"):
            copy.unlink(missing_ok=True)

    def put_aside(self) -> list[Path]:
        """The folders in which a restore kept what stood here before."""
        return sorted(self._backups.glob(f"{BEFORE_RESTORE}*"))

    def for_port(self, port: str) -> PortDatabase:
        """The same database, its failures told in the name of one port."""
        return PortDatabase(self, port)

    def _create(self) -> None:
        """Make sure that the file is there, for its owner's eyes only: SQLite gives its side files the same mode."""
        try:
            self.path.touch(mode=0o600)
        except OSError as failure:
            raise BackendUnavailable(
                "Journal", BACKEND, f"{self.path} cannot be written ({failure.strerror}); give its owner the right to"
            ) from failure

    async def _close(self, last: Callable[[Connection], object]) -> None:
        try:
            await self._reader.close()
        finally:
            await self._writer.close(last)

    @contextmanager
    def _translated(self, port: str) -> Iterator[None]:
        try:
            yield
        except DBAPIError as failure:
            raise BackendUnavailable(port, BACKEND, self._reason(failure.orig)) from failure
        except sqlite3.Error as failure:
            raise BackendUnavailable(port, BACKEND, self._reason(failure)) from failure
        except UnicodeDecodeError as failure:
            damaged = _REASONS[sqlite3.SQLITE_CORRUPT].format(
                path=self.path, backups=self._backups, failure="a text is no UTF-8"
            )
            raise BackendUnavailable(port, BACKEND, damaged) from failure

    def _reason(self, failure: BaseException | None) -> str:
        """What is wrong with the file, and the way out."""
        primary_code = getattr(failure, "sqlite_errorcode", 0) & 0xFF
        reason = _REASONS.get(primary_code, "{path}: {failure}")
        return reason.format(path=self.path, folder=self.path.parent, backups=self._backups, failure=failure)


class PortDatabase:
    """A database as one adapter sees it; see `Database.write` and `Database.read`."""

    def __init__(self, database: Database, port: str) -> None:
        self._database = database
        self._port = port

    async def write(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` in one writing transaction."""
        return await self._database.write(self._port, fn)

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` on one snapshot."""
        return await self._database.read(self._port, fn)


def require_sqlite(version: tuple[int, ...]) -> None:
    """Refuse a SQLite library that is too old for the tables; raises `BackendUnavailable`."""
    if version < OLDEST_SQLITE:
        wanted, found = (".".join(map(str, number)) for number in (OLDEST_SQLITE, version))
        raise BackendUnavailable(
            "Journal",
            BACKEND,
            f"it needs SQLite {wanted} or newer and this Python brings {found}; use a newer build of Python",
        )


class _Worker:
    """A connection and the only thread that touches it."""

    def __init__(self, name: str, engine: Engine) -> None:
        self._engine = engine
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._connection: Connection | None = None

    async def open(self) -> None:
        await self.call(self._connect)

    async def run(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` outside a transaction."""
        return await self.call(lambda: fn(self._require()))

    async def transact(self, fn: Callable[[Connection], T]) -> T:
        return await self.call(lambda: self._in_transaction(fn))

    async def close(self, last: Callable[[Connection], object] = _nothing) -> None:
        """After the calls that wait, run `last` on the connection if it was opened, close it, and end the thread."""
        try:
            await self.call(lambda: self._disconnect(last))
        finally:
            self._thread.shutdown(wait=False)

    async def call(self, fn: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, fn)

    def _connect(self) -> None:
        self._connection = self._engine.connect()

    def _require(self) -> Connection:
        if self._connection is None:
            raise sqlite3.ProgrammingError("the connection is closed")
        return self._connection

    def _in_transaction(self, fn: Callable[[Connection], T]) -> T:
        connection = self._require()
        with connection.begin():
            return fn(connection)

    def _disconnect(self, last: Callable[[Connection], object]) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with connection:
                last(connection)


def _engine(path: Path, begin: str, busy_timeout: float, *, query_only: bool = False) -> Engine:
    never_made = URL.create("sqlite", database=path.absolute().as_uri(), query={"mode": "rw", "uri": "true"})
    url = never_made if query_only else URL.create("sqlite", database=str(path))
    engine = create_engine(url, poolclass=NullPool)

    pragmas = (
        f"busy_timeout = {round(busy_timeout * 1000)}",
        *(() if query_only else ("journal_mode = WAL",)),
        "synchronous = FULL",
        "secure_delete = ON",
        "foreign_keys = ON",
        "mmap_size = 0",
        f"cache_size = -{READ_CACHE_KIB if query_only else WRITE_CACHE_KIB}",
        f"query_only = {int(query_only)}",
    )

    def configure(raw: sqlite3.Connection, _record: object) -> None:
        raw.isolation_level = None  # the driver begins nothing by itself; `begin` below does
        try:
            for pragma in pragmas:
                raw.execute(f"PRAGMA {pragma}").close()
        except sqlite3.Error:
            raw.close()
            raise

    def begun(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "connect", configure)
    event.listen(engine, "begin", begun)
    return engine


def _vacuum(connection: Connection) -> None:
    """Through the driver, as `_checkpoint`. Moved records may leave copies in the free parts of pages, which only this
    takes out."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    raw.execute("VACUUM")


def _checkpoint(connection: Connection) -> bool:
    """Through the driver, since SQLAlchemy would begin a transaction and a checkpoint cannot run inside one."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    (blocked, _, _) = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not blocked
