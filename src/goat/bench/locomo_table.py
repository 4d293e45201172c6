"""The result of the LoCoMo bench as tables and as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from goat.bench.locomo import CUTS, SYSTEMS, Asked, Outcome, document, sessions_of, times
from goat.bench.report import machine
from goat.bench.score import any_at, frac_at, interval

NAMES = {"goat": "GOAT", "bm25": "BM25", "embedder": "embedder", "rrf": "BM25 + embedder, RRF"}
CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop", "5": "adversarial"}


def samples_of(outcome: Outcome) -> int:
    """How many conversations were asked."""
    return len({id(one.sessions) for one in outcome.asked})


def write(path: Path, outcome: Outcome, name: str) -> None:
    """Write the JSON document."""
    text = json.dumps(document(outcome, name, samples_of(outcome)), ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def show(console: Console, outcome: Outcome, name: str) -> None:
    """Print the tables, shares in percent, 95 % bootstrap intervals in brackets."""
    console.print(_turns(outcome, name))
    console.print(_sessions(outcome))
    console.print(_by_category(outcome))
    if (found := times(outcome.asked))["questions"]:
        console.print(_times(found))
    console.print(_rest(outcome, name))


def _turns(outcome: Outcome, name: str) -> Table:
    table = Table(
        title=f"{name}: evidence turns found, any / share, % (n = {len(outcome.asked)})", title_justify="left"
    )
    table.add_column("")
    for k in CUTS:
        table.add_column(f"@{k}", justify="right")
    for system in SYSTEMS:
        cells = []
        for k in CUTS:
            lists = [(one.ranked[system], one.question.evidence) for one in outcome.asked]
            found = interval([any_at(ranked, gold, k) for ranked, gold in lists])
            share = interval([frac_at(ranked, gold, k) for ranked, gold in lists])
            ends = f" \\[{found.low:.1%}–{found.high:.1%}]".replace("%", "") if k == 10 else ""
            cells.append(f"{found.mean * 100:.1f} / {share.mean * 100:.1f}{ends}")
        table.add_row(NAMES[system], *cells)
    return table


def _sessions(outcome: Outcome) -> Table:
    table = Table(title="evidence sessions found, any / share, %", title_justify="left")
    table.add_column("")
    for k in (1, 5, 10):
        table.add_column(f"@{k}", justify="right")
    for system in SYSTEMS:
        lists = [sessions_of(one, system) for one in outcome.asked]
        cells = [f"{_percent(any_at, lists, k)} / {_percent(frac_at, lists, k)}" for k in (1, 5, 10)]
        table.add_row(NAMES[system], *cells)
    return table


def _by_category(outcome: Outcome) -> Table:
    table = Table(title="by category, turns @10, any / share, %", title_justify="left")
    for title in ("", "n", *(NAMES[system] for system in SYSTEMS)):
        table.add_column(title, justify="left" if not title else "right")
    groups: dict[str, list[Asked]] = {}
    for one in outcome.asked:
        groups.setdefault(one.question.category, []).append(one)
    for category, asked in sorted(groups.items()):
        cells = []
        for system in SYSTEMS:
            lists = [(one.ranked[system], one.question.evidence) for one in asked]
            cells.append(f"{_percent(any_at, lists, 10)} / {_percent(frac_at, lists, 10)}")
        table.add_row(CATEGORIES.get(category, category), str(len(asked)), *cells)
    return table


def _times(found: Mapping[str, Any]) -> Table:
    title = f"questions that name a month or a day, any / share, % (n = {found['questions']})"
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for k in CUTS:
        table.add_column(f"@{k}", justify="right")
    for name, which in (("times understood", "with"), ("not understood", "without")):
        turn = found[which]["turn"]
        table.add_row(name, *(f"{turn['any'][str(k)]:.1%} / {turn['frac'][str(k)]:.1%}" for k in CUTS))
    return table


def _rest(outcome: Outcome, name: str) -> Table:
    found = document(outcome, name, samples_of(outcome))
    goat, latency = found["results"]["goat"], found["latency_ms"]
    table = Table(show_header=False, box=None, caption=machine(), caption_justify="left")
    prompt = goat["in_prompt"]
    table.add_row("evidence inside the assembled prompt", f"{prompt['recall']:.1%}")
    table.add_row("prompt tokens, mean / p95", f"{prompt['tokens_mean']:,.0f} / {prompt['tokens_p95']:,.0f}")
    table.add_row("abstention AUROC, category 5 as negatives", f"{goat['abstention_auroc']:.3f}")
    for part in ("embed", "reflex", "pipeline"):
        table.add_row(f"{part}, p50 / p95", f"{latency[part]['p50']:.1f} / {latency[part]['p95']:.1f} ms")
    table.add_row("archived and embedded", f"{found['ingest_per_s']:.0f} turns/s")
    return table


def _percent(measure, lists, k: int) -> str:  # type: ignore[no-untyped-def]
    return f"{100 * sum(measure(ranked, gold, k) for ranked, gold in lists) / max(len(lists), 1):.1f}"
