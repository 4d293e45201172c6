"""Every adapter of the stores, so that one suite per port runs over all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from goat.adapters.journal import (
    SqlEmbeddings,
    SqlEnrichment,
    SqlForgetting,
    SqlJournal,
    SqlOutbox,
    SqlTransfer,
    SqlUses,
    journal_database,
)
from goat.adapters.journal_memory import (
    MemoryArchive,
    MemoryEmbeddings,
    MemoryForgetting,
    MemoryJournal,
    MemoryTransfer,
)
from goat.adapters.lexical_memory import MemoryLexicalIndex
from goat.adapters.lexical_sqlite import SqliteLexicalIndex
from goat.adapters.outbox_memory import MemoryOutbox
from goat.adapters.passages_sqlite import SqlitePassages
from goat.adapters.permanent_memory import MemoryPermanentStore
from goat.adapters.permanent_sqlite import SqlitePermanentStore
from goat.adapters.usage_memory import MemoryUsageLog
from goat.adapters.usage_sqlite import SqliteUsageLog
from goat.adapters.uses_memory import MemoryEnrichment, MemoryUses
from goat.adapters.working_memory import MemoryWorkingStore
from goat.adapters.working_sqlite import SqliteWorkingStore
from goat.ports.edges import Outbox
from goat.ports.models import UsageLog
from goat.ports.stores import (
    Embeddings,
    Enrichment,
    Forgetting,
    Journal,
    LexicalIndex,
    PermanentStore,
    Transfer,
    Uses,
    WorkingStore,
)
from goat.testing.clock import FakeClock


@dataclass(frozen=True)
class Stores:
    """One backend's adapters of every port, over the same data."""

    journal: Journal
    embeddings: Embeddings
    forgetting: Forgetting
    outbox: Outbox
    working: WorkingStore
    permanent: PermanentStore
    usage: UsageLog
    transfer: Transfer
    uses: Uses
    enrichment: Enrichment


@asynccontextmanager
async def in_memory(_home: Path, clock: FakeClock) -> AsyncIterator[Stores]:
    archive = MemoryArchive()
    yield Stores(
        MemoryJournal(archive, clock),
        MemoryEmbeddings(archive),
        MemoryForgetting(archive),
        MemoryOutbox(archive.replies, clock),
        MemoryWorkingStore(clock),
        MemoryPermanentStore(),
        MemoryUsageLog(),
        MemoryTransfer(archive),
        MemoryUses(archive),
        MemoryEnrichment(archive),
    )


@asynccontextmanager
async def on_sqlite(home: Path, clock: FakeClock) -> AsyncIterator[Stores]:
    async with journal_database(home, clock) as database:
        yield Stores(
            SqlJournal(database, clock),
            SqlEmbeddings(database),
            SqlForgetting(database),
            SqlOutbox(database, clock),
            SqliteWorkingStore(database, clock),
            SqlitePermanentStore(database),
            SqliteUsageLog(database),
            SqlTransfer(database),
            SqlUses(database),
            SqlEnrichment(database),
        )


BACKENDS = {"memory": in_memory, "sqlite": on_sqlite}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=list(BACKENDS))
async def stores(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Stores]:
    async with BACKENDS[request.param](tmp_path, clock) as opened:
        yield opened


@pytest.fixture
def journal(stores: Stores) -> Journal:
    return stores.journal


@pytest.fixture
def embeddings(stores: Stores) -> Embeddings:
    return stores.embeddings


@pytest.fixture
def forgetting(stores: Stores) -> Forgetting:
    return stores.forgetting


@pytest.fixture
def outbox(stores: Stores) -> Outbox:
    return stores.outbox


@pytest.fixture
def working(stores: Stores) -> WorkingStore:
    return stores.working


@pytest.fixture
def permanent(stores: Stores) -> PermanentStore:
    return stores.permanent


@pytest.fixture
def usage(stores: Stores) -> UsageLog:
    return stores.usage


@pytest.fixture
def transfer(stores: Stores) -> Transfer:
    return stores.transfer


@pytest.fixture
def uses(stores: Stores) -> Uses:
    return stores.uses


@pytest.fixture
def enrichment(stores: Stores) -> Enrichment:
    return stores.enrichment


@pytest.fixture(params=["memory", "sqlite"])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LexicalIndex]:
    if request.param == "memory":
        yield MemoryLexicalIndex()
        return
    async with journal_database(tmp_path, FakeClock()) as database:
        yield SqliteLexicalIndex(database, SqlitePassages(database))
