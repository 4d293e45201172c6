"""A stop does not wait for vectors of which an import left thousands to be made."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from goat.app import App
from goat.records.episodes import NewEpisode, Role, Span
from goat.records.search import Floats
from goat.testing.app import memory_app

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


class Gated:
    """An embedder that embeds a batch only when it is let to."""

    name = "gated"
    dimensions = 2

    def __init__(self) -> None:
        self.gate = asyncio.Semaphore(0)
        self.asked = 0
        self.asked_again = asyncio.Event()

    async def embed_query(self, text: str) -> Floats:
        """Never held up."""
        return np.array([1, 0], np.float32)

    async def embed_passages(self, texts: Sequence[str]) -> list[Floats]:
        """Waits for the gate."""
        self.asked += 1
        if self.asked == 2:
            self.asked_again.set()
        await self.gate.acquire()
        return [np.array([0.6, 0.8], np.float32) for _ in texts]


async def filled(app: App, count: int) -> None:
    await app.memory.archive.append(
        [NewEpisode("ana", "c", Role.USER, f"m{n}", NOON, f"x{n}", passages=(Span(0, 2),)) for n in range(count)]
    )


async def embedded(app: App) -> int:
    return (await app.backends.journal.counts("ana", "gated")).embedded


async def test_embedding_that_takes_long_is_left_and_goes_on_where_it_stood() -> None:
    embedder = Gated()
    async with memory_app(embedder=embedder) as app:
        await filled(app, 40)
        app.memory.archive.follow_meaning()
        embedder.gate.release()
        await asyncio.wait_for(embedder.asked_again.wait(), 30)
        app.memory.archive.leave_meaning(0)
        await asyncio.wait_for(app.settled(), 30)
        kept = await embedded(app)
        assert 0 < kept < 40
        for _ in range(10):
            embedder.gate.release()
        app.memory.archive.follow_meaning()
        await asyncio.wait_for(app.settled(), 30)
        assert await embedded(app) == 40
        assert embedder.asked == 4  # the batch that was left is the only one that was asked for again


async def test_the_few_vectors_of_a_turn_are_waited_for() -> None:
    embedder = Gated()
    async with memory_app(embedder=embedder) as app:
        await filled(app, 2)
        app.memory.archive.follow_meaning()
        app.memory.archive.leave_meaning(30)
        embedder.gate.release()
        await asyncio.wait_for(app.settled(), 30)
        assert await embedded(app) == 2


async def test_leaving_when_nothing_is_embedded_is_fine() -> None:
    async with memory_app() as app:
        app.memory.archive.leave_meaning(0)
        await app.settled()
