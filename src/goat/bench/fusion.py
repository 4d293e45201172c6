"""What the ranking formula sees for each question of a LoCoMo sample file, to weigh its parts anew.

The parts of every result's score are collected once; any other weights are then judged without asking again.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goat.app import App, open_app
from goat.bench.locomo import Outcome, archive_sample
from goat.bench.locomo_data import Question, Sample, read
from goat.bench.score import any_at, frac_at, ndcg_at
from goat.records.search import Floats
from goat.records.turns import Notice
from goat.retrieval.pipeline import REFLEX, Recipe
from goat.settings import Settings

EVERY = Recipe("every candidate", REFLEX.groups, limit=10_000)
PARTS = (
    "verbatim",
    "passage",
    "cosine",
    "around_cosine",
    "session",
    "nearness",
    "after_question",
    "question",
    "speaker",
    "human",
)

STAGES: Mapping[str, tuple[str, ...]] = {
    "meaning of the passages around": ("around_cosine",),
    "session": ("session",),
    "nearness in time": ("nearness",),
    "questions and their answers": ("after_question", "question"),
    "named speaker": ("speaker",),
    "a person's words": ("human",),
    "meaning": ("cosine", "around_cosine"),
    "words": ("verbatim", "passage", "session"),
}
"""The stages of the formula that can be off, each with its parts."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Judged:
    """One question: the parts of every candidate's score (candidates x `PARTS`), in the pipeline's order."""

    sample: str
    parts: Floats
    turns: tuple[str, ...]
    sessions: tuple[str, ...]
    evidence: frozenset[str]
    evidence_sessions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Measures:
    """Means over questions, in percent."""

    any10: float
    frac10: float
    ndcg10: float
    session5: float

    @property
    def aim(self) -> float:
        """What is maximised."""
        return self.any10 + self.frac10 + self.ndcg10 + 0.5 * self.session5


def collect(path: Path, limit: int | None, say: Say) -> tuple[str, list[Judged]]:
    """The embedding model's name and the judged questions of a file; `limit` bounds those of each conversation."""
    return asyncio.run(_collect(read(path), limit, say))


async def _collect(samples: Sequence[Sample], limit: int | None, say: Say) -> tuple[str, list[Judged]]:
    judged: list[Judged] = []
    with tempfile.TemporaryDirectory(prefix="goat-bench-") as folder:
        async with open_app(Settings(), Path(folder), _quiet) as app:
            for number, sample in enumerate(samples, start=1):
                say(f"conversation {number} of {len(samples)}")
                names = await archive_sample(app, sample, Outcome())
                judged += [await _judge(app, sample, question, names) for question in sample.questions[:limit]]
            return app.backends.embedder.name, judged


async def _judge(app: App, sample: Sample, question: Question, names: Mapping[int, str]) -> Judged:
    vector = await app.backends.embedder.embed_query(question.text)
    query = app.memory.query(sample.id, question.text, sample.turns[-1].at, vector)
    results = (await app.memory.recall(query, EVERY)).results
    turns = tuple(names[result.episode.id] for result in results)
    rows = [[result.parts[part] for part in PARTS] for result in results]
    return Judged(
        sample=sample.id,
        parts=np.array(rows, dtype=np.float32).reshape(len(rows), len(PARTS)),
        turns=turns,
        sessions=tuple(sample.sessions[turn] for turn in turns),
        evidence=question.evidence,
        evidence_sessions=frozenset(sample.sessions[turn] for turn in question.evidence),
    )


def measure(judged: Sequence[Judged], factors: NDArray[np.float64]) -> Measures:
    """The measures when every part of the present score is multiplied by its factor."""
    return Measures(*(100 * np.mean([_one(each, factors) for each in judged], axis=0)).tolist())


def _one(judged: Judged, factors: NDArray[np.float64]) -> tuple[float, float, float, float]:
    order = np.argsort(-(judged.parts @ factors), kind="stable")
    turns = [judged.turns[place] for place in order[:10].tolist()]
    sessions: dict[str, None] = {}
    for place in order.tolist():
        sessions[judged.sessions[place]] = None
        if len(sessions) == 5:
            break
    evidence = judged.evidence
    return (
        any_at(turns, evidence, 10),
        frac_at(turns, evidence, 10),
        ndcg_at(turns, evidence, 10),
        any_at(list(sessions), judged.evidence_sessions, 5),
    )


def ablation(judged: Sequence[Judged]) -> dict[str, Measures]:
    """The measures with every stage, and with each one off."""
    shown = {"every stage": measure(judged, np.ones(len(PARTS)))}
    for stage, parts in STAGES.items():
        factors = np.array([0.0 if part in parts else 1.0 for part in PARTS])
        shown[f"without {stage}"] = measure(judged, factors)
    return shown


def _quiet(notice: Notice) -> None:
    """A bench shows figures only."""
