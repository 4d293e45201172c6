"""Starts, faults of parts, safe mode and the end."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from goat.errors import BotUnusable
from goat.interfaces.telegram.boots import BREAKER, Boots
from goat.records.models import ModelRequest
from goat.testing.bot_api import FakeBotApi, Fault
from goat.testing.clock import FakeClock


def test_telegram_j4_three_bad_starts_within_minutes_make_the_next_one_safe(tmp_path: Path) -> None:
    clock = FakeClock()
    assert [Boots(tmp_path, clock).begin() for _ in range(BREAKER + 1)] == [False, False, False, True]


def test_telegram_j4_good_ends_and_old_starts_do_not_count(tmp_path: Path) -> None:
    clock = FakeClock()
    for _ in range(5):
        boots = Boots(tmp_path, clock)
        assert not boots.begin()
        clock.move(1)
        boots.ended_well()
    for _ in range(5):
        assert not Boots(tmp_path, clock).begin()
        clock.move(timedelta(minutes=3).total_seconds())


def test_telegram_j4_a_start_that_ends_well_clears_the_bad_ones(tmp_path: Path) -> None:
    clock = FakeClock()
    for _ in range(BREAKER):
        Boots(tmp_path, clock).begin()
    safe = Boots(tmp_path, clock)
    assert safe.begin()
    safe.ended_well()
    assert not Boots(tmp_path, clock).begin()


def test_telegram_h11_a_broken_file_of_starts_keeps_nothing_from_starting(tmp_path: Path) -> None:
    for broken in ("", "{", "[1]", '["yesterday"]', json.dumps(["2026-01-01T00:00:00"])):
        (tmp_path / "boots.json").write_text(broken)
        boots = Boots(tmp_path, FakeClock())
        assert not boots.begin()
        boots.ended_well()
        assert json.loads((tmp_path / "boots.json").read_text()) == []
    (tmp_path / "boots.json").unlink()
    (tmp_path / "boots.json").mkdir()
    assert not Boots(tmp_path, FakeClock()).begin()


async def test_telegram_j4_in_safe_mode_the_admin_is_told_and_messages_wait(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    ana.starts()
    async with bots(api, bad_starts=3) as bot:
        await bot.until(lambda: any("I crashed 3 times" in text for text in api.screen(ana).answers))
        ana.says("hello")
        await bot.until(lambda: any("kept and answered later" in text for text in api.screen(ana).answers))
        ana.says("/status")
        await bot.until(lambda: any("Safe mode: messages wait" in text for text in api.screen(ana).answers))
        assert bot.model.requests == []
        ana.says("/resume")
        await bot.until(lambda: "You said: hello" in api.screen(ana).answers)
        await bot.idle()
        ana.says("/resume")
        await bot.until(lambda: "No message is held back." in api.screen(ana).answers)


async def test_telegram_j4_what_waits_in_safe_mode_is_there_after_the_end(bots, api: FakeBotApi) -> None:
    from goat.adapters.clock_system import SystemClock
    from goat.adapters.inbox_memory import MemoryInbox

    ana = api.person("Ana")
    inbox = MemoryInbox(SystemClock("UTC"))
    async with bots(api, bad_starts=3, inbox=inbox) as bot:
        ana.says("hello")
        await bot.until(lambda: any("kept and answered later" in text for text in api.screen(ana).answers))
        await bot.end()
    async with bots(api, inbox=inbox) as bot:
        await bot.until(lambda: "You said: hello" in api.screen(ana).answers)


async def test_telegram_j7_a_fault_in_receiving_is_told_and_receiving_goes_on(bots, api: FakeBotApi) -> None:
    from goat.adapters.clock_system import SystemClock
    from goat.adapters.inbox_memory import MemoryInbox
    from goat.records.arrivals import Arrival

    class Buggy(MemoryInbox):
        faults = 2

        async def take(self, channel: str, arrivals: Any) -> list[Arrival]:
            if arrivals and self.faults:
                self.faults -= 1
                raise ValueError("a fault of ours")
            return await super().take(channel, arrivals)

    ana = api.person("Ana")
    async with bots(api, inbox=Buggy(SystemClock("UTC"))) as bot:
        ana.says("hello")
        assert await api.answers(ana, 1, 60) == ["You said: hello"]
        assert sum("a fault of ours" in notice for notice in bot.notices) == 2


async def test_telegram_j7_a_menu_that_telegram_refuses_stops_nothing(bots, api: FakeBotApi) -> None:
    api.fails("setMyCommands", Fault.error(400, "Bad Request: BOT_COMMANDS_TOO_MUCH"), calls=None)
    ana = api.person("Ana")
    async with bots(api) as bot:
        ana.says("hello")
        assert await api.answers(ana, 1, 60) == ["You said: hello"]
        assert any("the menu of commands" in notice for notice in bot.notices)


async def test_a_token_that_is_revoked_while_it_runs_ends_it_with_a_sentence(bots, api: FakeBotApi) -> None:
    async with bots(api, poll_seconds=1) as bot:
        await bot.until(lambda: api.calls_of("getUpdates"))
        api.revoke_token()
        await bot.until(bot.running.done, 60)
        fault = bot.running.exception()
        assert isinstance(fault, BotUnusable)
        assert "refuses its token by now" in str(fault)
        assert api.token not in str(fault)


async def test_a_start_without_network_waits_for_it(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    api.fails("getMe", Fault.reset(), calls=2)
    api.fails("getWebhookInfo", Fault.page(502), calls=1)
    ana.says("hello")
    async with bots(api) as bot:
        assert await api.answers(ana, 1, 60) == ["You said: hello"]
        assert any("waiting" in notice for notice in bot.notices)


async def test_telegram_j8_an_answer_that_is_almost_done_comes_before_the_end(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    async with bots(api, drain_seconds=20) as bot:
        go_on = asyncio.Event()

        async def answer(_: ModelRequest) -> str:
            await go_on.wait()
            return "Here it is."

        bot.model.answer = answer
        ana.says("hello")
        await bot.until(lambda: bot.model.requests)
        bot.stop.set()
        await bot.until(lambda: bot.status.state == "stopped")
        ana.says("too late for this process")
        go_on.set()
        await asyncio.wait_for(asyncio.shield(bot.running), 60)
    assert api.screen(ana).answers == ["Here it is."]
    assert [update.body["message"]["text"] for update in api.waiting] == ["too late for this process"]
