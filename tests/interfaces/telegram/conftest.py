"""Rendered messages as Telegram would show them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from goat.interfaces.telegram.chunk import Chunk
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.message import Me, Message, read_update
from goat.testing.bot_api import FakeBotApi, FormattedText, TextEntity, message_text
from goat.testing.bot_api.entities import settled, with_detected

Shown = Callable[[Chunk], FormattedText]
Heard = Callable[[FakeBotApi], list[Message]]


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


@pytest.fixture(scope="session")
def heard() -> Heard:
    """Gives the messages that wait for a bot, as the door reads them."""

    def read(api: FakeBotApi) -> list[Message]:
        me = Me(api.bot.id, str(api.bot.username), ("stop", "help"))
        records = [read_update(update.body, me) for update in api.waiting]
        return [one for one in records if isinstance(one, Message)]

    return read


@pytest.fixture
async def api() -> AsyncIterator[FakeBotApi]:
    """A Bot API that is reached over HTTP."""
    async with FakeBotApi() as server:
        yield server


@pytest.fixture
async def client(api: FakeBotApi) -> AsyncIterator[TelegramClient]:
    """The bot's client."""
    async with TelegramClient(api.token, api=api.base_url, files=api.base_file_url) as one:
        yield one
