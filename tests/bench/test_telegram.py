"""The Telegram bench on a small scale: the bot runs as a process of its own."""

from __future__ import annotations

import asyncio
import os

import pytest

from goat.bench.report import Figure, rows
from goat.bench.telegram import GOAL_MS, Crowd, Load, Phase, highest_rate, memory_mib, run
from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.client import TelegramClient
from goat.testing.bot_api import FakeBotApi


def test_a_small_load_is_answered_and_gives_the_figures() -> None:
    steps: list[str] = []
    figures = run(Load(chats=3, messages=2, rate=3.0, total=10, search=False), steps.append)
    named = {figure.name: figure for figure in figures}
    assert [named[name].value for name in ("of 3 chats: answers lost", "· doubled", "· out of order")] == [0, 0, 0]
    assert named["6 messages at 3 a second, beside the model, p95"].goal == 150
    assert named["6 messages at 3 a second, beside the model, p50"].value > 0
    assert named["memory after 2 messages"].value > 10
    assert named["memory after 10 messages, beyond that"].goal == 20
    assert steps[0] == "starting the bot"
    assert any(step.startswith("3 a second, about 0 min: ") for step in steps)
    assert any(step.startswith("more for the memory, ") for step in steps)


async def test_lost_doubled_and_reordered_answers_are_seen() -> None:
    async with FakeBotApi() as api, TelegramClient(api.token, api=api.base_url) as bot:
        crowd = Crowd(api, 1)
        (ana,) = crowd.ids
        watching = asyncio.create_task(crowd.watch(lambda _: None))
        offering = asyncio.create_task(crowd.offer(4, 1000.0, lambda _: None, "four"))
        await api.until(lambda: len(api.waiting) == 4, 30)
        for number in (1, 0, 0, 3):
            await bot.send_text(Address(ana), f"an answer #0.{number}")
        await api.until(lambda: len(crowd.answered) == 3, 30)
        assert crowd.faults() == (1, 1, 2)
        offering.cancel()
        watching.cancel()
        await asyncio.gather(offering, watching, return_exceptions=True)


def test_a_phase_in_which_something_is_lost_has_no_end() -> None:
    assert Phase(6.0, [1.0] * 99, lost=1).p95 == float("inf")
    assert Phase(6.0, [1.0] * 96 + [500.0] * 4).p95 < 2


@pytest.mark.parametrize(("limit", "most_tries"), [(5.99, 4), (6.0, 4), (13.0, 8), (40.0, 13), (1.0, 13), (0.6, 14)])
async def test_the_highest_rate_is_found_from_both_sides(limit: float, most_tries: int) -> None:
    tried: list[float] = []

    async def attempt(rate: float) -> Phase:
        tried.append(rate)
        return Phase(rate, [GOAL_MS / 2 if rate <= limit else GOAL_MS * 2])

    found = await highest_rate(await attempt(6.0), attempt)
    assert found <= limit < 1.06 * found
    assert len(tried) <= most_tries


async def test_where_no_rate_keeps_the_goal_none_is_given() -> None:
    async def attempt(rate: float) -> Phase:
        return Phase(rate, [GOAL_MS * 2])

    assert await highest_rate(await attempt(6.0), attempt) == 0


@pytest.mark.skipif(os.name == "nt", reason="the system does not tell")
def test_the_memory_of_a_process_is_read() -> None:
    assert memory_mib(os.getpid()) > 10


def test_a_time_that_has_no_end_is_null_in_the_document() -> None:
    (row,) = rows([Figure("p95", float("inf"), "ms", 150.0)])
    assert (row["value"], row["met"]) == (None, False)
