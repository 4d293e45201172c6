"""`goat stats`."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from goat.cli.session import ConfigOption, HomeOption, JsonOption, consoles, read_settings
from goat.observability.analytics import MemoryAnalytics
from goat.observability.reader import read_lines


def stats(as_json: JsonOption = False, home: HomeOption = None, config: ConfigOption = None) -> None:
    """How the turns went: what served them, how long each stage took, what was lost. Read from the turn records."""
    loaded = read_settings(home, config)
    report = MemoryAnalytics(read_lines(loaded.home / "logs")).report()
    out, _ = consoles()
    if as_json:
        out.file.write(json.dumps(report, ensure_ascii=False, indent=2) + "\n")
        return
    _show(out, report)


def _show(out: Console, report: dict[str, Any]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in report.items():
        if name == "milliseconds":
            continue
        told = (
            ", ".join(f"{key} {count:,}" for key, count in value.items()) if isinstance(value, dict) else f"{value:,}"
        )
        table.add_row(name.replace("_", " "), told or "none")
    out.print(table)
    times = Table("milliseconds", "median", "p95", box=None, padding=(0, 2, 0, 0))
    for stage, spread in report["milliseconds"].items():
        times.add_row(stage, f"{spread['median']:,.1f}", f"{spread['p95']:,.1f}")
    out.print(times)
