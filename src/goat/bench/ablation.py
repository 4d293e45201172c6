"""`goat bench ablation`: what each stage of the ranking is worth, measured with it off on the real pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

from goat.bench.evidence import LANGUAGES, SCATTERED, TOLD, Say, Seen, walk
from goat.bench.fusion import judge, one
from goat.bench.locomo_data import read
from goat.bench.report import Figure
from goat.bench.score import auroc
from goat.retrieval.fuse import fuse
from goat.retrieval.weights import Weights, weights_for

EVERY = "every stage"

STAGES: Mapping[str, Mapping[str, Any]] = {
    EVERY: {},
    "centring of the query": {"centring": 0.0},
    "meaning of the passages around": {"around_cosine": 0.0},
    "session": {"session": 0.0},
    "nearness in time": {"nearness": 0.0},
    "questions and their answers": {"after_question": 0.0, "question": 0.0},
    "named speaker": {
        "speaker": 0.0,
        "relevance_other": 0.0,
        "relevance_all_others": 0.0,
        "relevance_behind": 0.0,
    },
    "names, places and codes": {"entity": 0.0},
    "a person's words": {"human": 0.0},
    "trust in words": {"words_untrusted": -1.0, "words_trusted": 0.0},
    "meaning": {"cosine": 0.0, "around_cosine": 0.0},
    "words": {"verbatim": 0.0, "passage": 0.0, "session": 0.0, "entity": 0.0},
}
"""The stages that can be off, and the weights that switch them off."""

COLUMNS = ("any@10", "share@10", "nDCG@10", "session any@5", "session share@10")
SCATTERED_COLUMN, LANGUAGES_COLUMN, AUROC_COLUMN = "random order any@10", "languages any@10", "AUROC"


@dataclass(slots=True)
class _Tally:
    """What one variant reached, question by question."""

    told: list[tuple[float, ...]] = field(default_factory=list)
    scattered: list[float] = field(default_factory=list)
    languages: list[float] = field(default_factory=list)
    relevance: dict[bool, list[float]] = field(default_factory=lambda: {True: [], False: []})

    def add(self, seen: Seen, weights: Weights) -> None:
        measured = one(judged := judge(seen, weights), judged.parts.sum(axis=1))
        if seen.kind == SCATTERED:
            self.scattered.append(measured[0])
        elif seen.kind == LANGUAGES:
            self.languages.append(measured[0])
        else:
            self.told.append(measured)
            scores = fuse(seen.question.text, seen.weighed.near, seen.weighed.evidence, weights)
            self.relevance[seen.answerable].append(float(scores.relevance.max(initial=0.0)))

    def row(self) -> dict[str, float]:
        """The measures by column, in percent but for the AUROC."""
        means = (100 * np.mean(self.told, axis=0)).tolist()
        return {
            **dict(zip(COLUMNS, means, strict=True)),
            SCATTERED_COLUMN: 100 * float(np.mean(self.scattered)),
            LANGUAGES_COLUMN: 100 * float(np.mean(self.languages)),
            AUROC_COLUMN: auroc(self.relevance[True], self.relevance[False]),
        }


def run(path: Path, limit: int | None, say: Say) -> tuple[int, dict[str, dict[str, float]]]:
    """How many questions of the file were asked, and the measures of every variant by its name."""
    return asyncio.run(_run(path, limit, say))


async def _run(path: Path, limit: int | None, say: Say) -> tuple[int, dict[str, dict[str, float]]]:
    tallies = {stage: _Tally() for stage in STAGES}
    kinds = (TOLD, SCATTERED, LANGUAGES)
    async for model, (seen, uncentred) in walk(read(path), kinds, _rows, limit, say):
        weights = weights_for(model)
        for stage, off in STAGES.items():
            tallies[stage].add(uncentred if "centring" in off else seen, replace(weights, **off))
    asked = len(tallies[EVERY].told)
    return asked, {stage if stage == EVERY else f"without {stage}": tally.row() for stage, tally in tallies.items()}


def _rows(model: str) -> Sequence[Weights]:
    """The weights that collect: as they are, and without centring."""
    weights = weights_for(model)
    return weights, replace(weights, centring=0.0)


def table(found: Mapping[str, Mapping[str, float]], title: str) -> Table:
    """The measures of every variant, in a form that has room on 80 columns."""
    shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    shown.add_column("")
    columns = list(found[EVERY])
    for name in columns:
        shown.add_column(name.replace(" ", "\n").replace("@", "\n@"), justify="right", no_wrap=True)
    for stage, row in found.items():
        figures = (f"{row[name]:.{3 if name == AUROC_COLUMN else 1}f}" for name in columns)
        shown.add_row(stage.replace("without", "−"), *figures)
    return shown


def figures(found: Mapping[str, Mapping[str, float]]) -> list[Figure]:
    """Every cell of the table as a figure."""
    return [
        Figure(f"{stage} · {column}", value, "" if column == AUROC_COLUMN else "%", more_is_better=True)
        for stage, row in found.items()
        for column, value in row.items()
    ]
