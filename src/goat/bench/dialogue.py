"""`goat bench dialogue`: whether what a message needs stands in its prompt, along whole dialogues.

What was said is archived and embedded once; then every dialogue is played through real turns with a scripted model, in
each reflex mode on a copy of the archive, on a clock that the bench moves.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from time import perf_counter

from goat.app import App, assemble, open_app
from goat.bench.dialogue_data import Asked, Dialogue, Said, locomo_dialogues, own_dialogues
from goat.bench.report import Figure, percentile
from goat.memory.facade import FULL_ARCHIVE
from goat.ports.models import Embedder
from goat.records.episodes import Incoming, NewEpisode, Role
from goat.records.models import ModelRequest
from goat.records.search import Floats
from goat.records.turns import Notice, TurnRecord
from goat.retrieval.passages import split_passages
from goat.settings import ModelSettings, Settings
from goat.settings.sections import RecallSettings
from goat.testing.clock import FakeClock
from goat.testing.models import ScriptedModel
from goat.testing.observer import KeepingObserver

MODES = ("auto", "never", "always")
LIMIT = 12
"""Groups of messages of each LoCoMo conversation that are played without `--limit`."""

GOALS = {"warm": 85.0, "drift": 85.0, "cold": 80.0}
RETURN_GOAL = 80.0
WARM_GOAL_MS = 10.0
PAUSE = timedelta(seconds=40)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Played:
    """One turn: the share of its evidence in the prompt, by layer, and what it took beside the embedding."""

    mode: str
    dialogue: str
    asked: Asked
    record: TurnRecord
    topic: str
    in_recalled: float
    in_history: float
    in_prompt: float
    added_ms: float


class TimedEmbedder:
    """Passes everything on and keeps how long the last query took, in milliseconds."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.query_ms = 0.0

    async def embed_query(self, text: str) -> Floats:
        """See `Embedder.embed_query`."""
        began = perf_counter()
        try:
            return await self._embedder.embed_query(text)
        finally:
            self.query_ms = (perf_counter() - began) * 1000

    async def embed_passages(self, texts: Sequence[str]) -> list[Floats]:
        """See `Embedder.embed_passages`."""
        return await self._embedder.embed_passages(texts)


def run(path: Path | None, limit: int | None, say: Say) -> list[Played]:
    """Play the dialogues that ship with the bench and, with a LoCoMo file, its conversations."""
    dialogues = own_dialogues()
    if path is not None:
        dialogues += locomo_dialogues(path, limit or LIMIT)
    return asyncio.run(play(dialogues, MODES, say))


async def play(
    dialogues: Sequence[Dialogue], modes: Sequence[str], say: Say, recall: RecallSettings | None = None
) -> list[Played]:
    """Every turn of the dialogues, in each of the reflex modes, with the default or the given settings of recall."""
    played: list[Played] = []
    settings = Settings(model=ModelSettings(provider="offline"), recall=recall or RecallSettings())
    with tempfile.TemporaryDirectory(prefix="goat-bench-") as folder:
        archived = Path(folder, "archived")
        async with open_app(settings, archived, _quiet) as app:
            for number, dialogue in enumerate(dialogues, start=1):
                say(f"archiving dialogue {number} of {len(dialogues)}")
                await app.memory.archive.append([_episode(dialogue.name, one) for one in dialogue.said])
                await app.memory.archive.embed()
        for mode in modes:
            home = Path(folder, mode)
            shutil.copytree(archived, home)
            own = settings.model_copy(update={"recall": settings.recall.model_copy(update={"reflex": mode})})
            async with open_app(own, home, _quiet) as app:
                for number, dialogue in enumerate(dialogues, start=1):
                    say(f"reflex {mode}: playing dialogue {number} of {len(dialogues)}")
                    played += await _play(app, mode, dialogue)
    return played


def _quiet(notice: Notice) -> None:
    """A bench shows figures only."""


def _episode(owner: str, said: Said) -> NewEpisode:
    return NewEpisode(
        owner=owner,
        chat=f"earlier {said.session}",
        role=Role.USER,
        text=said.text,
        at=said.at,
        exchange_id=f"{owner} {said.at.isoformat()}",
        speaker=said.speaker,
        tags=(FULL_ARCHIVE,),
        source="bench",
        passages=split_passages(said.text),
    )


async def _play(opened: App, mode: str, dialogue: Dialogue) -> list[Played]:
    clock = FakeClock(max(one.at for one in dialogue.said) + timedelta(days=1))
    model, observer = ScriptedModel(["Noted."]), KeepingObserver()
    embedder = TimedEmbedder(opened.backends.embedder)
    app = assemble(
        opened.settings,
        replace(opened.backends, clock=clock, model=model, observer=observer, embedder=embedder),
    )
    played = []
    for number, asked in enumerate(dialogue.asked):
        clock.move((PAUSE + timedelta(days=asked.days)).total_seconds())
        chat = f"word {number}" if asked.kind == "word" else "now"
        result = await app.orchestrator.run(Incoming(dialogue.name, chat, asked.text, clock.now(), source="bench"))
        await app.settled()
        if result.record is not None:
            stage = result.record.stage_ms
            added = max(stage["activate"] - embedder.query_ms, 0.0) + max(stage["layers"], stage["recall"])
            shares = evidence_in(model.requests[-1], asked.evidence)
            topic = result.answer.topic_id if result.answer else ""
            added += stage["assemble"]
            played.append(Played(mode, dialogue.name, asked, result.record, topic, *shares, added))
    return played


def evidence_in(request: ModelRequest, evidence: Sequence[str]) -> tuple[float, float, float]:
    """The shares (0..1) of the evidence texts in the recalled block, in the conversation, and in either.

    A text counts where it stands as a whole message: not where another message happens to hold its words.
    """
    quoted = _quoted(request.messages[-2].content)
    talk = [_plain(message.content) for message in request.messages[1:-2]]
    recalled = [_plain(text) in quoted for text in evidence]
    talked = [any(_ends_with(said, _plain(text)) for said in talk) for text in evidence]
    either = [one or other for one, other in zip(recalled, talked, strict=True)]
    return _share(recalled), _share(talked), _share(either)


def _quoted(data: str) -> set[str]:
    """The messages of a recalled block, each put together from its lines."""
    lines = ((line.startswith("> "), line.removeprefix("> ")) for line in data.splitlines())
    return {
        _plain(" ".join(text for _, text in group))
        for quoted, group in groupby(lines, key=lambda line: line[0])
        if quoted
    }


def _ends_with(said: str, text: str) -> bool:
    """Whether a message is this text, behind the mark of its time or its speaker."""
    before = said.removesuffix(text)
    return said.endswith(text) and before.rstrip()[-1:] in ("", "]", ":")


def _plain(text: str) -> str:
    return " ".join(text.split())


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else 1.0


def figures(played: Sequence[Played]) -> list[Figure]:
    """Per mode: the evidence by state and by kind, where it came from, tokens and latency."""
    shown: list[Figure] = []
    for mode in MODES:
        of_mode = [one for one in played if one.mode == mode]
        for state, least in GOALS.items():
            of_state = [one for one in of_mode if one.record.state == state]
            shown += _group(f"{mode} · {state}", of_state, least if mode == "auto" else None)
        for kind in ("switch", "warm", "drift", "return", "word"):
            of_kind = [one for one in of_mode if one.asked.kind == kind]
            goal = RETURN_GOAL if (mode, kind) == ("auto", "return") else None
            shown += _evidence(f"{mode} · asked as {kind}", of_kind, goal)
        for source in sorted({one.record.served_by for one in of_mode}):
            count = sum(one.record.served_by == source for one in of_mode)
            shown.append(Figure(f"{mode} · served by {source}", 100 * count / len(of_mode), "% of turns"))
    return shown


def _group(name: str, played: Sequence[Played], goal: float | None) -> list[Figure]:
    if not played:
        return []
    return [
        *_evidence(name, played, goal),
        Figure(f"{name}, evidence recalled (L3)", _percent(one.in_recalled for one in played), "%"),
        Figure(f"{name}, evidence in the talk (L2)", _percent(one.in_history for one in played), "%"),
        Figure(f"{name}, prompt, mean", sum(one.record.prompt_tokens for one in played) / len(played), "tokens"),
        *_latency(name, played, goal),
    ]


def _latency(name: str, played: Sequence[Played], goal: float | None) -> list[Figure]:
    """What the turns took, those apart that searched: a warm turn does where a time is named or what is held is old."""
    shown = []
    for how, searched in (("held", False), ("searched", True)):
        added = [one.added_ms for one in played if (one.record.served_by == "reflex") is searched]
        if added:
            least = WARM_GOAL_MS if goal is not None and "warm" in name and not searched else None
            what = f"{name}, {how} ({len(added)} turns), beside the embedding"
            shown.append(Figure(f"{what}, p50", percentile(added, 50), "ms"))
            shown.append(Figure(f"{what}, p95", percentile(added, 95), "ms", least))
    return shown


def _evidence(name: str, played: Sequence[Played], goal: float | None) -> list[Figure]:
    if not played:
        return []
    share = _percent(one.in_prompt for one in played)
    return [Figure(f"{name} ({len(played)} turns), evidence in the prompt", share, "%", goal, more_is_better=True)]


def _percent(shares: Iterable[float]) -> float:
    values = list(shares)
    return 100 * sum(values) / len(values)
