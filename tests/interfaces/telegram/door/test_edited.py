"""Edits of what waits, of what is being answered and of a part of something longer, as the screen shows them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from goat.adapters.inbox_memory import MemoryInbox
from goat.records.models import ModelRequest
from goat.testing.bot_api import FakeBotApi, Person
from goat.testing.clock import FakeClock

Bots = Callable[..., AbstractAsyncContextManager[Any]]
JPEG = b"\xff\xd8\xff\xe0" + bytes(2044)


@pytest.fixture
def ana(api: FakeBotApi) -> Person:
    return api.person("Ana")


class Slow:
    """A model whose answer to the words `slow` waits; of others it says how they begin and end."""

    def __init__(self, bot: Any, slow: str = "slow") -> None:
        self.reached, self.go = asyncio.Event(), asyncio.Event()
        self._slow = slow
        bot.model.answer = self

    async def __call__(self, request: ModelRequest) -> str:
        """Answer."""
        words = request.messages[-1].content
        if words.endswith(self._slow) and not self.reached.is_set():
            self.reached.set()
            await self.go.wait()
        return f"{words[:20]} … {len(words)} … {words[-20:]}" if len(words) > 100 else f"You said: {words}"


def paste(end: str) -> str:
    """A text of two messages."""
    return "A long report.\n" + 400 * "a line of it\n" + end


def brief(text: str) -> str:
    """What the model says of a long text."""
    return f"{text[:20]} … {len(text)} … {text[-20:]}"


@pytest.mark.parametrize("during_turn", ["steer", "queue"])
async def test_telegram_a13_an_edit_of_what_waits_takes_its_place_and_is_answered_once(
    bots: Bots, api: FakeBotApi, ana: Person, during_turn: str
) -> None:
    async with bots(api, during_turn=during_turn) as bot:
        model = Slow(bot)
        ana.says("slow")
        await asyncio.wait_for(model.reached.wait(), 60)
        message = ana.says("capital of Frnace?")
        await bot.until(lambda: not api.waiting)
        ana.edits(message, "capital of Framce?")
        await bot.until(lambda: not api.waiting)
        ana.edits(message, "capital of France?")
        await bot.until(lambda: not api.waiting)
        model.go.set()
        await bot.idle()
        assert api.screen(ana).answers == ["You said: slow", "You said: capital of France?"]


async def test_telegram_a13_an_edit_of_what_waits_outlives_the_process(
    bots: Bots, api: FakeBotApi, ana: Person
) -> None:
    kept = {"inbox": MemoryInbox(FakeClock())}
    async with bots(api, during_turn="queue", **kept) as bot:
        model = Slow(bot)
        ana.says("slow")
        await asyncio.wait_for(model.reached.wait(), 60)
        message = ana.says("capital of Frnace?")
        await bot.until(lambda: not api.waiting)
        ana.edits(message, "capital of France?")
        await bot.until(lambda: not api.waiting)
        await bot.end()
    async with bots(api, during_turn="queue", **kept) as bot:
        await bot.until(lambda: len(api.screen(ana).answers) == 2)
        await bot.idle()
        assert api.screen(ana).answers == ["You said: slow", "You said: capital of France?"]


async def test_telegram_a13_an_edit_of_a_part_that_waits_is_one_of_the_whole(
    bots: Bots, api: FakeBotApi, ana: Person
) -> None:
    async with bots(api, during_turn="queue") as bot:
        model = Slow(bot)
        ana.says("slow")
        await asyncio.wait_for(model.reached.wait(), 60)
        first, second = ana.pastes(paste("the ned"))
        ana.says("thanks")
        await bot.until(lambda: not api.waiting)
        ana.edits(second, second.text.replace("ned", "end"))
        await bot.until(lambda: not api.waiting)
        ana.edits(first, first.text.replace("A long", "The long"))
        await bot.until(lambda: not api.waiting)
        model.go.set()
        await bot.idle()
        whole = paste("the end").replace("A long", "The long")
        assert api.screen(ana).answers == ["You said: slow", brief(whole), "You said: thanks"]


async def test_telegram_a13_an_edit_of_a_part_that_is_being_answered_is_one_of_the_whole(
    bots: Bots, api: FakeBotApi, ana: Person
) -> None:
    async with bots(api) as bot:
        model = Slow(bot, "the ned")
        _, second = ana.pastes(paste("the ned"))
        await asyncio.wait_for(model.reached.wait(), 60)
        ana.edits(second, second.text.replace("ned", "end"))
        (answer,) = await api.answers(ana, 1, 60)
        await bot.idle()
        assert answer.endswith(paste("the end")[-20:])
        assert bot.model.asked().endswith(f"\n{paste('the end')}")
        assert len(api.screen(ana).answers) == 1


async def test_telegram_a13_an_edit_of_a_part_that_was_answered_is_one_of_the_whole(
    bots: Bots, api: FakeBotApi, ana: Person
) -> None:
    async with bots(api) as bot:
        Slow(bot)
        first, second = ana.pastes(paste("the ned"))
        await api.answers(ana, 1, 60)
        for changed, old, new in ((second, "ned", "end"), (first, "A long report", "Short")):
            ana.edits(changed, changed.text.replace(old, new))
            await api.answers(ana, len(api.screen(ana).answers) + 1, 60)
        await bot.idle()
        whole = paste("the end").replace("A long report", "Short")
        assert bot.model.asked().endswith(f"\n> the end\n{whole}")
        assert api.screen(ana).answers[0] == brief(paste("the ned"))
        assert len(api.screen(ana).answers) == 3


async def test_telegram_a13_the_caption_of_an_album_is_edited_with_all_its_pictures(
    bots: Bots, api: FakeBotApi, ana: Person
) -> None:
    crew = api.group("Crew", ana)
    async with bots(api, groups=(str(crew.id),)) as bot:
        Slow(bot)
        for place in (ana, ana.at(crew)):
            first, *_ = place.sends_album([JPEG] * 3, caption="@goat_bot my baot")
            await api.answers(place, 1, 60)
            place.edits(first, "@goat_bot my boat")
            await api.answers(place, 2, 60)
            await bot.idle()
            assert "my boat\n[Photo" in bot.model.asked()
            assert bot.model.asked().count("[Photo") == 3
            assert len(api.screen(place).answers) == 2


async def test_telegram_a13_a_later_part_in_a_group_is_edited_though_it_does_not_name_the_bot(
    bots: Bots, api: FakeBotApi, ana: Person
) -> None:
    crew = api.group("Crew", ana)
    async with bots(api, groups=(str(crew.id),)) as bot:
        Slow(bot)
        _, second = ana.at(crew).pastes(f"@goat_bot {paste('the ned')}")
        await api.answers(crew, 1, 60)
        ana.at(crew).edits(second, second.text.replace("ned", "end"))
        await api.answers(crew, 2, 60)
        await bot.idle()
        assert bot.model.asked().endswith(f"@goat_bot {paste('the end')}")
        assert len(api.screen(crew).answers) == 2


async def test_telegram_c1_with_interrupt_only_what_the_asker_means_for_the_bot_ends_the_answer(
    bots: Bots, api: FakeBotApi, ana: Person
) -> None:
    ben = api.person("Ben")
    crew = api.group("Crew", ana, ben)
    settings = {"groups": (str(crew.id),), "guests": (str(ben.id),), "during_turn": "interrupt"}
    async with bots(api, **settings) as bot:
        model = Slow(bot)
        ana.at(crew).says("@goat_bot slow")
        await asyncio.wait_for(model.reached.wait(), 60)
        ben.at(crew).sends_album([JPEG] * 2, caption="holiday pictures, not for bots")
        ana.at(crew).sends_album([JPEG] * 2, caption="mine, not for bots either")
        ben.at(crew).says("@goat_bot hi")
        await bot.until(lambda: not api.waiting)
        assert api.screen(crew).answers == []
        model.go.set()
        await bot.idle()
        assert api.screen(crew).answers == ["You said: Ana: @goat_bot slow", "You said: Ben: @goat_bot hi"]
