"""`goat bench scale`: the reflex over large archives of made-up messages with drawn vectors."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from goat.app import open_app
from goat.bench.report import Figure
from goat.bench.speed import fill, reflexes
from goat.records.turns import Notice
from goat.settings import Settings

GOALS_MS = {100_000: (15.0, 25.0), 1_000_000: (100.0, 130.0)}
"""The goals of the median and of the 95th percentile, without the embedding of the query."""

Say = Callable[[str], None]


async def scale(sizes: list[int], say: Say) -> list[Figure]:
    """Measure at every size in an archive of its own; sizes without a goal have none."""
    figures: list[Figure] = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="goat-bench-") as folder:
            async with open_app(Settings(), Path(folder), _quiet) as app:
                say(f"filling an archive with {size:,} messages")
                began = perf_counter()
                await fill(app, size)
                took = perf_counter() - began
                say("asking it")
                figures += await reflexes(app, size, *GOALS_MS.get(size, (None, None)))
        figures.append(Figure(f"archived and indexed at {size:,}", size / took, "messages/s"))
    return figures


def run(million: bool, say: Say) -> list[Figure]:
    """Run the bench at 100,000 messages, and at 1,000,000 too when asked."""
    return asyncio.run(scale([100_000, 1_000_000] if million else [100_000], say))


def _quiet(notice: Notice) -> None:
    """A bench shows figures only."""
