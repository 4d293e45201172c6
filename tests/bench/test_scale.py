"""The scale bench: an archive that is filled in bulk answers, and goals stand at their sizes only."""

from __future__ import annotations

from pathlib import Path

from goat.app import open_app
from goat.bench.corpus import episodes
from goat.bench.scale import GOALS_MS, scale
from goat.bench.speed import OWNER, fill
from goat.records.turns import Notice
from goat.settings import Settings


async def test_an_archive_filled_in_bulk_finds_its_messages_by_words_and_meaning(tmp_path: Path) -> None:
    notices: list[Notice] = []
    async with open_app(Settings(), tmp_path, notices.append) as app:
        await fill(app, 300)
        wanted = episodes(300, OWNER)[123].text
        recall = await app.memory.search(OWNER, wanted, app.backends.clock.now(), 5)
        vectors = await app.backends.vectors.cursor()
        assert await app.backends.lexical.cursor() == vectors == await app.backends.journal.head()
    assert recall.results[0].episode.text == wanted


async def test_goals_are_named_for_the_sizes_that_have_them() -> None:
    figures = {figure.name: figure for figure in await scale([200], lambda step: None)}
    assert figures["reflex without embedding at 200, p95"].goal is None
    assert figures["archived and indexed at 200"].value > 0
    assert GOALS_MS == {100_000: (15.0, 25.0), 1_000_000: (100.0, 130.0)}
