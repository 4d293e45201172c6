"""What comes right behind a command, a code or a question is handled for what it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from goat.interfaces.texts import texts_for
from goat.records.models import ModelRequest
from goat.testing.bot_api import FakeBotApi, Fault, Person

Bots = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.fixture
def ana(api: FakeBotApi) -> Person:
    return api.person("Ana")


async def hanging(bot: Any, person: Person, words: str = "think for ever") -> None:
    """Let a turn begin that ends only when somebody ends it."""
    reached = asyncio.Event()

    async def answer(request: ModelRequest) -> str:
        if request.messages[-1].content.endswith(words):
            reached.set()
            await asyncio.Event().wait()
        return f"You said: {request.messages[-1].content}"

    bot.model.answer = answer
    person.says(words)
    await asyncio.wait_for(reached.wait(), 60)


def private(person: Person) -> str:
    """What a stranger is told."""
    return SAY("access.private", number=str(person.id))


def asked(bot: Any) -> list[str]:
    """What the person said in the conversation that the model was shown last."""
    return [one.content for one in bot.model.requests[-1].messages if one.role == "user"]


SAY = texts_for("en")
IDLE, STOPPED, NEW = SAY("commands.nothing_runs"), SAY("commands.stopped"), SAY("commands.new")
WRONG, WELCOME, WELCOME_ADMIN = SAY("access.wrong_code"), SAY("access.welcome"), SAY("access.welcome_admin")


@pytest.mark.parametrize("during_turn", ["steer", "queue", "interrupt"])
@pytest.mark.parametrize("command", ["/stop", "/stop all"])
async def test_telegram_c3_what_comes_in_one_batch_behind_a_stop_is_answered(
    bots: Bots, api: FakeBotApi, ana: Person, command: str, during_turn: str
) -> None:
    async with bots(api, during_turn=during_turn) as bot:
        ana.says(command)
        ana.says("hello")
        await bot.idle()
        assert sorted(api.screen(ana).answers) == [IDLE, "You said: hello"]
        await hanging(bot, ana)
        ana.says(command)
        ana.says("hello again")
        await bot.idle()
        assert sorted(api.screen(ana).answers[2:]) == [STOPPED, "You said: hello again"]


async def test_telegram_c3_a_stop_drops_what_came_before_it_in_the_batch_and_nothing_else(
    bots: Bots, api: FakeBotApi, ana: Person
) -> None:
    async with bots(api, during_turn="queue") as bot:
        await hanging(bot, ana)
        for text in ("before", "/stop all", "behind"):
            ana.says(text)
        await bot.idle()
        assert sorted(api.screen(ana).answers) == [STOPPED, "You said: behind"]
        for text in ("at once taken back", "/stop", "and this"):
            ana.says(text)
        await bot.idle()
        assert sorted(api.screen(ana).answers[2:]) == [STOPPED, "You said: and this"]


@pytest.mark.parametrize("busy", [False, True])
async def test_telegram_c5_what_comes_in_one_batch_behind_new_is_answered_in_the_new_conversation(
    bots: Bots, api: FakeBotApi, ana: Person, busy: bool
) -> None:
    async with bots(api) as bot:
        ana.says("old words")
        await api.answers(ana, 1, 60)
        if busy:
            await hanging(bot, ana)
        ana.says("/new")
        ana.says("hello")
        await bot.idle()
        assert api.screen(ana).answers == ["You said: old words", NEW, "You said: hello"]
        assert "old words" not in asked(bot)
        assert "think for ever" not in asked(bot)


async def test_telegram_c5_a_question_sent_while_telegram_was_away_is_answered_behind_new(
    bots: Bots, api: FakeBotApi, ana: Person
) -> None:
    async with bots(api) as bot:
        ana.says("old words")
        await api.answers(ana, 1, 60)
        api.fails("getUpdates", Fault.page(502), calls=2)
        ana.says("/new")
        ana.says("what is the capital of France?")
        await bot.until(lambda: len(api.screen(ana).answers) == 3)
        await bot.idle()
        assert api.screen(ana).answers[1:] == [NEW, "You said: what is the capital of France?"]
        assert "old words" not in asked(bot)


async def test_telegram_e7_what_comes_right_behind_a_code_is_answered_in_its_order(
    bots: Bots, api: FakeBotApi, ana: Person
) -> None:
    async with bots(api, admin_chat_id=0) as bot:
        await bot.until(lambda: bot.codes)
        for text in (bot.codes[-1], "hello", "/whoami"):
            ana.says(text)
        await bot.until(lambda: len(api.screen(ana).answers) == 3)
        await bot.idle()
        welcome, *others = api.screen(ana).answers
        assert welcome == WELCOME_ADMIN
        assert "You said: hello" in others
        assert private(ana) not in others


async def test_telegram_e7_a_guests_messages_behind_a_code_wait_for_it_and_a_wrong_one_lets_nothing_through(
    bots: Bots, api: FakeBotApi, ana: Person
) -> None:
    ben, eve = api.person("Ben"), api.person("Eve")
    async with bots(api, during_turn="queue") as bot:
        ana.says("/invite")
        code = (await api.answers(ana))[0].splitlines()[2]
        wrong = f"{'3' if code[0] == '2' else '2'}{code[1:]}"
        for text in (wrong, "are you there?", code, "one", "two"):
            ben.says(text)
        for text in (wrong, "let me in"):
            eve.says(text)
        await bot.idle()
        assert api.screen(ben).answers == [WRONG, private(ben), WELCOME, "You said: one", "You said: two"]
        assert api.screen(eve).answers == [WRONG, private(eve)]
        assert [request.question for request in bot.model.requests] == ["one", "two"]


async def test_telegram_e6_what_comes_right_behind_allow_is_answered_in_every_topic(
    bots: Bots, api: FakeBotApi, ana: Person
) -> None:
    eve = api.person("Eve")
    forum = api.forum("Club", ana, eve, topics=("cats",))
    cats = api.topic(forum, "cats")
    async with bots(api, during_turn="queue") as bot:
        ana.at(forum).says("/allow@goat_bot everyone")
        ana.at(forum, cats).says("@goat_bot in cats")
        eve.at(forum, cats).says("@goat_bot me too")
        await bot.until(lambda: len(api.screen(forum, cats).answers) == 2)
        await bot.idle()
        assert api.screen(forum, cats).answers == [
            "You said: Ana: @goat_bot in cats",
            "You said: Eve: @goat_bot me too",
        ]


async def test_telegram_e6_what_is_kept_behind_a_code_outlives_the_process(
    bots: Bots, api: FakeBotApi, ana: Person
) -> None:
    from goat.adapters.inbox_memory import MemoryAdmissions, MemoryInbox
    from goat.errors import BackendUnavailable
    from goat.records.arrivals import Admitted
    from goat.testing.clock import FakeClock

    class Away(MemoryAdmissions):
        """Lets nobody in for now."""

        away = True

        async def redeem(self, channel: str, id: int, admitted: Admitted) -> bool:
            """Fail while it is away."""
            if self.away:
                raise BackendUnavailable("Admissions", "SQLite", "the disk is full")
            return await super().redeem(channel, id, admitted)

    ben, admissions = api.person("Ben"), Away()
    stores = {"admissions": admissions, "inbox": MemoryInbox(FakeClock())}
    async with bots(api, **stores) as bot:
        ana.says("/invite")
        ben.says((await api.answers(ana))[0].splitlines()[2])
        ben.says("hello")
        await bot.until(lambda: any("the disk is full" in one for one in bot.notices))
        await bot.end()
        assert api.screen(ben).answers == []
    admissions.away = False
    async with bots(api, **stores) as bot:
        await bot.until(lambda: len(api.screen(ben).answers) == 2)
        assert api.screen(ben).answers == [WELCOME, "You said: hello"]
