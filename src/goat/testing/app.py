"""A whole GOAT in memory: real core, reference backends, a scripted model, time that stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from goat.adapters.approvals_memory import MemoryApprovals
from goat.adapters.embedder_hashing import HashingEmbedder
from goat.adapters.inbox_memory import MemoryAdmissions, MemoryInbox
from goat.adapters.journal_memory import (
    MemoryArchive,
    MemoryEmbeddings,
    MemoryForgetting,
    MemoryIntegrity,
    MemoryJournal,
    MemoryTransfer,
)
from goat.adapters.lexical_memory import MemoryLexicalIndex
from goat.adapters.locks_local import LocalLocks
from goat.adapters.outbox_memory import MemoryOutbox
from goat.adapters.permanent_memory import MemoryPermanentStore
from goat.adapters.steps_plain import PlainSteps
from goat.adapters.tokens_estimate import EstimatedTokens
from goat.adapters.usage_memory import MemoryUsageLog
from goat.adapters.uses_memory import MemoryEnrichment, MemoryUses
from goat.adapters.vector_memory import MemoryVectorIndex
from goat.adapters.working_memory import MemoryWorkingStore
from goat.app import App, Backends, assemble
from goat.records.episodes import Incoming, NewEpisode, Role
from goat.records.turns import TurnResult
from goat.retrieval.entities import RuleEntities
from goat.retrieval.passages import split_passages
from goat.retrieval.rerank import NoReranker
from goat.settings import Settings
from goat.testing.clock import FakeClock
from goat.testing.models import ScriptedModel
from goat.testing.observer import KeepingObserver


@asynccontextmanager
async def memory_app(
    settings: Settings | None = None, workspaces: Path = Path("workspaces"), **replaced: Any
) -> AsyncIterator[App]:
    """An App over reference backends; `replaced` puts others in their place by the field names of `Backends`.

    The search inside a turn has half a minute unless `settings` names its deadline: a busy machine changes nothing.
    """
    async with HashingEmbedder() as embedder:
        clock = replaced.get("clock", FakeClock())
        archive = MemoryArchive()
        backends = Backends(
            journal=MemoryJournal(archive, clock),
            embeddings=MemoryEmbeddings(archive),
            transfer=MemoryTransfer(archive),
            forgetting=MemoryForgetting(archive),
            integrity=MemoryIntegrity(),
            uses=MemoryUses(archive),
            enrichment=MemoryEnrichment(archive),
            inbox=MemoryInbox(clock),
            admissions=MemoryAdmissions(),
            outbox=MemoryOutbox(archive.replies, clock),
            lexical=MemoryLexicalIndex(),
            vectors=MemoryVectorIndex(),
            working=MemoryWorkingStore(clock),
            permanent=MemoryPermanentStore(),
            embedder=embedder,
            entities=RuleEntities(),
            reranker=NoReranker(),
            tokens=EstimatedTokens(),
            model=ScriptedModel(),
            usage=MemoryUsageLog(),
            approvals=MemoryApprovals(),
            steps=PlainSteps(),
            locks=LocalLocks(),
            clock=clock,
            observer=KeepingObserver(),
        )
        app = assemble(_patient(settings or Settings()), replace(backends, **replaced), workspaces)
        try:
            yield app
        finally:
            await app.background.drain(timeout=5)


def _patient(settings: Settings) -> Settings:
    if "deadline_ms" in settings.recall.model_fields_set:
        return settings
    return settings.model_copy(update={"recall": settings.recall.model_copy(update={"deadline_ms": 30_000})})


async def say(app: App, text: str, owner: str = "admin", chat: str = "test", key: str | None = None) -> TurnResult:
    """One turn, with all background work done afterwards."""
    result = await app.orchestrator.run(Incoming(owner, chat, text, app.backends.clock.now(), source="test", key=key))
    await app.settled()
    return result


async def archive(
    app: App,
    texts: Sequence[str],
    chat: str = "notes",
    first: datetime | None = None,
    apart: timedelta = timedelta(hours=1),
    speaker: str = "",
    role: Role = Role.USER,
) -> None:
    """Archive and embed messages, the first at `first` (now by default); `{}` in `chat` gives each one of its own."""
    at = first or app.backends.clock.now()
    await app.memory.archive.append(
        [
            NewEpisode(
                owner="admin",
                chat=chat.format(number),
                role=role,
                text=text,
                at=at + number * apart,
                exchange_id=f"{chat} {speaker} {role} {at:%s} {number}",
                speaker=speaker,
                passages=split_passages(text),
            )
            for number, text in enumerate(texts)
        ]
    )
    await app.memory.archive.embed()
