"""Figures, their goals, and how they are shown: a table for people, a document for programs."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value. `goal` is the most it may be, or the least where `more_is_better`; None where there is none.

    `interval` holds the ends of its 95 % interval where one was made; `digits` are shown after the point.
    """

    name: str
    value: float
    unit: str
    goal: float | None = None
    more_is_better: bool = False
    interval: tuple[float, float] | None = None
    digits: int = 2

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached, None without a goal."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.more_is_better else self.value <= self.goal


def machine() -> str:
    """The machine in one line: processor, cores, memory, system, Python."""
    memory = ""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = f", {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"
    version = ".".join(map(str, sys.version_info[:3]))
    return f"{_processor()}, {os.cpu_count()} cores{memory}, {platform.system()}, Python {version}"


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # only Linux has it
    return platform.processor() or platform.machine()


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0..100) percent lie."""
    return float(np.percentile(values, share))


def show(console: Console, title: str, figures: Sequence[Figure]) -> None:
    """Print a table; a missed goal is printed as missed."""
    table = Table(title=title, caption=machine(), title_justify="left", caption_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    if any(figure.interval for figure in figures):
        table.add_column("95 % interval", justify="right")
    table.add_column("goal", justify="right")
    table.add_column("")
    for figure in figures:
        relation = "≥" if figure.more_is_better else "≤"
        goal = "" if figure.goal is None else f"{relation} {figure.goal:g} {figure.unit}"
        cells = [figure.name, f"{figure.value:,.{figure.digits}f} {figure.unit}"]
        if len(table.columns) > len(("figure", "value", "goal", "verdict")):
            cells.append(" – ".join(f"{end:,.{figure.digits}f}" for end in figure.interval or ()))
        table.add_row(*cells, goal, verdict(figure.met))
    console.print(table)


def verdict(met: bool | None) -> str:
    """Whether a goal is reached, as it is shown."""
    return {None: "", True: "[green]met[/green]", False: "[red]missed[/red]"}[met]


def rows(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """The figures as a document holds them; an interval stands there where one was made, and null for no number."""
    shown = []
    for f in figures:
        value = round(f.value, 4) if isfinite(f.value) else None
        row = {"name": f.name, "value": value, "unit": f.unit, "goal": f.goal, "met": f.met}
        shown.append(row if f.interval is None else {**row, "interval": [round(end, 4) for end in f.interval]})
    return shown


def write_json(path: Path, bench: str, figures: Sequence[Figure]) -> None:
    """Write the figures as one JSON document."""
    document = {"bench": bench, "machine": machine(), "figures": rows(figures)}
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
