"""`goat bench speed`: the reflex by part, the times of a message, the start, and the memory that it takes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from random import Random
from time import perf_counter

import numpy as np

from goat.app import App, open_app
from goat.bench.corpus import sentence, stream
from goat.bench.report import Figure, percentile
from goat.records.search import Floats, VectorRow
from goat.records.turns import Notice
from goat.retrieval.pipeline import REFLEX
from goat.retrieval.times import windows_of
from goat.settings import Settings

OWNER = "bench"
SIZES = (1_000, 10_000)
QUERIES = 200
BATCH = 4_096
REFLEX_GOAL_MS = 10.0
START_GOAL_S = 3.0
TIMES_GOAL_MS = 0.5
MESSAGE_CHARACTERS = 200
TIMES = (
    "yesterday at 3pm",
    "on 9 July",
    "last week",
    "ieri la prânz",
    "letzten Dienstag",
    "12.05.2024",
    "in April",
    "",
)
"""Every eighth message names no time."""

Say = Callable[[str], None]


async def speed(say: Say) -> list[Figure]:
    """Measure on archives of made-up messages, with drawn vectors for the bulk and the real embedder for queries."""
    say("reading the times of messages")
    figures = times()
    for size in SIZES:
        with tempfile.TemporaryDirectory(prefix="goat-bench-") as folder:
            home = Path(folder)
            async with open_app(Settings(), home, _quiet) as app:
                say(f"filling an archive with {size:,} messages")
                await fill(app, size)
                say(f"asking it {QUERIES} questions")
                figures += await reflexes(app, size, None, REFLEX_GOAL_MS if size == max(SIZES) else None)
            say("starting it")
            figures += _start(home, size)
    return figures


def times() -> list[Figure]:
    """How long it takes to find the times that messages of 200 characters name."""
    random = Random(3)
    now = datetime(2026, 7, 15, 17, 22, tzinfo=UTC)
    took: list[float] = []
    for number in range(10 * QUERIES + 10):
        named = TIMES[number % len(TIMES)]
        filler = f"{sentence(random, random.randint(1, 20))} {named} {sentence(random, 60)}"
        began = perf_counter()
        windows_of(filler[:MESSAGE_CHARACTERS], now, UTC)
        if number >= 10:  # the first one reads the grammars
            took.append((perf_counter() - began) * 1000)
    what = f"times of a message of {MESSAGE_CHARACTERS} characters"
    return [
        Figure(f"{what}, p50", percentile(took, 50), "ms"),
        Figure(f"{what}, p95", percentile(took, 95), "ms", TIMES_GOAL_MS),
    ]


async def fill(app: App, size: int) -> None:
    """Archive made-up messages with drawn vectors."""
    draw = _Vectors(app.backends.embedder.dimensions)
    made = stream(size, OWNER)
    archive = app.memory.archive
    journal, model, cursor = app.backends.journal, app.backends.embedder.name, 0
    while batch := list(islice(made, BATCH)):
        await journal.append(batch, [], {})
        await archive.follow_words(batch=BATCH)
    while changes := await journal.changes(cursor, BATCH):
        rows = [
            VectorRow(c.owner, p.ord, c.episode_id, c.episode.chat, c.episode.at, draw.one())
            for c in changes
            if c.episode
            for p in c.passages
        ]
        cursor = changes[-1].seq
        await app.backends.embeddings.put(model, rows, cursor)
    await archive.follow_vectors(BATCH)


class _Vectors:
    """Unit vectors around a common direction, as those of an e5 model are: their cosines lie about 0.8."""

    def __init__(self, dimensions: int) -> None:
        self._random = np.random.default_rng(1)
        self._centre = self._random.standard_normal(dimensions)
        self._centre /= np.linalg.norm(self._centre)

    def one(self) -> Floats:
        """A new vector."""
        noise = self._random.standard_normal(len(self._centre))
        vector = self._centre + 0.5 * noise / np.linalg.norm(noise)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


async def reflexes(app: App, size: int, p50: float | None, p95: float | None) -> list[Figure]:
    """The embedding of a query and the reflex without it, by stage; `p50` and `p95` are its goals in milliseconds."""
    random = Random(2)
    clock = app.backends.clock
    embedding: list[float] = []
    total: list[float] = []
    stages: dict[str, list[float]] = {}
    for number in range(QUERIES + 10):
        text = sentence(random, random.randint(6, 12))
        began = perf_counter()
        vector = await app.backends.embedder.embed_query(text)
        embedded = perf_counter()
        entities = await app.memory.entities(text)
        query = app.memory.query(OWNER, text, clock.now(), vector, entities.value)
        recall = await app.memory.recall(query, REFLEX)
        ended = perf_counter()
        if number < 10:
            continue  # the first queries page the index in
        embedding.append((embedded - began) * 1000)
        total.append((ended - embedded) * 1000)
        for stage, took in recall.stage_ms.items():
            stages.setdefault(stage, []).append(took)
    at = f"at {size:,}"
    figures = [Figure(f"embed a query {at}, p95", percentile(embedding, 95), "ms")]
    for stage, times in stages.items():
        figures.append(Figure(f"reflex · {stage} {at}, p50", percentile(times, 50), "ms"))
        figures.append(Figure(f"reflex · {stage} {at}, p95", percentile(times, 95), "ms"))
    figures.append(Figure(f"reflex without embedding {at}, p50", percentile(total, 50), "ms", p50))
    figures.append(Figure(f"reflex without embedding {at}, p95", percentile(total, 95), "ms", p95))
    return figures


def _start(home: Path, size: int) -> list[Figure]:
    """The second of two whole processes that open the home, answer nothing and end."""
    environ = {**os.environ, "GOAT_HOME": str(home), "GOAT_MODEL__PROVIDER": "offline"}
    command = [sys.executable, "-m", "goat", "chat", "--owner", OWNER]
    took = 0.0
    for _ in range(2):
        began = perf_counter()
        subprocess.run(command, env=environ, stdin=subprocess.DEVNULL, check=True, capture_output=True)
        took = perf_counter() - began
    goal = START_GOAL_S if size == max(SIZES) else None
    figures = [Figure(f"start to prompt and end at {size:,}", took, "s", goal)]
    if peak := _children_peak_mib():
        figures.append(Figure(f"peak memory of a start at {size:,}", peak, "MiB"))
    return figures


def _children_peak_mib() -> float:
    """The largest child so far; 0 where the system does not tell."""
    if sys.platform == "win32":
        return 0.0
    import resource

    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _quiet(notice: Notice) -> None:
    """A bench shows figures only."""


def run(say: Say) -> list[Figure]:
    """Run the bench."""
    return asyncio.run(speed(say))
