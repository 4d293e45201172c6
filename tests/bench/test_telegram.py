"""The Telegram bench on a small scale: the bot runs as a process of its own."""

from __future__ import annotations

import asyncio
import os

import pytest

from goat.bench.telegram import Crowd, Load, Phase, memory_mib, run
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


async def test_lost_doubled_and_reordered_answers_are_seen() -> None:
    async with FakeBotApi() as api, TelegramClient(api.token, api=api.base_url) as bot:
        crowd = Crowd(api, 1)
        (ana,) = crowd.ids
        watching = asyncio.create_task(crowd.watch(lambda _: None))
        offering = asyncio.create_task(crowd.offer(4, 1000.0))
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


@pytest.mark.skipif(os.name == "nt", reason="the system does not tell")
def test_the_memory_of_a_process_is_read() -> None:
    assert memory_mib(os.getpid()) > 10
