"""Rendered messages as Telegram would show them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from goat.interfaces.telegram.chunk import Chunk
from goat.testing.bot_api import FormattedText, TextEntity, message_text
from goat.testing.bot_api.entities import settled, with_detected

Shown = Callable[[Chunk], FormattedText]


@pytest.fixture(scope="session")
def shown() -> Shown:
    """Sends a chunk through the fake's own checks, with all entities that Telegram would make of it.

    Fails when Telegram would refuse the chunk, change its text, or leave out entities.
    """

    def show(chunk: Chunk) -> FormattedText:
        entities = [TextEntity(one.type, one.offset, one.length, one.url, one.language) for one in chunk.entities]
        seen = message_text(chunk.text, entities)
        assert seen.text == chunk.text
        everything = with_detected(seen.text, settled(entities))
        assert len(everything) <= 100
        return FormattedText(seen.text, tuple(everything))

    return show
