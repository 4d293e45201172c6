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
        assert ana.presses_stop(77) is None  # no drafts are shown, so such updates are not asked for
        api.world.updates.allowed = None
        number = ana.presses_stop(77)
        assert number is not None
        await bot.until(lambda: not api.waiting)
        taken = [one for one in await bot.app.backends.inbox.waiting(f"telegram:{api.bot.id}") if one.number == number]
        assert taken == []  # it was handled
        assert api.screen(ana).answers == [WORDS.strip()]
        model.go_on.set()
        await bot.idle()
        ana.says("and again")
        await api.answers(ana, count=2, timeout=30)
        await bot.idle()
    assert api.screen(ana).answers == [f"{WORDS}The end."] * 2


async def test_telegram_b28_an_address_in_an_answer_is_no_preview_at_any_moment(api: FakeBotApi, bots: Any) -> None:
    link = "https://goat.example.org/login?once=5"

    class Linking(Writer):
        async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
            """The words and an address, in two pieces."""
            said = await super().reply(request, lambda text: on_text(f"{link} {text}") if on_text else None)
            return Reply(f"{link} {said.text}", model=self.name)

    ana, model = api.person("Ana"), Linking()
    async with bots(api, model=model) as bot:
        ana.says("send me the link")
        assert await api.answers(ana, timeout=30) == [f"{link} {WORDS.strip()}"]
        model.go_on.set()
        await bot.idle()
    assert api.screen(ana).answers == [f"{link} {WORDS}The end."]
    shown = [*api.calls_of("sendMessage"), *api.calls_of("editMessageText")]
    assert len(shown) >= 2
    assert {call.params.get("link_preview_options") for call in shown} == {'{"is_disabled": true}'}
