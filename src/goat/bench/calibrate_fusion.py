"""`goat calibrate fusion`: the weights of the ranking formula, picked leaving out one conversation at a time.

Coordinate ascent over factors on the present weights; the weight of the cosine is the unit and stays. Each fold is
fitted on all other conversations, as they were told and in random order, together with the set of many languages, and
judged on its own; the row is the median of the folds, so no conversation decides it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goat.bench.evidence import LANGUAGES, SCATTERED, TOLD, Say, walk
from goat.bench.fusion import PARTS, Judged, Measures, judge, measure
from goat.bench.locomo_data import read
from goat.retrieval.weights import Weights, weights_for

FACTORS = (0.0, 0.5, 0.7, 0.85, 1.2, 1.5, 2.0)
ROUNDS = 2
FITTED = tuple(part for part in PARTS if part not in ("cosine", "verbatim", "human", "entity", "newer"))
"""The same text, a person's words and corrections do not show in a talk between people, so such data cannot weigh them,
and what names add is published."""

SHARES = {TOLD: 1.0, SCATTERED: 0.3, LANGUAGES: 0.5}
"""How much each kind of sample counts."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A conversation that was left out: the weights that the others brought, and what they reach on it as told."""

    sample: str
    questions: int
    weights: dict[str, float]
    before: Measures
    after: Measures


def collect(path: Path, limit: int | None, say: Say) -> tuple[str, list[Judged]]:
    """The embedding model's name and the judged questions of a file; `limit` bounds those of each conversation."""
    return asyncio.run(_collect(path, limit, say))


async def _collect(path: Path, limit: int | None, say: Say) -> tuple[str, list[Judged]]:
    model, judged = "", []
    async for model, (seen,) in walk(read(path), tuple(SHARES), lambda name: [weights_for(name)], limit, say):
        judged.append(judge(seen, weights_for(model)))
    return model, judged


def aim(judged: Sequence[Judged], factors: NDArray[np.float64]) -> float:
    """What is maximised: the measures of every kind of sample, each with its share."""
    reached = 0.0
    for kind, share in SHARES.items():
        of_kind = [each for each in judged if each.kind == kind]
        reached += share * measure(of_kind, factors).aim if of_kind else 0.0
    return reached


def fit(judged: Sequence[Judged]) -> NDArray[np.float64]:
    """The factors, one for each of `PARTS`, that coordinate ascent finds."""
    best = np.ones(len(PARTS))
    reached = aim(judged, best)
    for _ in range(ROUNDS):
        for place in (PARTS.index(part) for part in FITTED):
            for tried in best[place] * np.array(FACTORS):
                factors = best.copy()
                factors[place] = tried
                found = aim(judged, factors)
                if found > reached + 1e-9:
                    best, reached = factors, found
    return best


def folds(judged: Sequence[Judged], weights: Weights) -> Iterator[Fold]:
    """One fold for each conversation. Raises `ValueError` when there are fewer than two."""
    samples = list(dict.fromkeys(each.sample for each in judged if each.kind == TOLD))
    if len(samples) < 2:
        raise ValueError("leaving out one conversation needs at least two in the file")
    for sample in samples:
        own = [each for each in judged if (each.sample, each.kind) == (sample, TOLD)]
        factors = fit([each for each in judged if each.sample != sample])
        found = {part: getattr(weights, part) * float(factors[PARTS.index(part)]) for part in FITTED}
        yield Fold(sample, len(own), found, measure(own, np.ones(len(PARTS))), measure(own, factors))


def common(found: Sequence[Fold]) -> dict[str, float]:
    """The median weight of the folds, rounded to two digits."""
    return {part: round(float(np.median([fold.weights[part] for fold in found])), 2) for part in FITTED}


def mean(found: Sequence[Fold], after: bool) -> Measures:
    """The measures over the questions of all folds, each judged where it was left out."""
    rows = [fold.after if after else fold.before for fold in found]
    columns = [(row.any10, row.frac10, row.ndcg10, row.session5, row.session_frac10) for row in rows]
    return Measures(*np.average(columns, axis=0, weights=[fold.questions for fold in found]).tolist())


def write_row(path: Path, name: str, row: Mapping[str, float]) -> None:
    """Set the weights in the table `name` of a weights file; all other lines stay as they are."""
    lines = path.read_text(encoding="utf-8").splitlines()
    header = f"[{name}]"
    if header not in lines:
        lines += ["", header]
    first = lines.index(header) + 1
    last = next((n for n in range(first, len(lines)) if lines[n].startswith("[")), len(lines))
    kept = [line for line in lines[first:last] if re.split(r"\s*=", line)[0] not in row]
    table = [f"{part} = {value:g}" for part, value in row.items()]
    path.write_text("\n".join([*lines[:first], *table, *kept, *lines[last:]]) + "\n", encoding="utf-8")
