"""Questions about tools that stand in several messages, what is no answer to them, and where an offer goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from goat.adapters.approvals_memory import MemoryApprovals
from goat.adapters.clock_system import SystemClock
from goat.adapters.working_memory import MemoryWorkingStore
from goat.records.models import ModelRequest, Reply, ToolCall
from goat.settings import Settings
from goat.testing.bot_api import FakeBotApi, Person
from goat.tools import ToolDefinition, tool

Bots = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.fixture
def ana(api: FakeBotApi) -> Person:
    return api.person("Ana")


def prompts(api: FakeBotApi, place: Person) -> tuple[list[str], list[str]]:
    """The questions that can be answered below them, and those that ended."""
    shown = [one for one in api.screen(place).messages if one.text.startswith("May this run?")]
    return [one.text for one in shown if one.buttons], [one.text for one in shown if not one.buttons]


async def test_telegram_f4_a_picture_and_a_forward_with_a_yes_run_nothing_and_are_answered(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str]
) -> None:
    async with bots(api, tools=[shell], during_turn="queue") as bot:
        question = await bot.asks(ana)
        ana.sends_photo(caption="da")
        ana.forwards("ok", api.person("Ben").user)
        await bot.until(lambda: not api.waiting)
        assert len(prompts(api, ana)[0]) == 1
        ana.taps(question, "✖️ No")
        await api.answers(ana, 4, 30)
        await bot.idle()
        ended, _, picture, forward = api.screen(ana).answers
        assert ended.endswith("✖️ Not allowed, nothing was run.")
        assert picture.startswith("You said: da\n[Photo")
        assert forward.startswith("You said: [Forwarded from Ben")
        assert forward.endswith("\nok")
        assert ran == []


async def test_telegram_f4_an_answer_to_a_copy_ends_the_question_everywhere(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str]
) -> None:
    async with bots(api, tools=[shell]) as bot:
        await bot.asks(ana)
        ana.says("/approve")
        await bot.until(lambda: len(prompts(api, ana)[0]) == 2)
        inbox = bot.app.backends.inbox
        while len(await inbox.waiting(f"telegram:{api.bot.id}")) > 1:  # noqa: ASYNC110 - no event; the turn is one of them
            await asyncio.sleep(0.01)
        ana.replies_to(api.screen(ana).last, "yes")
        await bot.until(lambda: "Result: ls is done" in api.screen(ana).answers)
        await bot.idle()
        assert ran == ["ls"]
        allowed = "May this run?\n\nshell\n  command: ls\n\n✅ Allowed."
        assert api.screen(ana).answers == [allowed, allowed, "Result: ls is done"]
        assert prompts(api, ana)[0] == []


@pytest.mark.parametrize("ends", ["stop", "restart"])
async def test_telegram_f1_every_copy_of_a_question_ends_with_it(
    api: FakeBotApi, bots: Bots, ana: Person, shell: ToolDefinition, ran: list[str], ends: str
) -> None:
    clock = SystemClock("UTC")
    kept = {"working": MemoryWorkingStore(clock), "approvals": MemoryApprovals()}
    async with bots(api, tools=[shell], **kept) as bot:
        await bot.asks(ana)
        for copies in (2, 3):
            ana.says("/approve")
            await bot.until(lambda copies=copies: len(prompts(api, ana)[0]) == copies)
        await bot.until(lambda: not api.waiting)
        if ends == "stop":
            ana.says("/stop")
            await bot.until(lambda: len(prompts(api, ana)[1]) == 3)
    async with bots(api, tools=[shell], **kept) as bot:
        await bot.until(lambda: len(prompts(api, ana)[1]) == 3)
        assert prompts(api, ana)[0] == []
        (ended,) = set(prompts(api, ana)[1])
        assert ended.startswith("May this run?\n\nshell\n  command: ls\n\n")
        assert "nothing was run" in ended
        assert ran == []


async def test_telegram_c9_what_goes_on_in_general_is_seen_typing_there(
    api: FakeBotApi, bots: Bots, ana: Person
) -> None:
    @tool(permission="allow")
    async def look(place: str) -> str:
        """Look somewhere."""
        return f"nothing in {place}"

    going_on = asyncio.Event()

    async def looking(request: ModelRequest) -> str | Reply:
        if request.question.endswith("Continue."):
            await going_on.wait()
            return "Found."
        if not request.tools:
            return "Nothing so far."
        call = ToolCall("c", "look", f'{{"place": "{len(request.messages)}"}}')
        return Reply("", (call,), finish_reason="tool_calls")

    forum = api.forum("Club", ana)
    settings = Settings.model_validate({"tools": {"rounds": 5, "guests": ["look"]}})
    async with bots(api, tools=[look], settings=settings, groups=(str(forum.id),)) as bot:
        bot.model.answer = looking
        ana.at(forum).says("@goat_bot look everywhere")
        await bot.until(lambda: any(one.buttons for one in api.screen(forum).messages))
        before = len(api.screen(forum, 1).actions)
        ana.at(forum).taps(api.screen(forum).last, "Continue")
        await bot.until(lambda: len(api.screen(forum, 1).actions) > before)
        going_on.set()
        await bot.until(lambda: api.screen(forum).answers[-1] == "Found.")
