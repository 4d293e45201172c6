"""`goat calibrate relevance`: how a score becomes a relevance, picked leaving out one conversation at a time.

Three kinds of questions have no answer: those that ask one person for what another said (category 5), those that belong
to another conversation, and those of nothing in an archive of one language. A good relevance tells them from the
answerable ones, shows little for the latter two, and keeps the evidence that was found, in every language. Coordinate
ascent over factors on the present values; each fold is fitted on all other conversations and the set of many languages,
and judged on its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goat.bench.evidence import ALONE, FOREIGN, LANGUAGES, TOLD, UNKNOWN, Say, Seen, walk
from goat.bench.locomo_data import read
from goat.bench.score import auroc
from goat.records.search import Floats
from goat.retrieval.cutoff import best_passages
from goat.retrieval.fuse import Evidence, Voices, fuse, relevance, voices
from goat.retrieval.speakers import named_speaker
from goat.retrieval.weights import Weights, weights_for
from goat.settings import Settings

FITTED = (
    "cosine_margin",
    "cosine_span",
    "relevance_slope",
    "relevance_centre",
    "own_words",
    "own_constant",
    "relevance_other",
    "relevance_all_others",
    "relevance_behind",
    "behind_span",
)
FACTORS = (0.7, 0.85, 1.2, 1.45)
ROUNDS = 3
SHOWN = 20
KEPT = 0.975
"""The share of the found evidence that is to be kept; keeping more is worth nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """One question with its ranked candidates. `gold` are the rows of the evidence among the first `SHOWN` results."""

    kind: str
    sample: str
    answerable: bool
    evidence: Evidence
    total: Floats
    unnamed: Floats
    said_by: Voices
    gold: NDArray[np.int64]
    margin: float

    def relevance(self, weights: Weights) -> Floats:
        """The relevance of every candidate with other weights of the relevance; those of the score stay."""
        moved = self.evidence.unrelated + weights.cosine_margin - self.margin
        return relevance(self.total, self.unnamed, replace(self.evidence, unrelated=moved), self.said_by, weights)


@dataclass(frozen=True, slots=True)
class Reached:
    """What a set of weights reaches; shares and AUROCs in 0..1.

    `wrong_person` and `foreign` tell the answerable questions from those of category 5 and of another conversation,
    `kept` and `kept_languages` are the shares of found evidence above the cutoff, `shown` and `shown_languages` those
    of the foreign questions for which anything is, and `loss` is the mean logarithmic loss.
    """

    wrong_person: float
    foreign: float
    kept: float
    kept_languages: float
    shown: float
    shown_languages: float
    loss: float

    @property
    def aim(self) -> float:
        """What is maximised."""
        kept = 4 * min(self.kept, KEPT) + min(self.kept_languages, KEPT)
        shown = 0.5 * (self.shown + self.shown_languages)
        return 2 * self.wrong_person + 1.5 * self.foreign + kept - shown - 0.3 * self.loss

    @property
    def left_out(self) -> tuple[float, float, float, float, float]:
        """What a conversation that was left out tells: all but the languages, which every fold is fitted on."""
        return self.wrong_person, self.foreign, self.kept, self.shown, self.loss


@dataclass(frozen=True, slots=True)
class Fold:
    """A conversation that was left out: the weights that the others brought, and what they reach on it."""

    sample: str
    questions: int
    weights: Weights
    before: Reached
    after: Reached


def collect(path: Path, limit: int | None, say: Say) -> tuple[str, list[Ranked]]:
    """The embedding model's name and the ranked questions of a file; `limit` bounds those of each conversation."""
    return asyncio.run(_collect(path, limit, say))


async def _collect(path: Path, limit: int | None, say: Say) -> tuple[str, list[Ranked]]:
    model, found = "", []
    kinds = (TOLD, FOREIGN, LANGUAGES, ALONE, UNKNOWN)
    async for model, (seen,) in walk(read(path), kinds, lambda name: [weights_for(name)], limit, say):
        found.append(ranked(seen, weights_for(model)))
    return model, found


def ranked(seen: Seen, weights: Weights) -> Ranked:
    """A question as these weights rank its candidates."""
    near, text = seen.weighed.near, seen.question.text
    scores = fuse(text, near, seen.weighed.evidence, weights)
    named = named_speaker(text, near.speakers)
    shown = best_passages(near, scores.total)[:SHOWN].tolist()
    return Ranked(
        kind=seen.kind,
        sample=seen.sample,
        answerable=seen.answerable,
        evidence=seen.weighed.evidence,
        total=scores.total - scores.parts["newer"],
        unnamed=scores.total - scores.parts["newer"] - scores.parts["speaker"],
        said_by=voices(near.speakers, named),
        gold=np.array([row for row in shown if seen.turns[row] in seen.question.evidence], dtype=np.int64),
        margin=weights.cosine_margin,
    )


def reach(questions: Sequence[Ranked], weights: Weights, least: float) -> Reached:
    """What the weights reach on some questions, with `least` as the cutoff."""
    best: dict[tuple[str, bool], list[float]] = {}
    kept: dict[str, list[float]] = {TOLD: [], LANGUAGES: [], ALONE: []}
    loss = []
    for question in questions:
        found = question.relevance(weights)
        top = float(found.max(initial=0.0))
        best.setdefault((question.kind, question.answerable), []).append(top)
        if question.answerable and len(question.gold):
            kept[question.kind].append(float((found[question.gold] >= least).mean()))
            loss.append(float(-np.log(np.clip(found[question.gold], 1e-6, 1)).mean()))
        elif not question.answerable:
            loss.append(-float(np.log(max(1 - top, 1e-6))))
    told, foreign = best.get((TOLD, True), []), best.get((FOREIGN, False), [])
    return Reached(
        wrong_person=_or_zero(auroc(told, best.get((TOLD, False), []))),
        foreign=_or_zero(auroc(told, foreign)),
        kept=_mean(kept[TOLD]),
        kept_languages=_mean([*kept[LANGUAGES], *kept[ALONE]]),
        shown=_mean([float(top >= least) for top in foreign]),
        shown_languages=_mean([float(top >= least) for top in best.get((UNKNOWN, False), [])]),
        loss=_mean(loss),
    )


def fit(questions: Sequence[Ranked], weights: Weights, least: float) -> Weights:
    """The weights that coordinate ascent finds."""
    best, aim = weights, reach(questions, weights, least).aim
    for _ in range(ROUNDS):
        for name in FITTED:
            for value in getattr(best, name) * np.array(FACTORS):
                tried = _with(best, {name: float(value)})
                found = reach(questions, tried, least).aim
                if found > aim + 1e-9:
                    best, aim = tried, found
    return best


def folds(questions: Sequence[Ranked], weights: Weights) -> Iterator[Fold]:
    """One fold for each conversation. Raises `ValueError` when there are fewer than two."""
    samples = list(dict.fromkeys(each.sample for each in questions if each.kind == TOLD))
    if len(samples) < 2:
        raise ValueError("leaving out one conversation needs at least two in the file")
    least = Settings().recall.min_relevance
    for sample in samples:
        own = [each for each in questions if each.sample == sample]
        found = fit([each for each in questions if each.sample != sample], weights, least)
        count = sum(each.kind == TOLD for each in own)
        yield Fold(sample, count, found, reach(own, weights, least), reach(own, found, least))


def common(found: Sequence[Fold]) -> dict[str, float]:
    """The median weight of the folds, rounded to two digits, a margin to three."""
    digits = {"cosine_margin": 3, "cosine_span": 3}
    return {
        name: round(float(np.median([getattr(fold.weights, name) for fold in found])), digits.get(name, 2))
        for name in FITTED
    }


def mean(found: Sequence[Fold], after: bool) -> Reached:
    """The means over the folds, weighed by their questions, each judged where it was left out."""
    rows = [fold.after if after else fold.before for fold in found]
    columns = [[getattr(row, one.name) for one in fields(Reached)] for row in rows]
    return Reached(*np.average(columns, axis=0, weights=[fold.questions for fold in found]).tolist())


def _with(weights: Weights, changed: dict[str, Any]) -> Weights:
    return replace(weights, **changed)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def _or_zero(value: float) -> float:
    return 0.0 if np.isnan(value) else value
