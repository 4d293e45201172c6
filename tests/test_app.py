"""What a start makes ready, and what it says of what it cannot."""

from __future__ import annotations

from pathlib import Path

from goat.app import open_app
from goat.errors import BackendUnavailable
from goat.records.search import Floats
from goat.records.turns import Notice
from goat.settings import ModelSettings, Settings
from goat.testing.app import memory_app, say
from goat.testing.observer import KeepingObserver

OFFLINE = Settings(model=ModelSettings(provider="offline"))


class Unloadable:
    """An embedder whose model cannot be loaded."""

    name, dimensions = "unloadable", 384

    async def embed_query(self, text: str) -> Floats:
        raise BackendUnavailable("Embedder", self.name, "the file is damaged")

    embed_passages = embed_query


async def test_a59_a60_the_one_model_of_a_search_has_run_before_the_first_message(tmp_path: Path) -> None:
    notices: list[Notice] = []
    async with open_app(OFFLINE, tmp_path, notices.append) as app:
        await app.settled()
        assert app.backends.embedder.counts().queries_done == 1  # type: ignore[attr-defined]
        assert (app.backends.reranker.name, app.backends.entities.name) == ("none", "rules")
    assert [notice for notice in notices if notice.subject == "the embedding model"] == []


async def test_a61_a_model_that_cannot_be_loaded_is_told_and_the_turn_is_answered() -> None:
    observer = KeepingObserver()
    async with memory_app(embedder=Unloadable(), observer=observer) as app:
        app.wake()
        await app.settled()
        told = [notice for notice in observer.notices if notice.subject == "the embedding model"]
        result = await say(app, "good morning")
    assert len(told) == 1
    assert "the file is damaged" in told[0].text
    assert result.text == "All right."
