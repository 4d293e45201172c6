"""Figures, their goals, and how they are shown: a table for people, a document for programs."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value. `goal` is the most it may be, or the least where `more_is_better`; None where there is none."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    more_is_better: bool = False

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
    table.add_column("goal", justify="right")
    table.add_column("")
    for figure in figures:
        relation = "≥" if figure.more_is_better else "≤"
        goal = "" if figure.goal is None else f"{relation} {figure.goal:g} {figure.unit}"
        verdict = {None: "", True: "[green]met[/green]", False: "[red]missed[/red]"}[figure.met]
        table.add_row(figure.name, f"{figure.value:,.2f} {figure.unit}", goal, verdict)
    console.print(table)


def write_json(path: Path, bench: str, figures: Sequence[Figure]) -> None:
    """Write the figures as one JSON document."""
    rows = [{"name": f.name, "value": round(f.value, 4), "unit": f.unit, "goal": f.goal, "met": f.met} for f in figures]
    document = {"bench": bench, "machine": machine(), "figures": rows}
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
