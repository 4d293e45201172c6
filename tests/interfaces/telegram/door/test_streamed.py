"""A whole bot that streams: what stands on the screen while the model writes, and in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from goat.records.models import ModelRequest, Reply
from goat.testing.bot_api import FakeBotApi

WORDS = "These are the words of an answer that is long enough to be shown before it is complete. "


class Writer:
    """A model that writes a long answer and waits in the middle of it until it may go on."""

    name = "writer"

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """The answer, in two pieces."""
        assert on_text is not None
        on_text(WORDS)
        await self.go_on.wait()
        on_text("The end.")
        return Reply(f"{WORDS}The end.", model=self.name)


async def test_an_answer_is_seen_while_it_is_written_and_then_stands_once(api: FakeBotApi, bots: Any) -> None:
    ana, model = api.person("Ana"), Writer()
    async with bots(api, model=model) as bot:
        ana.says("tell me")
        assert await api.answers(ana, timeout=30) == [WORDS.strip()]
        model.go_on.set()
        await bot.idle()
        assert api.screen(ana).answers == [f"{WORDS}The end."]
        assert len(api.calls_of("sendMessage")) == 1


async def test_telegram_b17_a_press_of_stop_for_a_draft_that_was_never_shown_changes_nothing(
    api: FakeBotApi, bots: Any
) -> None:
    ana, model = api.person("Ana"), Writer()
    async with bots(api, model=model) as bot:
        ana.says("tell me")
        await api.answers(ana, timeout=30)
        ana.presses_stop(77)
        await bot.until(lambda: not api.waiting)
        model.go_on.set()
        await bot.idle()
        ana.says("and again")
        await api.answers(ana, count=2, timeout=30)
        await bot.idle()
    assert api.screen(ana).answers == [f"{WORDS}The end."] * 2
