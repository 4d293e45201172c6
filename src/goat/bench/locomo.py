"""`goat bench locomo`: how often the evidence of a question is found, on the LoCoMo protocol, beside plain bars.

One owner per conversation, one episode per turn, every question asked cold in a new chat. Categories 1 to 5; category 5
has no answer in the conversation and serves as the negatives of the abstention measure.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from goat.app import App, open_app
from goat.bench.bars import PlainBm25, order, reciprocal_rank_fusion
from goat.bench.locomo_data import Question, Sample, read
from goat.bench.report import machine, percentile
from goat.bench.score import any_at, auroc, frac_at, ndcg_at
from goat.memory.facade import FULL_ARCHIVE
from goat.records.episodes import NewEpisode, Role
from goat.records.search import Floats, Recall
from goat.records.turns import Notice
from goat.retrieval.passages import split_passages
from goat.retrieval.pipeline import COLD, REFLEX, Recipe
from goat.retrieval.query import Query
from goat.settings import Settings
from goat.turn.budget import Aits
from goat.turn.prompt import Material, PromptBuilder

CUTS = (1, 5, 10, 20)
SESSION_CUTS = (1, 5, 10)
SYSTEMS = ("goat", "bm25", "embedder", "rrf")
WITHOUT_TIMES = "goat without times"
"""GOAT as it ranks when it does not understand times; asked only where a question names a month, a day or less."""

TOO_LONG = frozenset({"year", "decade", "season"})
"""Kinds of times that say little about when."""
DEPTH = 400
"""Turns that are ranked for the session measures: more than any session list of ten needs."""

Say = Callable[[str], None]


@dataclass(slots=True)
class Asked:
    """What one question brought: per system the ranked turns, and what the prompt held."""

    question: Question
    sessions: Mapping[str, str]
    ranked: dict[str, list[str]] = field(default_factory=dict)
    relevance: float = 0.0
    in_prompt: float = 0.0
    prompt_tokens: int = 0


@dataclass(slots=True)
class Outcome:
    """Everything that the report is made from."""

    asked: list[Asked] = field(default_factory=list)
    latency_ms: dict[str, list[float]] = field(default_factory=lambda: {"embed": [], "reflex": [], "pipeline": []})
    ingested: int = 0
    ingest_seconds: float = 0.0
    embedder: str = ""
    samples: int = 0
    """The conversations that were asked."""


def run(path: Path, limit: int | None, say: Say) -> Outcome:
    """Run the bench on a file; `limit` bounds the questions of each conversation."""
    return asyncio.run(_run(read(path), limit, say))


async def _run(samples: Sequence[Sample], limit: int | None, say: Say) -> Outcome:
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="goat-bench-") as folder:
        async with open_app(Settings(), Path(folder), _quiet) as app:
            outcome.embedder = app.backends.embedder.name
            for number, sample in enumerate(samples, start=1):
                say(f"conversation {number} of {len(samples)}: archiving {len(sample.turns)} turns")
                names = await archive_sample(app, sample, outcome)
                say(f"conversation {number} of {len(samples)}: asking {len(sample.questions[:limit])} questions")
                await ask_all(app, sample, limit, names, outcome)
                outcome.samples += 1
    return outcome


def _quiet(notice: Notice) -> None:
    """A bench shows figures only."""


async def archive_sample(app: App, sample: Sample, outcome: Outcome) -> dict[int, str]:
    """Archive and embed a conversation; the turn's name by episode id."""
    episodes = [
        NewEpisode(
            owner=sample.id,
            chat=sample.id,
            role=Role.USER,
            text=turn.text,
            at=turn.at,
            exchange_id=f"{sample.id}/{turn.id}",
            speaker=turn.speaker,
            tags=(FULL_ARCHIVE,),
            source="locomo",
            key=f"{sample.id}/{turn.id}",
            passages=split_passages(turn.text),
        )
        for turn in sample.turns
    ]
    began = perf_counter()
    appended = await app.memory.archive.append(episodes)
    await app.memory.archive.embed()
    outcome.ingest_seconds += perf_counter() - began
    outcome.ingested += len(episodes)
    return {one.episode.id: turn.id for one, turn in zip(appended, sample.turns, strict=True)}


async def ask_all(app: App, sample: Sample, limit: int | None, names: Mapping[int, str], outcome: Outcome) -> None:
    """Ask the questions of a conversation that is archived: of GOAT, and of the bars beside it."""
    bm25 = PlainBm25([turn.spoken for turn in sample.turns])
    ids = [turn.id for turn in sample.turns]
    for question in sample.questions[:limit]:
        began = perf_counter()
        vector = await app.backends.embedder.embed_query(question.text)
        outcome.latency_ms["embed"].append((perf_counter() - began) * 1000)
        asked = await _ask(app, sample, question, vector, names, outcome)
        lexical = order(bm25.scores(question.text))
        dense = order(await _similarities(app, sample, vector, names))
        for system, ranking in (
            ("bm25", lexical),
            ("embedder", dense),
            ("rrf", reciprocal_rank_fusion([lexical, dense])),
        ):
            asked.ranked[system] = [ids[place] for place in ranking]
        outcome.asked.append(asked)


async def _similarities(app: App, sample: Sample, vector: Floats, names: Mapping[int, str]) -> Floats:
    """The cosine of each turn's best passage."""
    every = np.arange(sum(len(split_passages(turn.text)) for turn in sample.turns))
    cosines = await app.backends.vectors.score(sample.id, vector, every)
    located = await app.backends.journal.locate(sample.id, every.tolist())
    best: dict[str, float] = {}
    for number, cosine in zip(every.tolist(), cosines.tolist(), strict=True):
        turn = names[located[number]]
        best[turn] = max(best.get(turn, -1.0), cosine)
    return np.array([best.get(turn.id, -1.0) for turn in sample.turns], dtype=np.float32)


async def _ask(
    app: App, sample: Sample, question: Question, vector: Floats, names: Mapping[int, str], outcome: Outcome
) -> Asked:
    """Ask GOAT. The reflex comes first: after another search of the same question its postings would be at hand."""
    now = sample.turns[-1].at
    entities = await app.memory.entities(question.text)
    query = app.memory.query(sample.id, question.text, now, vector, entities.value)
    began = perf_counter()
    served = await app.memory.recall(query, REFLEX, app.settings.recall.min_relevance)
    outcome.latency_ms["reflex"].append((perf_counter() - began) * 1000)
    began = perf_counter()
    await app.memory.recall(query, COLD)
    outcome.latency_ms["pipeline"].append((perf_counter() - began) * 1000)
    ranked = await app.memory.recall(query, Recipe("bench", REFLEX.groups, DEPTH))
    asked = Asked(question, sample.sessions)
    asked.ranked["goat"] = [names[result.episode.id] for result in ranked.results]
    if any(window.kind not in TOO_LONG for window in query.windows):
        timeless = await app.memory.recall(replace(query, windows=()), Recipe("bench", REFLEX.groups, DEPTH))
        asked.ranked[WITHOUT_TIMES] = [names[result.episode.id] for result in timeless.results]
    asked.relevance = max((result.relevance for result in ranked.results), default=0.0)
    await _prompt(app, query, served, asked, names)
    return asked


async def _prompt(app: App, query: Query, served: Recall, asked: Asked, names: Mapping[int, str]) -> None:
    """Assemble the prompt as a turn would and look which evidence stands in it."""
    settings = app.settings
    material = Material(
        text=query.text,
        identity=settings.identity.base_prompt,
        facts=(),
        history=(),
        recalled=served.results,
        partners=await app.memory.partners(query.owner, served.results),
        recalled_for=query.text,
        now=query.at,
        zone=app.backends.clock.zone(),
        windows=query.windows,
    )
    builder = PromptBuilder(
        app.backends.tokens,
        settings.retrieval_budget,
        settings.recall.header,
        settings.turn.session_gap_seconds,
        settings.aits.budget_hard_cap,
    )
    prompt = builder.build(material, Aits(settings.aits).budget(query.text).tokens)
    shown = {names[result.episode.id] for result in prompt.shown}
    shown |= {names[e.id] for partners in material.partners.values() for e in partners}
    asked.in_prompt = len(asked.question.evidence & shown) / len(asked.question.evidence)
    asked.prompt_tokens = prompt.tokens


def document(outcome: Outcome, name: str) -> dict[str, Any]:
    """The result as the JSON document that the protocol describes; None for a measure of no questions."""
    latency = {
        part: {"p50": percentile(times, 50), "p95": percentile(times, 95)}
        for part, times in outcome.latency_ms.items()
        if times
    }
    return {
        "data": name,
        "samples": outcome.samples,
        "questions": len(outcome.asked),
        "machine": machine(),
        "embedder": outcome.embedder,
        "results": {system: _system(outcome.asked, system) for system in SYSTEMS},
        "times": times(outcome.asked),
        "latency_ms": latency,
        "ingest_per_s": outcome.ingested / outcome.ingest_seconds if outcome.ingest_seconds else None,
    }


def times(asked: Sequence[Asked]) -> dict[str, Any]:
    """What the questions that name a month, a day or less gain by its being understood; no measures without any."""
    named = timed(asked)
    if not named:
        return {"questions": 0}
    return {
        "questions": len(named),
        "with": measures(named, "goat"),
        "without": measures(named, WITHOUT_TIMES),
    }


def timed(asked: Sequence[Asked]) -> list[Asked]:
    """The questions that name a month, a day or less."""
    return [one for one in asked if WITHOUT_TIMES in one.ranked]


def _system(asked: Sequence[Asked], system: str) -> dict[str, Any]:
    categories = sorted({one.question.category for one in asked})
    found: dict[str, Any] = {
        "all": measures(asked, system),
        "categories_1_to_4": measures([one for one in asked if one.question.category != "5"], system),
        "by_category": {
            category: measures([one for one in asked if one.question.category == category], system)
            for category in categories
        },
    }
    if system == "goat":
        tokens = [one.prompt_tokens for one in asked]
        found["in_prompt"] = {
            "recall": float(np.mean([one.in_prompt for one in asked])),
            "tokens_mean": float(np.mean(tokens)),
            "tokens_p95": percentile(tokens, 95),
        }
        answerable = [one.relevance for one in asked if one.question.category != "5"]
        unanswerable = [one.relevance for one in asked if one.question.category == "5"]
        measurable = answerable and unanswerable
        found["abstention_auroc"] = auroc(answerable, unanswerable) if measurable else None
    return found


def measures(asked: Iterable[Asked], system: str) -> dict[str, Any]:
    """Turn and session measures of a system over some questions."""
    turns = [(one.ranked[system], one.question.evidence) for one in asked]
    sessions = [sessions_of(one, system) for one in asked]
    return {
        "turn": {
            "any": {str(k): _mean(any_at, turns, k) for k in CUTS},
            "frac": {str(k): _mean(frac_at, turns, k) for k in CUTS},
            "ndcg@10": _mean(ndcg_at, turns, 10),
        },
        "session": {
            "any": {str(k): _mean(any_at, sessions, k) for k in SESSION_CUTS},
            "frac": {str(k): _mean(frac_at, sessions, k) for k in SESSION_CUTS},
        },
    }


def sessions_of(one: Asked, system: str) -> tuple[list[str], frozenset[str]]:
    """Sessions in the order of their best turn, and those that hold evidence."""
    ranked = list(dict.fromkeys(one.sessions[turn] for turn in one.ranked[system]))
    return ranked, frozenset(one.sessions[turn] for turn in one.question.evidence)


def _mean(
    measure: Callable[[Sequence[str], frozenset[str], int], float],
    lists: Sequence[tuple[list[str], frozenset[str]]],
    k: int,
) -> float | None:
    return float(np.mean([measure(ranked, gold, k) for ranked, gold in lists])) if lists else None
