"""Questions about tools and offers to go on, in a bot that runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from goat.adapters.approvals_memory import MemoryApprovals
from goat.adapters.clock_system import SystemClock
from goat.adapters.working_memory import MemoryWorkingStore
from goat.records.models import ModelRequest, Reply, ToolCall
from goat.records.tools import Verdict
from goat.settings import Settings
from goat.testing.bot_api import FakeBotApi, Person
from goat.tools import ToolDefinition, tool

Bots = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.fixture
def ana(api: FakeBotApi) -> Person:
    return api.person("Ana")


async def test_telegram_f2_a_tap_lets_the_call_run_and_the_answer_follows(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str]
) -> None:
    async with bots(api, tools=[shell]) as bot:
        ana.taps(await bot.asks(ana), "✅ Yes")
        await api.answers(ana, 2, 30)
        assert ran == ["ls"]
        assert api.screen(ana).answers == [
            "May this run?\n\nshell\n  command: ls\n\n✅ Allowed.",
            "Result: ls is done",
        ]


async def test_telegram_f4_a_typed_yes_is_an_answer_and_no_turn(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str]
) -> None:
    async with bots(api, tools=[shell]) as bot:
        await bot.asks(ana)
        ana.says("ok, do it!")
        await api.answers(ana, 2, 30)
        await bot.idle()
        assert ran == ["ls"]
        assert [one.text for one in await bot.app.overview.recent("admin", 10) if one.text == "ok, do it!"] == []
        ana.says("yes")
        assert (await api.answers(ana, 3, 30))[2] == "You said: yes"


async def test_telegram_f7_in_a_group_another_person_decides_nothing(
    api: FakeBotApi, bots: Bots, shell: ToolDefinition, ran: list[str]
) -> None:
    boss, ana, ben = api.person("Boss"), api.person("Ana"), api.person("Ben")
    crew = api.group("Crew", boss, ana, ben)
    settings = Settings.model_validate({"tools": {"guests": ["shell"]}})
    guests = (str(ana.id), str(ben.id))
    async with bots(api, tools=[shell], groups=(str(crew.id),), guests=guests, settings=settings) as bot:
        bot.model.answer = bot.model.acting
        ana.at(crew).says("@goat_bot please run:ls")
        question = await bot.asked(ana.at(crew))
        press = ben.at(crew).taps(question, "✅ Yes")
        await bot.until(lambda: press.answer is not None)
        assert press.answer is not None
        assert press.answer["text"] == "This is for somebody else to decide."
        stranger = api.person("Stranger").at(crew).taps(question, "✅ Yes")
        await bot.until(lambda: stranger.answer is not None)
        assert ran == []
        ana.at(crew).taps(question, "✖️ No")
        await api.answers(crew, 2, 30)
        assert ran == []


async def test_telegram_f1_a_question_that_a_stop_leaves_open_says_that_it_is_over(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str]
) -> None:
    clock = SystemClock("UTC")
    kept = {"working": MemoryWorkingStore(clock), "approvals": MemoryApprovals()}
    async with bots(api, tools=[shell], **kept) as bot:
        question = (await bot.asks(ana)).message
        data = str(question.buttons[0][0]["callback_data"])
    async with bots(api, tools=[shell], **kept) as bot:
        assert [one.buttons for one in api.screen(ana).messages if one.buttons] == []
        assert "✖️ Cancelled" in api.screen(ana).answers[0]
        press = ana.presses(data, question)
        await bot.until(lambda: press.answer is not None)
        assert press.answer is not None
        assert press.answer["text"] == "This question is closed."
    assert ran == []
    assert kept["approvals"].verdicts == {1: Verdict.CANCELLED}  # type: ignore[attr-defined]


async def test_a_stop_ends_the_question_with_the_turn(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str]
) -> None:
    async with bots(api, tools=[shell]) as bot:
        await bot.asks(ana)
        ana.says("/stop")
        await bot.until(lambda: "✖️ Cancelled, nothing was run." in api.screen(ana).answers[0])
        await bot.until(lambda: "Stopped." in api.screen(ana).answers)
        assert ran == []


async def test_open_questions_are_listed_and_answered_below_the_list(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str]
) -> None:
    async with bots(api, tools=[shell]) as bot:
        bot.model.answer = bot.model.acting
        ana.says("/approve")
        assert await api.answers(ana) == ["No question waits for you here."]
        ana.says("please run:ls")
        await bot.asked(ana)
        ana.says("/approve")
        await bot.until(lambda: len([one for one in api.screen(ana).messages if one.buttons]) == 2)
        ana.taps(api.screen(ana).last, "✅ Yes")
        await bot.until(lambda: "Result: ls is done" in api.screen(ana).answers)
        await bot.idle()
        assert ran == ["ls"]
        allowed = "May this run?\n\nshell\n  command: ls\n\n✅ Allowed."
        assert api.screen(ana).answers[1:] == [allowed, allowed, "Result: ls is done"]
        assert [one.buttons for one in api.screen(ana).messages if one.buttons] == []


async def test_telegram_c9_a_turn_that_used_up_its_tools_offers_to_go_on_once(
    api: FakeBotApi, bots: Bots, ana: Person
) -> None:
    @tool(permission="allow")
    async def look(place: str) -> str:
        """Look somewhere."""
        return f"nothing in {place}"

    rounds = 0

    async def looking(request: ModelRequest) -> str | Reply:
        nonlocal rounds
        rounds += 1
        if not request.tools or request.question == "Continue.":
            return f"Seen so far: {rounds}"
        return Reply("", (ToolCall("c", "look", f'{{"place": "{rounds}"}}'),), finish_reason="tool_calls")

    settings = Settings.model_validate({"tools": {"rounds": 5}})
    async with bots(api, tools=[look], settings=settings) as bot:
        bot.model.answer = looking
        ana.says("look everywhere")
        await bot.until(lambda: any(one.buttons for one in api.screen(ana).messages))
        answers = api.screen(ana).answers
        assert answers[0] == "Seen so far: 6"
        assert answers[1].startswith("I stopped because")
        offer = api.screen(ana).last
        first, second = ana.taps(offer, "Continue"), ana.taps(offer, "Continue")
        await api.answers(ana, 3, 30)
        await bot.until(lambda: first.answer is not None and second.answer is not None)
        await bot.idle()
        assert api.screen(ana).answers[2:] == ["Seen so far: 7"]
        assert [one.buttons for one in api.screen(ana).messages if one.buttons] == []
        assert {str((first.answer or {}).get("text", "")), str((second.answer or {}).get("text", ""))} == {
            "",
            "That was done already.",
        }


async def test_telegram_c9_an_answer_within_its_limits_offers_nothing(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition
) -> None:
    async with bots(api, tools=[shell], settings=Settings.model_validate({"tools": {"allow": ["shell"]}})) as bot:
        bot.model.answer = bot.model.acting
        ana.says("please run:ls")
        await api.answers(ana)
        await bot.idle()
        assert api.screen(ana).answers == ["Result: ls is done"]
