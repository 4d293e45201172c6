"""The result of the LoCoMo bench as tables and as a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from rich import box
from rich.console import Console
from rich.table import Table

from goat.bench import report
from goat.bench.locomo import CUTS, SESSION_CUTS, SYSTEMS, WITHOUT_TIMES, Asked, Outcome, document, sessions_of, timed
from goat.bench.report import Figure
from goat.bench.score import Interval, any_at, auroc_interval, frac_at, interval, ndcg_at

NAMES = {
    "goat": "GOAT",
    "bm25": "BM25",
    "embedder": "embedder",
    "rrf": "BM25 + embedder, RRF",
    WITHOUT_TIMES: "times not understood",
}
CATEGORIES = {
    "": "no category",
    "1": "multi-hop",
    "2": "temporal",
    "3": "open-domain",
    "4": "single-hop",
    "5": "adversarial",
}
GOALS = {
    "turns any@10": 90.0,
    "turns share@10": 85.0,
    "sessions any@5": 96.0,
    "sessions share@10": 95.5,
}
WIDE = 120
"""The columns of a screen from which a figure and its interval have room on one line."""
LONGEST_MEASURE, LONGEST_INTERVAL = len("sessions share@10"), len("99.9–100.0")
IN_PROMPT_GOAL, TOKENS_GOAL, AUROC_GOAL = 80.0, 4_000.0, 0.75

Measure: TypeAlias = Callable[[Sequence[str], frozenset[str], int], float]
Lists: TypeAlias = Sequence[tuple[Sequence[str], frozenset[str]]]


@dataclass(frozen=True, slots=True)
class Row:
    """One measure, in percent, of every system that was asked; `goal` is the least that GOAT is to reach."""

    name: str
    found: Mapping[str, Interval]
    goal: float | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Rows over the same `questions`."""

    title: str
    questions: int
    rows: Sequence[Row]


def write(path: Path, outcome: Outcome, name: str) -> None:
    """Write the JSON document of the protocol, with the figures as every bench writes them."""
    found = {
        "bench": "locomo",
        **document(outcome, name),
        "figures": report.rows([*_table_figures(sections(outcome.asked)), *single_figures(outcome.asked)]),
    }
    path.write_text(json.dumps(found, ensure_ascii=False, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def show(console: Console, outcome: Outcome, name: str) -> None:
    """Print the tables, with 95 % bootstrap intervals."""
    for section in sections(outcome.asked):
        console.print(_table(section, name, wide=console.width >= WIDE))
    report.show(console, f"{name}: prompt and abstention", single_figures(outcome.asked))
    console.print(_times_taken(outcome, name))
    console.print(f"{outcome.embedder}; {report.machine()}", highlight=False)


def sections(asked: Sequence[Asked]) -> list[Section]:
    """Every measure of a ranked list, GOAT's and the bars'."""
    answerable = [one for one in asked if one.question.category != "5"]
    categories = list(_by_category(asked))
    if answerable:
        categories += _both(answerable, SYSTEMS, f"categories 1 to 4 (n = {len(answerable)})")
    found = [
        Section(
            "evidence found", len(asked), [_with_goal(row) for row in (*_ranked(asked, SYSTEMS), *_sessions(asked))]
        ),
        Section("by category, turns", len(asked), categories),
    ]
    if named := timed(asked):
        rows = list(_ranked(named, ("goat", WITHOUT_TIMES)))
        found.append(Section("questions that name a month, a day or less", len(named), rows))
    return found


def _with_goal(row: Row) -> Row:
    return replace(row, goal=GOALS.get(row.name))


def _ranked(asked: Sequence[Asked], systems: Sequence[str]) -> Iterator[Row]:
    lists = {system: [(one.ranked[system], one.question.evidence) for one in asked] for system in systems}
    for k in CUTS:
        yield from _any_and_share("turns ", lists, k)
    yield _row("turns nDCG@10", ndcg_at, lists, 10)


def _sessions(asked: Sequence[Asked]) -> Iterator[Row]:
    lists = {system: [sessions_of(one, system) for one in asked] for system in SYSTEMS}
    for k in SESSION_CUTS:
        yield from _any_and_share("sessions ", lists, k)


def _by_category(asked: Sequence[Asked]) -> Iterator[Row]:
    groups: dict[str, list[Asked]] = {}
    for one in asked:
        groups.setdefault(one.question.category, []).append(one)
    for category, of_category in sorted(groups.items()):
        name = CATEGORIES.get(category, category)
        yield from _both(of_category, SYSTEMS, f"{name} (n = {len(of_category)})")


def _both(asked: Sequence[Asked], systems: Sequence[str], name: str) -> Iterator[Row]:
    lists = {system: [(one.ranked[system], one.question.evidence) for one in asked] for system in systems}
    yield from _any_and_share(f"{name} ", lists, 10)


def _any_and_share(name: str, lists: Mapping[str, Lists], k: int) -> Iterator[Row]:
    yield _row(f"{name}any@{k}", any_at, lists, k)
    yield _row(f"{name}share@{k}", frac_at, lists, k)


def _row(name: str, measure: Measure, lists: Mapping[str, Lists], k: int) -> Row:
    found = {
        system: interval([100 * measure(ranked, gold, k) for ranked, gold in of_system])
        for system, of_system in lists.items()
    }
    return Row(name, found)


def single_figures(asked: Sequence[Asked]) -> list[Figure]:
    """What is measured of GOAT alone: what stands in the prompt, and whether it knows what it does not know."""
    prompt = interval([100 * one.in_prompt for one in asked])
    tokens = interval([float(one.prompt_tokens) for one in asked])
    figures = [
        _figure("evidence inside the assembled prompt", prompt, "%", IN_PROMPT_GOAL),
        Figure("prompt, mean", tokens.mean, "tokens", TOKENS_GOAL, interval=(tokens.low, tokens.high)),
    ]
    positives = [one.relevance for one in asked if one.question.category != "5"]
    negatives = [one.relevance for one in asked if one.question.category == "5"]
    if positives and negatives:
        abstention = auroc_interval(positives, negatives)
        figures.append(_figure("abstention AUROC, category 5 as negatives", abstention, "", AUROC_GOAL, digits=3))
    return figures


def _figure(name: str, found: Interval, unit: str, goal: float | None = None, digits: int = 1) -> Figure:
    return Figure(name, found.mean, unit, goal, True, (found.low, found.high), digits)


def _table_figures(found: Sequence[Section]) -> Iterator[Figure]:
    for section in found:
        for row in section.rows:
            for system, measured in row.found.items():
                goal = row.goal if system == "goat" else None
                yield _figure(f"{NAMES[system]} · {section.title} · {row.name}", measured, "%", goal)


def _table(section: Section, name: str, wide: bool) -> Table:
    """The rows of a section; the intervals stand beside the figures on a wide screen, and else below them."""
    title = f"{name}: {section.title}, % with 95 % bootstrap intervals (n = {section.questions})"
    table = Table(title=title, title_justify="left", box=box.HEAVY_HEAD if wide else box.SIMPLE_HEAD)
    table.add_column("", min_width=LONGEST_MEASURE)
    for system in section.rows[0].found:
        table.add_column(NAMES[system], justify="right", max_width=None if wide else LONGEST_INTERVAL)
    goals = any(row.goal is not None for row in section.rows)
    if goals:
        table.add_column("goal", justify="right")
    for row in section.rows:
        cells = [_cell(one, wide) for one in row.found.values()]
        table.add_row(row.name, *cells, *([_goal(row, wide)] if goals else []))
    return table


def _cell(found: Interval, wide: bool) -> str:
    between = f"{found.low:.1f}–{found.high:.1f}"
    return f"{found.mean:.1f} \\[{between}]" if wide else f"{found.mean:.1f}\n{between}"


def _goal(row: Row, wide: bool) -> str:
    if row.goal is None:
        return ""
    verdict = report.verdict(row.found["goat"].mean >= row.goal)
    return f"≥ {row.goal:g}{' ' if wide else chr(10)}{verdict}"


def _times_taken(outcome: Outcome, name: str) -> Table:
    found: dict[str, Any] = document(outcome, name)
    table = Table(show_header=False, box=None)
    for part, taken in found["latency_ms"].items():
        table.add_row(f"{part}, p50 / p95", f"{taken['p50']:.1f} / {taken['p95']:.1f} ms")
    if found["ingest_per_s"] is not None:
        table.add_row("archived and embedded", f"{found['ingest_per_s']:.0f} turns/s")
    return table
