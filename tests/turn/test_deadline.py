"""How long a turn may work, and that waiting for a person is no work."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from goat.errors import ModelError
from goat.records.models import Reply, ToolCall
from goat.records.tools import Question, Verdict
from goat.settings import Settings
from goat.settings.section_tools import ToolSettings
from goat.settings.sections import TurnSettings
from goat.testing.app import memory_app, say
from goat.testing.models import ScriptedModel
from goat.tools import tool
from goat.turn.deadline import Deadline


@tool(permission="ask")
async def act() -> str:
    """Do something that needs leave."""
    return "it is done"


@tool
async def never() -> str:
    """Never return."""
    await asyncio.Event().wait()
    return ""


class Slow:
    """A person who says yes after some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.verdicts: list[Verdict] = []

    def reaches(self, owner: str, chat: str) -> bool:
        """Everywhere."""
        return True

    async def ask(self, question: Question) -> bool:
        """Say yes, late."""
        await asyncio.sleep(self._seconds)
        return True

    async def settled(self, question: Question, verdict: Verdict) -> None:
        """Note it."""
        self.verdicts.append(verdict)


async def test_pauses_do_not_count_and_the_rest_does() -> None:
    async def works() -> None:
        async with Deadline.within(0.3) as deadline:
            for _ in range(3):
                with deadline.paused():
                    await asyncio.sleep(0.3)
            await asyncio.Event().wait()

    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(TimeoutError):
        await works()
    assert loop.time() - began > 1.19


async def test_what_is_raised_in_a_pause_leaves_the_limit_as_it_was() -> None:
    async def works() -> None:
        async with Deadline.within(0.1) as deadline:
            with suppress(ValueError), deadline.paused():
                raise ValueError
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await works()


async def test_a_block_that_is_cancelled_in_a_pause_ends() -> None:
    async def waits() -> None:
        async with Deadline.within(30) as deadline:
            with deadline.paused():
                await asyncio.Event().wait()

    task = asyncio.create_task(waits())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()


async def test_a_turn_waits_longer_for_a_person_than_it_may_work(tmp_path: Path) -> None:
    settings, asker = Settings(turn=TurnSettings(timeout_seconds=0.5)), Slow(1.0)
    model = ScriptedModel([Reply("", (ToolCall("c1", "act", "{}"),)), "It is done."])
    async with memory_app(settings, tmp_path, model=model) as app:
        app.acting.outfit.add(lambda: [act])
        app.acting.askers.attach(asker)
        result = await say(app, "do it")
    assert result.text == "It is done."
    assert asker.verdicts == [Verdict.YES]


async def test_a_turn_that_waited_for_a_person_still_has_an_end(tmp_path: Path) -> None:
    settings = Settings(turn=TurnSettings(timeout_seconds=0.5))
    model = ScriptedModel([Reply("", (ToolCall("c1", "act", "{}"), ToolCall("c2", "never", "{}")))])
    async with memory_app(settings, tmp_path, model=model) as app:
        app.acting.outfit.add(lambda: [act, never])
        app.acting.askers.attach(Slow(0.6))
        with pytest.raises(ModelError, match=r"longer than 0\.5 seconds"):
            await say(app, "do it")


async def test_a_question_that_nobody_answers_ends_and_the_turn_goes_on(tmp_path: Path) -> None:
    settings = Settings(turn=TurnSettings(timeout_seconds=0.5), tools=ToolSettings(approval_seconds=0.8))
    model, asker = ScriptedModel([Reply("", (ToolCall("c1", "act", "{}"),)), "I could not ask."]), Slow(30)
    async with memory_app(settings, tmp_path, model=model) as app:
        app.acting.outfit.add(lambda: [act])
        app.acting.askers.attach(asker)
        result = await say(app, "do it")
    assert result.text == "I could not ask."
    assert asker.verdicts == [Verdict.EXPIRED]
    assert "was not answered in time" in model.requests[-1].messages[-2].content
