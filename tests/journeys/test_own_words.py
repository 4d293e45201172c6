"""Asked with its own words, an episode comes back first and byte-equal."""

from __future__ import annotations

from pathlib import Path

from goat.app import open_app
from goat.bench.corpus import episodes
from goat.records.turns import Notice
from goat.retrieval.pipeline import SEARCH
from goat.settings import Settings

OWNER = "admin"
COUNT = 1000


def _quiet(notice: Notice) -> None:
    return


async def test_a_thousand_random_episodes_come_back_first_and_byte_equal(tmp_path: Path) -> None:
    made = episodes(COUNT, OWNER, seed=7)
    assert len({episode.text for episode in made}) == COUNT
    assert min(len(episode.text.split()) for episode in made) >= 5
    async with open_app(Settings(), tmp_path, _quiet) as app:
        await app.memory.archive.append(made)
        now = app.backends.clock.now()
        missed = []
        for episode in made:
            query = app.memory.query(OWNER, episode.text, now)
            recall = await app.memory.recall(query, SEARCH)
            if not recall.results or recall.results[0].episode.text != episode.text:
                missed.append(episode.text)
    assert missed == []
