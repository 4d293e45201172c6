"""What a person does while a question about a tool stands there, as the screen shows it in the end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from goat.adapters.approvals_memory import MemoryApprovals
from goat.adapters.clock_system import SystemClock
from goat.adapters.working_memory import MemoryWorkingStore
from goat.settings import Settings
from goat.testing.bot_api import FakeBotApi, Person
from goat.tools import ToolDefinition

Bots = Callable[..., AbstractAsyncContextManager[Any]]

ALLOWED = "May this run?\n\nshell\n  command: ls\n\n✅ Allowed."
DONE = "Result: ls is done"


@pytest.fixture
def ana(api: FakeBotApi) -> Person:
    return api.person("Ana")


async def test_telegram_f6_an_unrelated_message_is_a_turn_of_its_own_and_the_question_stays_open(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str]
) -> None:
    async with bots(api, tools=[shell], during_turn="queue") as bot:
        question = await bot.asks(ana)
        ana.says("what is the capital of Chad?")
        await bot.until(lambda: not api.waiting)
        assert [one.buttons for one in api.screen(ana).messages if one.buttons] == [question.buttons]
        assert ran == []
        ana.taps(question, "✅ Yes")
        await api.answers(ana, 3, 30)
        await bot.idle()
        assert ran == ["ls"]
        assert api.screen(ana).answers == [ALLOWED, DONE, "You said: what is the capital of Chad?"]


async def test_telegram_f6_of_two_answers_the_first_counts(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str]
) -> None:
    async with bots(api, tools=[shell], during_turn="queue") as bot:
        question = await bot.asks(ana)
        no = str(question.message.buttons[0][1]["callback_data"])
        ana.says("yes")
        await bot.until(lambda: ran == ["ls"])
        press = ana.presses(no, question.message)
        await bot.until(lambda: press.answer is not None)
        assert press.answer is not None
        assert press.answer["text"] == "This question is closed."
        ana.replies_to(question, "no")
        await api.answers(ana, 3, 30)
        await bot.idle()
        assert ran == ["ls"]
        assert api.screen(ana).answers[:2] == [ALLOWED, DONE]
        assert api.screen(ana).answers[2].endswith("no")


async def test_telegram_f6_an_answer_after_the_turn_was_stopped_runs_nothing(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str]
) -> None:
    async with bots(api, tools=[shell], during_turn="queue") as bot:
        question = await bot.asks(ana)
        yes = str(question.message.buttons[0][0]["callback_data"])
        ana.says("/stop")
        await bot.until(lambda: "Stopped." in api.screen(ana).answers)
        await bot.until(lambda: not any(one.buttons for one in api.screen(ana).messages))
        press = ana.presses(yes, question.message)
        await bot.until(lambda: press.answer is not None)
        assert press.answer is not None
        assert press.answer["text"] == "This question is closed."
        ana.says("yes")
        await api.answers(ana, 3, 30)
        await bot.idle()
        assert ran == []
        ended, stopped, answer = api.screen(ana).answers
        assert ended.endswith("nothing was run.")
        assert (stopped, answer) == ("Stopped.", "You said: yes")


async def test_telegram_f6_an_answer_after_a_restart_is_a_message_and_runs_nothing(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str]
) -> None:
    clock = SystemClock("UTC")
    kept = {"working": MemoryWorkingStore(clock), "approvals": MemoryApprovals()}
    async with bots(api, tools=[shell], **kept) as bot:
        question = (await bot.asks(ana)).message
    async with bots(api, tools=[shell], **kept) as bot:
        bot.model.answer = bot.model.acting
        ana.replies_to(question, "yes")
        await api.answers(ana, 2, 30)
        await bot.idle()
    assert ran == []
    ended, answer = api.screen(ana).answers
    assert "nothing was run." in ended
    assert answer.startswith("You said: ")
    assert answer.endswith("yes")


async def test_telegram_f6_a_photo_is_a_message_of_its_own_and_the_question_stays_open(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str]
) -> None:
    async with bots(api, tools=[shell], during_turn="queue") as bot:
        await bot.asks(ana)
        ana.sends_photo(caption="yes")
        await bot.until(lambda: not api.waiting)
        await bot.asked(ana)  # it is still waited for
        assert ran == []
        ana.says("yes")
        await api.answers(ana, 3, 30)
        await bot.idle()
        assert ran == ["ls"]
        allowed, done, photo = api.screen(ana).answers
        assert (allowed, done) == (ALLOWED, DONE)
        assert photo.startswith("You said: yes\n")


async def test_telegram_f6_two_people_are_asked_at_a_time_and_each_answer_is_for_its_own_question(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str]
) -> None:
    ben = api.person("Ben")
    settings = Settings.model_validate({"tools": {"guests": ["shell"]}})
    async with bots(api, tools=[shell], guests=(str(ben.id),), settings=settings) as bot:
        bot.model.answer = bot.model.acting
        ana.says("please run:one")
        ben.says("please run:two")
        await bot.asked(ana)
        await bot.asked(ben)
        ben.says("yes")
        await api.answers(ben, 2, 30)
        assert ran == ["two"]
        ana.says("no")
        await api.answers(ana, 2, 30)
        await bot.idle()
        assert ran == ["two"]
        assert api.screen(ben).answers[1] == "Result: two is done"
        assert api.screen(ana).answers[0].endswith("✖️ Not allowed, nothing was run.")
