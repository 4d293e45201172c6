"""How far a long job is: a bar with rate and time left on a terminal, nothing in a pipe."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

Told: TypeAlias = Callable[[int, int], None]
"""Told how much of a phase's total is done, and how many messages that were."""


class _Rate(ProgressColumn):
    """Messages a second since the phase began."""

    def render(self, task: Task) -> Text:
        """As `1,234/s`, empty in the first moments."""
        elapsed = task.elapsed or 0.0
        return Text(f"{task.fields['count'] / elapsed:,.0f}/s" if elapsed >= 0.5 else "", style="progress.data.speed")


class Phases:
    """A bar for each phase of a job, on the console where that is a terminal."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description:>9}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TextColumn("{task.fields[count]:,} messages"),
            _Rate(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, name: str, total: int) -> Told:
        """Start a phase of `total` units."""
        task = self._progress.add_task(name, total=total, count=0)

        def told(done: int, count: int) -> None:
            self._progress.update(task, completed=done, count=count)

        return told
