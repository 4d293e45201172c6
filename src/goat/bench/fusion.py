"""The measures that a set of weights reaches on questions whose evidence was collected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goat.bench.evidence import Seen
from goat.bench.score import auroc
from goat.records.search import Floats
from goat.retrieval.fuse import fuse
from goat.retrieval.weights import Weights

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
    "entity",
    "newer",
)


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """One question: the parts of every candidate's score (candidates x `PARTS`), and its turn and session by number.

    `evidence` and `evidence_sessions` say of each turn and session whether it is evidence; evidence that is no
    candidate counts in `missing`.
    """

    kind: str
    sample: str
    parts: Floats
    turns: NDArray[np.int64]
    sessions: NDArray[np.int64]
    evidence: NDArray[np.bool_]
    evidence_sessions: NDArray[np.bool_]
    missing: int = 0
    missing_sessions: int = 0


@dataclass(frozen=True, slots=True)
class Measures:
    """Means over questions, in percent."""

    any10: float
    frac10: float
    ndcg10: float
    session5: float
    session_frac10: float

    @property
    def aim(self) -> float:
        """What is maximised."""
        return self.any10 + self.frac10 + self.ndcg10 + 0.5 * (self.session5 + self.session_frac10)


def judge(seen: Seen, weights: Weights) -> Judged:
    """The parts that these weights give, ready to be weighed."""
    parts = fuse(seen.question.text, seen.weighed.near, seen.weighed.evidence, weights).parts
    turns, evidence, missing = _numbered(seen.turns, seen.question.evidence)
    sessions, evidence_sessions, missing_sessions = _numbered(seen.sessions, seen.evidence_sessions)
    return Judged(
        kind=seen.kind,
        sample=seen.sample,
        parts=np.stack([parts[part] for part in PARTS], axis=1),
        turns=turns,
        sessions=sessions,
        evidence=evidence,
        evidence_sessions=evidence_sessions,
        missing=missing,
        missing_sessions=missing_sessions,
    )


def _numbered(names: Sequence[str], gold: frozenset[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_], int]:
    """The names as numbers, which numbers are gold, and how much gold has none."""
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    is_gold = np.array([name in gold for name in number], dtype=np.bool_)
    return np.array([number[name] for name in names], dtype=np.int64), is_gold, len(gold - number.keys())


def measure(judged: Iterable[Judged], factors: NDArray[np.float64]) -> Measures:
    """The measures when every part is multiplied by its factor."""
    return Measures(*(100 * np.mean([one(each, each.parts @ factors) for each in judged], axis=0)).tolist())


def one(judged: Judged, total: NDArray[np.floating]) -> tuple[float, float, float, float, float]:
    """The measures of one question, in 0..1, by the score of every candidate."""
    hits = _best(judged.turns, judged.evidence, total)
    sessions = _best(judged.sessions, judged.evidence_sessions, total)
    evidence = int(judged.evidence.sum()) + judged.missing
    gain = sum(1 / math.log2(place + 2) for place in np.flatnonzero(hits).tolist())
    ideal = sum(1 / math.log2(place + 2) for place in range(min(evidence, 10)))
    share = int(sessions.sum()) / (int(judged.evidence_sessions.sum()) + judged.missing_sessions)
    return float(hits.any()), int(hits.sum()) / evidence, gain / ideal, float(sessions[:5].any()), share


def _best(group: NDArray[np.int64], gold: NDArray[np.bool_], total: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Which of the ten groups with the best scores are gold, best first."""
    best = np.full(len(gold), -np.inf)
    np.maximum.at(best, group, total)
    return gold[np.argsort(-best, kind="stable")[:10]]


def abstention(seen: Iterable[Seen], weights: Weights) -> float:
    """How well the greatest relevance tells questions with an answer from those without, as an AUROC."""
    found: dict[bool, list[float]] = {True: [], False: []}
    for each in seen:
        scores = fuse(each.question.text, each.weighed.near, each.weighed.evidence, weights)
        found[each.answerable].append(float(scores.relevance.max(initial=0.0)))
    return auroc(found[True], found[False])
