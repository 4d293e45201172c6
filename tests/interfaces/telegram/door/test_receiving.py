"""A whole bot whose receiving goes wrong: what stands on the screen when it is over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from goat.adapters.clock_system import SystemClock
from goat.adapters.inbox_memory import MemoryAdmissions, MemoryInbox
from goat.adapters.journal_memory import MemoryArchive, MemoryJournal
from goat.adapters.outbox_memory import MemoryOutbox
from goat.testing.bot_api import FakeBotApi, Fault

FASTER = 50
CONFLICT = Fault.error(409, "Conflict: terminated by other getUpdates request")


class Hurried(SystemClock):
    """The machine's clock, on which everything that is waited for comes sooner."""

    def __init__(self) -> None:
        super().__init__("UTC")

    def monotonic(self) -> float:
        """The seconds of the hurry."""
        return super().monotonic() * FASTER

    async def sleep(self, seconds: float) -> None:
        """Wait less."""
        await asyncio.sleep(seconds / FASTER)


@pytest.mark.parametrize("conflicts", [3, 8], ids=["after a restart", "lasting"])
async def test_telegram_a5_what_was_said_while_another_polled_is_answered_once(
    bots: Any, api: FakeBotApi, conflicts: int
) -> None:
    ana = api.person("Ana")
    api.fails("getUpdates", CONFLICT, calls=conflicts)
    async with bots(api, clock=Hurried(), poll_seconds=1) as bot:
        ana.says("hello")
        await api.answers(ana, 1, 60)
        await bot.idle()
        told = [notice for notice in bot.notices if "conflict" in notice]
    assert api.screen(ana).answers == ["You said: hello"]
    assert bool(told) == (conflicts > 3)


async def test_telegram_a6_what_was_said_while_a_poll_hung_is_answered_once(bots: Any, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    api.fails("getUpdates", Fault.hang(), calls=2)
    async with bots(api, clock=Hurried(), poll_seconds=1) as bot:
        ana.says("hello")
        await api.answers(ana, 1, 60)
        await bot.idle()
        told = [notice for notice in bot.notices if "no call ended well for" in notice]
    assert api.screen(ana).answers == ["You said: hello"]
    assert told


FAULTS = {
    "502": Fault.page(502),
    "500 with a page": Fault.page(500, "<html>Internal Server Error</html>"),
    "200 with a page": Fault.page(200, "<html>hello</html>"),
    "reset": Fault.reset(),
    "cut short": Fault.cut_short(),
    "one 401": Fault.error(401, "Unauthorized"),
    "one 404": Fault.error(404, "Not Found"),
    "429": Fault.too_many(7),
}


async def test_telegram_a7_every_message_is_answered_once_whatever_the_polls_came_to(
    bots: Any, api: FakeBotApi
) -> None:
    ana = api.person("Ana")
    async with bots(api, clock=Hurried(), poll_seconds=1) as bot:
        for place, (name, fault) in enumerate(FAULTS.items()):
            before, calls = len(api.calls_of("getUpdates")), 1 if "one" in name else 2
            api.fails("getUpdates", fault, calls=calls)
            await api.until(lambda most=before + calls: len(api.calls_of("getUpdates")) > most)
            ana.says(name)
            await api.answers(ana, place + 1, 60)
        async with api.down():
            await bot.until(lambda: bot.status.state == "waiting")
        ana.says("no network")
        await api.answers(ana, len(FAULTS) + 1, 60)
        await bot.idle()
    assert api.screen(ana).answers == [f"You said: {name}" for name in (*FAULTS, "no network")]


async def test_telegram_a8_after_a_change_of_the_token_the_new_bot_answers(bots: Any) -> None:
    clock, archive = SystemClock("UTC"), MemoryArchive()
    stores = {
        "journal": MemoryJournal(archive, clock),
        "outbox": MemoryOutbox(archive.replies, clock),
        "inbox": MemoryInbox(clock),
        "admissions": MemoryAdmissions(),
    }
    async with FakeBotApi(first_update_id=900_000_000) as old:
        ana = old.person("Ana")
        async with bots(old, **stores) as bot:
            ana.says("hello")
            await old.answers(ana, 1, 60)
            await bot.idle()
    async with FakeBotApi("77:another-token-of-nothing", first_update_id=100) as new:
        ana = new.person("Ana")
        async with bots(new, **stores) as bot:
            ana.says("is this you?")
            await new.answers(ana, 1, 30)
            await bot.idle()
        assert new.screen(ana).answers == ["You said: is this you?"]


async def test_telegram_a16_bots_and_chats_are_answered_nowhere(bots: Any, api: FakeBotApi) -> None:
    ana, robot = api.person("Ana"), api.person("Robot", is_bot=True)
    crew, news = api.group("Crew", ana), api.channel("News")
    guests, groups = (str(robot.id),), (str(crew.id), str(news.id))
    async with bots(api, guests=guests, groups=groups) as bot:
        ana.at(crew).says("/allow@goat_bot everyone")
        await api.answers(crew, 1, 60)
        robot.at(crew).says("@goat_bot hello")
        ana.at(crew).says("@goat_bot as the group", sender_chat=crew.as_json())
        ana.at(crew).says("@goat_bot news", is_automatic_forward=True, sender_chat=news.as_json())
        written = ana.at(crew).says("@goat_bot from Ana")
        api.world.deliver(api.world.post(crew, api.bot, written.shown))
        ana.posts(news, "@goat_bot a post")
        await bot.idle()
    own, answer = api.screen(crew).answers[1:]
    assert own == "@goat_bot from Ana"
    assert answer.endswith("Ana: @goat_bot from Ana")
    assert api.screen(news).answers == api.screen(robot).answers == []
    assert len(bot.model.requests) == 1
