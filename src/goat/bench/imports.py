"""`goat bench import`: messages a second, with and without their vectors, and the memory that it takes.

Each size runs in a process of its own, so that each peak is its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

from goat.app import App, open_app, open_history
from goat.bench.report import Figure
from goat.memory.importer import Aim, survey
from goat.memory.senders import choose_sides
from goat.records.turns import Notice
from goat.settings import Settings
from goat.testing.telegram_export import write_telegram_export

OWNER = "bench"
SIZES = (20_000, 200_000)
EMBEDDED = 512
"""Passages of which the rate of the embedder is taken."""

RATE_GOAL = 1_000.0
GROWTH_GOAL_MIB = 50.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """One import: messages, seconds of checking and of importing, messages and seconds of a repetition, and the peak
    of the process's memory (0 where the system does not tell). Then passages that were embedded, and their seconds."""

    messages: int
    passages: int
    checking: float
    importing: float
    repeating: float
    peak_mib: float
    embedded: int
    embedding: float

    @property
    def rate(self) -> float:
        """Messages a second without vectors, checking included."""
        return self.messages / (self.checking + self.importing)

    @property
    def rate_with_vectors(self) -> float:
        """Messages a second until the last vector is made, at the rate of the sample."""
        vectors = self.passages * self.embedding / self.embedded
        return self.messages / (self.checking + self.importing + vectors)


def run(say: Say, sizes: Sequence[int] = SIZES, sample: int = EMBEDDED) -> list[Figure]:
    """Import made-up Telegram archives of these sizes into new homes; embed `sample` passages of each."""
    figures: list[Figure] = []
    peaks: list[float] = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="goat-bench-") as folder:
            export = Path(folder) / "result.json"
            say(f"writing an export of {size:,} messages")
            write_telegram_export(export, size, seed=1, archive=True)
            say(f"importing {size:,} messages")
            measured = _in_a_child(export, Path(folder) / "home", sample)
        figures += _figures(measured, size)
        peaks.append(measured.peak_mib)
    if len(peaks) > 1 and all(peaks):
        between = f"{sizes[0]:,} to {sizes[-1]:,}"
        figures.append(Figure(f"growth of the peak from {between}", peaks[-1] - peaks[0], "MiB", GROWTH_GOAL_MIB))
    return figures


def _figures(measured: Measured, size: int) -> list[Figure]:
    at = f"at {size:,}"
    embedder = measured.embedded / measured.embedding
    figures = [
        Figure(f"import without vectors {at}", measured.rate, "messages/s", RATE_GOAL, more_is_better=True),
        Figure(f"· checking {at}", measured.messages / measured.checking, "messages/s"),
        Figure(f"· importing {at}", measured.messages / measured.importing, "messages/s"),
        Figure(f"the same again, nothing new {at}", measured.messages / measured.repeating, "messages/s"),
        Figure(f"embedder, from {measured.embedded:,} passages {at}", embedder, "passages/s"),
        Figure(f"import with vectors {at}, at that rate", measured.rate_with_vectors, "messages/s"),
    ]
    if measured.peak_mib:
        figures.append(Figure(f"peak memory of an import {at}", measured.peak_mib, "MiB"))
    return figures


def _in_a_child(export: Path, home: Path, sample: int) -> Measured:
    command = [sys.executable, "-m", "goat.bench.imports", str(export), str(home), str(sample)]
    told = subprocess.run(command, env=dict(os.environ), stdout=subprocess.PIPE, check=True)
    return Measured(**json.loads(told.stdout))


async def measure(export: Path, home: Path, sample: int) -> Measured:
    """Import a file into a new home in this process."""
    async with open_app(Settings(), home, _quiet, embed=False) as app:
        checking, importing = await _import(app, export)
        peak = _peak_mib()
        again = await _import(app, export)
        counts = await app.backends.journal.counts(OWNER, app.backends.embedder.name)
        embedded, embedding = await _embed_some(app, sample)
    return Measured(counts.episodes, counts.passages, checking, importing, sum(again), peak, embedded, embedding)


async def _import(app: App, export: Path) -> tuple[float, float]:
    """The seconds of the first reading and of the second."""
    source = open_history(export, app.settings)
    began = perf_counter()
    found = await survey(source, skip_bad=False)
    checked = perf_counter()
    await app.importer.run(source, Aim(OWNER, choose_sides(found.senders, export, None)), skip_bad=False)
    return checked - began, perf_counter() - checked


async def _embed_some(app: App, sample: int) -> tuple[int, float]:
    """How many passages were embedded in how many seconds; the model is loaded before."""
    texts = [
        change.episode.text[passage.span.start : passage.span.end]
        for change in await app.backends.journal.changes(0, 2 * sample)
        if change.episode
        for passage in change.passages
    ][:sample]
    await app.backends.embedder.embed_passages(texts[:16])
    began = perf_counter()
    await app.backends.embedder.embed_passages(texts)
    return len(texts), perf_counter() - began


def _peak_mib() -> float:
    """The most memory that this process has held; 0 where the system does not tell.

    Linux counts the parent's memory among that of `getrusage` until the program is replaced, so its own line is read.
    """
    if sys.platform == "win32":
        return 0.0
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return next((int(line.split()[1]) / 2**10 for line in lines if line.startswith("VmHWM:")), 0.0)
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _quiet(notice: Notice) -> None:
    """A bench shows figures only."""


if __name__ == "__main__":
    of_export, of_home, of_sample = sys.argv[1:]
    sys.stdout.write(json.dumps(asdict(asyncio.run(measure(Path(of_export), Path(of_home), int(of_sample))))))
