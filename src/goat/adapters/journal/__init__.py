"""The journal over SQL: the archive, its vectors and the outbox in one file, with the tables of the other stores."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from goat.adapters.database import Database
from goat.adapters.journal.admissions import SqlAdmissions
from goat.adapters.journal.approvals import SqlApprovals
from goat.adapters.journal.embeddings import SqlEmbeddings
from goat.adapters.journal.enrichment import SqlEnrichment
from goat.adapters.journal.episodes import SqlJournal
from goat.adapters.journal.forgetting import SqlForgetting
from goat.adapters.journal.inbox import SqlInbox
from goat.adapters.journal.integrity import SqlIntegrity
from goat.adapters.journal.migrate import HEAD_REVISION, current_revision, migrate
from goat.adapters.journal.outbox import SqlOutbox
from goat.adapters.journal.transfer import SqlTransfer
from goat.adapters.journal.uses import SqlUses
from goat.errors import HomeError
from goat.ports.run import Clock

__all__ = [
    "SqlAdmissions",
    "SqlApprovals",
    "SqlEmbeddings",
    "SqlEnrichment",
    "SqlForgetting",
    "SqlInbox",
    "SqlIntegrity",
    "SqlJournal",
    "SqlOutbox",
    "SqlTransfer",
    "SqlUses",
    "journal_database",
    "reading_database",
]


def journal_database(home: Path, clock: Clock, *, busy_timeout: float = 5.0) -> Database:
    """The database of a data folder, `journal.db`; its tables are brought up to date when it is entered.

    Entering it raises `HomeError` for a file that this version cannot read, and `BackendUnavailable` when it cannot
    be opened. Copies made before an upgrade go to the folder `backups`.
    """
    path, backups = home / "journal.db", home / "backups"
    if any(home.glob("vec-*.i8")) and not (path.exists() and path.stat().st_size):
        raise HomeError(
            home,
            "its journal (journal.db) is missing or empty although indexes of it stand there",
            "Bring a backup back with `goat restore FILE --force`, or remove the vec-*.i8 files to start anew.",
        )
    return Database(
        path,
        backups=backups,
        prepare=lambda connection: migrate(connection, path, backups, clock),
        busy_timeout=busy_timeout,
    )


async def reading_database(home: Path, stack: AsyncExitStack) -> Database | None:
    """The same file opened on the stack for reading only; None where there is none or its tables are not up to date.

    Raises `BackendUnavailable` when it cannot be opened.
    """
    path = home / "journal.db"
    if not path.exists():
        return None
    async with AsyncExitStack() as opened:
        database = await opened.enter_async_context(Database(path, backups=home / "backups", reading=True))
        if await database.read("Journal", current_revision) != HEAD_REVISION:
            return None
        stack.push_async_exit(opened.pop_all())
    return database
