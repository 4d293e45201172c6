"""The composition root: settings -> backends -> App, on one exit stack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from goat.adapters.bot_lock import bot_lock as bot_lock
from goat.adapters.file_transfers import back_up as back_up
from goat.adapters.file_transfers import export_file as export_file
from goat.adapters.file_transfers import history_writer as history_writer
from goat.adapters.file_transfers import open_history as open_history
from goat.adapters.file_transfers import restore as restore
from goat.adapters.toolsource_mcp import mcp_sources as mcp_sources
from goat.backends import Backends as Backends
from goat.backends import beside, in_the_home
from goat.backends import system_clock as system_clock
from goat.background import Background
from goat.errors import BackendUnavailable, HomeInUse
from goat.memory.archive import Archive
from goat.memory.check import Check
from goat.memory.enrich import Enricher
from goat.memory.enriching import Enriching
from goat.memory.facade import MemoryLayers
from goat.memory.forget import Forgetter
from goat.memory.importer import Importer
from goat.memory.l0_identity import Identity
from goat.memory.l1_facts import Facts
from goat.memory.l2_history import History
from goat.memory.l2_thread import bands_for, row_name
from goat.memory.overview import Overview
from goat.memory.thread_store import ThreadStore
from goat.memory.tool_cache import ToolCache
from goat.memory.tools import MemoryTools
from goat.memory.transfer import Exporter
from goat.memory.undo import Undo
from goat.memory.uses import UseCounts
from goat.ports.models import Embedder
from goat.ports.run import Observer
from goat.records.models import ChatMessage, ModelRequest, Reply
from goat.records.turns import Notice
from goat.retrieval.pipeline import Retriever
from goat.retrieval.times import read_grammars
from goat.retrieval.weights import weights_for
from goat.settings import ModelEndpoint, ModelSettings, Settings, fitted, provider_of
from goat.tools.acting import Acting, acting
from goat.turn.lanes import Lanes
from goat.turn.orchestrator import Orchestrator
from goat.turn.prefetch import Prefetch
from goat.turn.prompt import PromptBuilder
from goat.turn.reflex import Reflex

UNMEASURED = (
    "the bands of the thread were never measured for {}, so it runs on the default ones. `goat calibrate threads` "
    "measures its own."
)

DRAIN_SECONDS = 3.0
"""How long a stop waits for searches and writing; what is cut off is caught up at the next start."""

EMBED_SECONDS = 1.0
"""How long a stop waits for vectors, of which an import may leave many to be made."""


@dataclass(frozen=True, slots=True)
class App:
    """A running GOAT. `settled` waits until nothing works in the background."""

    settings: Settings
    backends: Backends
    memory: MemoryLayers
    enriching: Enriching
    orchestrator: Orchestrator
    acting: Acting
    importer: Importer
    exporter: Exporter
    facts: Facts
    identity: Identity
    undo: Undo
    overview: Overview
    check: Check
    forgetter: Forgetter
    background: Background

    def wake(self) -> None:
        """Load the model of the vectors and run it once in the background, so that no message waits for that.

        What goes wrong is told as a notice, and tried again with the first message.
        """
        self.background.start("the embedding model", _run_once(self.backends.embedder))

    async def settled(self) -> None:
        """Wait for the background work, without a limit."""
        await self.background.drain(timeout=None)


def assemble(settings: Settings, backends: Backends, workspaces: Path = Path("workspaces")) -> App:
    """Build the core over any set of backends; the owners' workspaces are made in `workspaces` when a tool writes."""
    settings = fitted(settings)
    observer = backends.observer
    background = Background(_report_to(observer))
    journal, working = backends.journal, backends.working
    enricher = Enricher(backends.enrichment, backends.entities, backends.clock.zone())
    archive = Archive(
        journal=journal,
        embeddings=backends.embeddings,
        lexical=backends.lexical,
        vectors=backends.vectors,
        embedder=backends.embedder,
        background=background,
        observer=observer,
        enricher=enricher,
        zone=backends.clock.zone(),
    )
    facts = Facts(
        backends.permanent,
        backends.clock,
        backends.tokens,
        settings.permanent.l1_facts_max_tokens,
        backends.locks,
    )
    identity = Identity(backends.permanent, settings.identity.base_prompt)
    memory = MemoryLayers(
        journal=journal,
        archive=archive,
        history=History(working, journal, settings.working.max_messages, settings.working.trim_surplus),
        facts=facts,
        identity=identity,
        threads=ThreadStore(working, settings.activation.ttl_seconds),
        retriever=Retriever(
            journal=journal,
            lexical=backends.lexical,
            vectors=backends.vectors,
            reranker=backends.reranker,
            uses=backends.uses,
            weights=weights_for(backends.embedder.name, settings.entity_boost.weight),
            gap_significance=settings.retrieval_budget.l3_gap_significance,
            shares=settings.prefetch,
        ),
        embedder=backends.embedder,
        entities=backends.entities,
        enricher=enricher,
        uses=UseCounts(backends.uses, background, backends.clock, observer),
        shares=settings.prefetch,
        zone=backends.clock.zone(),
    )
    least, found = settings.recall.min_relevance, settings.retrieval_budget.max_results_per_search
    bands = bands_for(backends.embedder.name, settings.activation)
    if row_name(backends.embedder.name) is None:
        observer.notice(Notice("embedding model", UNMEASURED.format(backends.embedder.name)))
    enriching = Enriching(memory, bands, backends.clock, least, settings.prefetch.max_results)
    act = acting(settings, backends.model, backends.steps, backends.approvals, backends.clock, workspaces)
    act.outfit.wrap(ToolCache(archive.version, backends.clock).over)
    orchestrator = Orchestrator(
        settings=settings,
        memory=memory,
        bands=bands,
        reflex=Reflex(memory, settings.recall.deadline_ms / 1000, least, found),
        prefetch=Prefetch(memory, background, observer, backends.clock, least, settings.prefetch),
        enriching=enriching,
        prompts=PromptBuilder(
            backends.tokens,
            settings.retrieval_budget,
            settings.recall.header,
            settings.turn.session_gap_seconds,
            settings.aits.budget_hard_cap,
        ),
        loop=act.loop,
        lanes=Lanes(backends.locks),
        clock=backends.clock,
        observer=observer,
    )
    forgetter = Forgetter(backends.forgetting, journal, backends.transfer, backends.permanent, working, archive, facts)
    remembering = MemoryTools(
        memory, journal, facts, identity, forgetter, enriching, backends.clock, backends.embedder.name
    )
    act.outfit.add(remembering.definitions)
    return App(
        settings=settings,
        backends=backends,
        memory=memory,
        enriching=enriching,
        orchestrator=orchestrator,
        acting=act,
        importer=Importer(archive, backends.transfer, backends.permanent, backends.uses),
        exporter=Exporter(journal, backends.transfer, backends.permanent, backends.uses),
        facts=facts,
        identity=identity,
        undo=Undo(backends.permanent, facts, backends.clock),
        overview=Overview(journal, backends.transfer, backends.permanent, backends.forgetting),
        check=Check(backends, archive),
        forgetter=forgetter,
        background=background,
    )


def _report_to(observer: Observer) -> Callable[[str, BaseException], None]:
    def report(task: str, failure: BaseException) -> None:
        observer.notice(Notice(task, f"it ended with {type(failure).__name__}: {failure}"))

    return report


@asynccontextmanager
async def open_app(
    settings: Settings, home: Path, show: Callable[[Notice], None], embed: bool = True, act: bool = True
) -> AsyncIterator[App]:
    """Open the data folder and run GOAT on it until the context ends; notices for the person go to `show`.

    Missing vectors are made in the background, and what the first message needs is read, unless `embed` leaves that to
    another start. Plugins are loaded and MCP servers started unless `act` says that no turn will come.
    Raises `HomeError` when the folder cannot be used or another process works in it, `SettingsError` when the model
    settings lack something, and `BackendUnavailable` when the journal cannot be opened.
    """
    async with AsyncExitStack() as stack:
        backends = await in_the_home(settings, home, show, stack)
        app = assemble(settings, backends, home / "workspaces")
        stack.push_async_callback(app.background.drain, DRAIN_SECONDS)
        stack.callback(app.memory.archive.leave_meaning, EMBED_SECONDS)
        await _catch_up(app, embed)
        if act and provider_of(settings) is not None:
            from goat.plugins.door import plugins_at_work

            journal, embedder, tell = backends.journal, backends.embedder.name, backends.observer.notice
            sources = await stack.enter_async_context(mcp_sources(settings.mcp, app.acting.redact, tell))
            plugins = plugins_at_work(app.settings, home, app.acting, journal, embedder, app.memory, tell, sources)
            await stack.enter_async_context(plugins)
        yield app


@asynccontextmanager
async def open_reading(settings: Settings, home: Path, show: Callable[[Notice], None]) -> AsyncIterator[App]:
    """Open the data folder to look things up, also beside the process that works in it; notices go to `show`.

    Nothing is locked and nothing is written; what would write raises `BackendUnavailable`. Where the folder has to be
    made or brought up to date first and nobody works in it, it is opened as by `open_app`.
    Raises what `open_app` raises; `HomeInUse` only while another process makes the folder or brings it up to date.
    """
    async with AsyncExitStack() as stack:
        backends = await beside(settings, home, show, stack)
        if backends is not None and not await _is_behind(backends):
            yield assemble(settings, backends, home / "workspaces")
            return
        try:
            app = await stack.enter_async_context(open_app(settings, home, show, act=False))
        except HomeInUse:
            if backends is None:
                raise
            app = assemble(settings, backends, home / "workspaces")
        yield app


async def _is_behind(backends: Backends) -> bool:
    """Whether an index has still to follow the journal, or something forgotten to leave the files."""
    cursors = {
        await backends.lexical.cursor(),
        await backends.embeddings.cursor(backends.embedder.name),
        await backends.vectors.cursor(),
    }
    return cursors != {await backends.journal.head()} or bool(await backends.forgetting.unfinished())


async def _catch_up(app: App, embed: bool) -> None:
    """Bring the indexes to where the journal is, after whatever ended the process before."""
    archive, observer = app.memory.archive, app.backends.observer
    try:
        foreign = await archive.foreign_models()
        await archive.follow_words()
        await app.forgetter.finish()
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
        app.background.start("the grammars of times", asyncio.to_thread(read_grammars))
        app.wake()
        archive.follow_meaning()


async def _run_once(embedder: Embedder) -> None:
    await embedder.embed_query("Good morning")


async def try_model(endpoint: ModelEndpoint) -> str:
    """What the model at an endpoint says to a greeting. Raises `ModelError`."""
    return (await greet_model(endpoint, ModelSettings())).text


async def greet_model(
    endpoint: ModelEndpoint, settings: ModelSettings, on_text: Callable[[str], None] | None = None
) -> Reply:
    """The reply of the model at an endpoint to a greeting; `on_text` gets it in pieces. Raises `ModelError`."""
    from goat.adapters.model_chain import single_model

    hello = ModelRequest((ChatMessage("user", "Say hello in one short sentence."),))
    async with single_model(endpoint, settings) as model:
        return await model.reply(hello, on_text)
