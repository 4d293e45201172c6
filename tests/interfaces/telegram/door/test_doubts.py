"""A reply of which nobody knows whether it arrived: the person is told, and decides whether it comes again."""

from __future__ import annotations

from typing import Any

import pytest

from goat.testing.bot_api import FakeBotApi, Fault, Person

LINE = "A part of my reply may not have arrived."
AGAIN = "Send it again"


@pytest.fixture
def ana(api: FakeBotApi) -> Person:
    return api.person("Ana")


@pytest.mark.parametrize("fault", [Fault.drop(), Fault.page(502), Fault.reset()])
async def test_a_reply_that_was_lost_is_told_and_comes_at_a_press(
    bots: Any, api: FakeBotApi, ana: Person, fault: Fault
) -> None:
    async with bots(api) as bot:
        api.fails("sendMessage", fault)
        ana.says("hello")
        assert await api.answers(ana, 1, 60) == [LINE]
        line = api.screen(ana).last
        assert line.buttons == ((AGAIN,),)
        ana.taps(line, AGAIN)
        assert await api.answers(ana, 2, 60) == [LINE, "You said: hello"]
        await bot.until(lambda: api.screen(ana).messages[-2].buttons == ())
        ana.says("more")
        await api.answers(ana, 3, 60)
        await bot.idle()
    assert api.screen(ana).answers == [LINE, "You said: hello", "You said: more"]


async def test_what_arrived_after_all_stands_once_unless_somebody_wants_it_again(
    bots: Any, api: FakeBotApi, ana: Person
) -> None:
    async with bots(api) as bot:
        api.fails("sendMessage", Fault.drop().after_effect())
        ana.says("hello")
        await api.answers(ana, 2, 60)
        await bot.idle()
    assert api.screen(ana).answers == ["You said: hello", LINE]


async def test_a_line_that_is_lost_itself_makes_no_further_one(bots: Any, api: FakeBotApi, ana: Person) -> None:
    async with bots(api) as bot:
        api.fails("sendMessage", Fault.drop(), calls=2)
        ana.says("hello")
        await bot.idle()
        await bot.until(lambda: len(api.calls_of("sendMessage")) == 2)
        ana.says("more")
        await api.answers(ana, 1, 60)
        await bot.idle()
    assert api.screen(ana).answers == ["You said: more"]


async def test_a_reply_to_a_command_is_told_without_a_button(bots: Any, api: FakeBotApi, ana: Person) -> None:
    async with bots(api) as bot:
        api.fails("sendMessage", Fault.drop())
        ana.says("/whoami")
        await api.answers(ana, 1, 60)
        await bot.idle()
    assert (api.screen(ana).answers, api.screen(ana).last.buttons) == ([LINE], ())


async def test_the_admin_is_told_of_a_guest_once_and_the_press_is_the_guests(
    bots: Any, api: FakeBotApi, ana: Person
) -> None:
    ben = api.person("Ben")
    async with bots(api, guests=(str(ben.id),)) as bot:
        ana.says("hello")
        ben.says("hello")
        await api.answers(ana, 1, 60)
        await api.answers(ben, 1, 60)
        api.fails("sendMessage", Fault.drop(), chat=ben.chat)
        ben.says("are you there?")
        await api.answers(ben, 2, 60)
        await api.answers(ana, 2, 60)
        ben.taps(api.screen(ben).last, AGAIN)
        await api.answers(ben, 3, 60)
        await bot.idle()
    assert api.screen(ben).answers == ["You said: hello", LINE, "You said: are you there?"]
    (_, told) = api.screen(ana).answers
    assert told.startswith("A reply to Ben may not have arrived: ")


async def test_a_forgotten_answer_does_not_come_again(bots: Any, api: FakeBotApi, ana: Person) -> None:
    async with bots(api) as bot:
        api.fails("sendMessage", Fault.drop())
        ana.says("my word is falcon")
        await api.answers(ana, 1, 60)
        line = api.screen(ana).last
        ana.says("/forget falcon")
        await api.answers(ana, 2, 60)
        ana.taps(api.screen(ana).last, "Forget for good")
        await bot.until(lambda: "Forgotten for good" in api.screen(ana).last.text)
        press = ana.taps(line, AGAIN)
        await bot.until(lambda: press.answer is not None)
        await bot.idle()
    assert press.answer["text"] == "That answer is not kept any more."
    assert len(api.screen(ana).answers) == 2
