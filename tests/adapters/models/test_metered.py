"""What model calls use is written down, priced, and limited."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from goat.adapters.model_metered import MeteredModel
from goat.adapters.tokens_estimate import EstimatedTokens
from goat.adapters.usage_memory import MemoryUsageLog
from goat.errors import ModelError, ModelFault
from goat.records.models import ChatMessage, ModelRequest, Reply
from goat.records.usage import ModelCall, Usage
from goat.settings.providers import FREE, Price
from goat.testing.clock import FakeClock
from goat.testing.faults import Away
from goat.testing.models import ScriptedModel
from goat.testing.observer import KeepingObserver

PRICE = Price(input=2.0, output=10.0, cached=0.5)
ASKED = ModelRequest((ChatMessage("user", "What colour is my boat?"),), owner="ana", chat="home", exchange_id="x1")


def metered(
    model: Any, log: Any, price: Price | None = PRICE, limit: float = 0.0, clock: FakeClock | None = None
) -> tuple[MeteredModel, KeepingObserver]:
    observer = KeepingObserver()
    meter = MeteredModel(model, "groq", price, log, EstimatedTokens(), clock or FakeClock(), observer, limit)
    return meter, observer


def replying(usage: Usage) -> ScriptedModel:
    return ScriptedModel([Reply("It is blue.", usage=usage)])


async def test_a_call_is_written_down_for_its_owner_chat_and_turn_with_its_cost() -> None:
    log = MemoryUsageLog()
    meter, _ = metered(replying(Usage(1000, 100, 400)), log)
    reply = await meter.reply(ASKED)
    cost = (600 * 2.0 + 400 * 0.5 + 100 * 10.0) / 1e6
    assert reply.usage == Usage(1000, 100, 400, pytest.approx(cost))
    (call,) = log.calls
    assert (call.owner, call.chat, call.exchange_id, call.provider, call.model) == (
        "ana",
        "home",
        "x1",
        "groq",
        "scripted",
    )
    assert call.usage == reply.usage


async def test_cached_tokens_of_unknown_price_cost_what_others_cost() -> None:
    meter, _ = metered(replying(Usage(1000, 0, 400)), MemoryUsageLog(), Price(2.0, 10.0))
    assert (await meter.reply(ASKED)).usage.cost_usd == pytest.approx(0.002)


async def test_a_cost_that_the_endpoint_tells_comes_before_a_computed_one() -> None:
    meter, _ = metered(replying(Usage(1000, 100, 0, 0.7)), MemoryUsageLog())
    assert (await meter.reply(ASKED)).usage.cost_usd == 0.7


async def test_without_a_price_the_cost_is_unknown_and_not_0() -> None:
    log = MemoryUsageLog()
    meter, _ = metered(replying(Usage(1000, 100)), log, None)
    assert (await meter.reply(ASKED)).usage.cost_usd is None
    assert log.calls[0].usage.cost_usd is None


async def test_an_answer_that_the_endpoint_did_not_count_is_estimated_and_marked() -> None:
    meter, _ = metered(replying(Usage()), MemoryUsageLog())
    usage = (await meter.reply(ASKED)).usage
    assert usage.estimated
    assert usage.prompt_tokens > 3
    assert usage.completion_tokens > 1
    assert usage.cost_usd


async def test_what_a_failed_call_used_is_written_down_and_told() -> None:
    log = MemoryUsageLog()
    model = ScriptedModel([ModelError("m", "empty", "Again.", ModelFault.EMPTY, usage=Usage(500, 0))])
    meter, _ = metered(model, log)
    with pytest.raises(ModelError) as failed:
        await meter.reply(ASKED)
    assert failed.value.usage.cost_usd == pytest.approx(0.001)
    assert log.calls[0].usage == failed.value.usage


async def test_a_call_that_brought_nothing_is_not_written_down() -> None:
    log = MemoryUsageLog()
    meter, _ = metered(ScriptedModel([ModelError("m", "down", "Later.", ModelFault.DOWN)]), log)
    with pytest.raises(ModelError):
        await meter.reply(ASKED, lambda _: None)
    assert log.calls == []


async def test_an_answer_that_was_left_is_estimated_by_what_had_come() -> None:
    class Endless(ScriptedModel):
        async def reply(self, request: Any, on_text: Any = None) -> Reply:
            on_text("It is blue, and ")
            await asyncio.Event().wait()
            raise AssertionError

    log = MemoryUsageLog()
    meter, _ = metered(Endless(), log)
    begun = asyncio.Event()
    call = asyncio.create_task(meter.reply(ASKED, lambda _: begun.set()))
    await begun.wait()
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    assert log.calls[0].usage.estimated
    assert log.calls[0].usage.completion_tokens


async def test_the_day_is_that_of_the_owners_place() -> None:
    log = MemoryUsageLog()
    late = FakeClock(datetime(2026, 3, 2, 23, 30, tzinfo=UTC), ZoneInfo("Europe/Bucharest"))
    meter, _ = metered(replying(Usage(10, 1)), log, clock=late)
    await meter.reply(ASKED)
    assert log.calls[0].day == date(2026, 3, 3)


async def test_an_account_that_cannot_be_written_costs_no_answer_and_is_told() -> None:
    meter, observer = metered(replying(Usage(10, 1)), Away("UsageLog"))
    assert (await meter.reply(ASKED)).text == "It is blue."
    assert observer.notices[0].subject == "the account of model calls"


def spent(amount: float, day: date = date(2026, 3, 2)) -> ModelCall:
    usage = Usage(1, 1, 0, amount)
    return ModelCall(datetime(2026, 3, 2, 8, tzinfo=UTC), day, "bob", "c", "x", "groq", "m", usage)


async def test_telegram_d11_at_the_days_limit_no_call_is_made_and_the_person_is_told() -> None:
    log, model = MemoryUsageLog(), replying(Usage(10, 1))
    await log.record(spent(0.6))
    await log.record(spent(0.4))
    meter, _ = metered(model, log, limit=1.0)
    with pytest.raises(ModelError, match=r"today's limit of \$1\.00 is reached .* daily_limit_usd") as told:
        await meter.reply(ASKED)
    assert told.value.fault is ModelFault.LIMIT
    assert model.requests == []


async def test_telegram_d11_the_limit_is_of_one_day_and_holds_for_all_owners_together() -> None:
    log, clock = MemoryUsageLog(), FakeClock()
    await log.record(spent(1.5))
    meter, _ = metered(replying(Usage(10, 1)), log, limit=1.0, clock=clock)
    with pytest.raises(ModelError):
        await meter.reply(replace(ASKED, owner="eve"))
    clock.move(24 * 3600)
    assert (await meter.reply(ASKED)).text


async def test_what_is_free_is_not_stopped_by_the_limit() -> None:
    log = MemoryUsageLog()
    await log.record(spent(9.0))
    meter, _ = metered(replying(Usage(10, 1)), log, FREE, limit=1.0)
    assert (await meter.reply(ASKED)).usage.cost_usd == 0.0


async def test_without_a_limit_nothing_is_asked_of_the_account_before_a_call() -> None:
    meter, _ = metered(replying(Usage(10, 1)), Away("UsageLog"), limit=0.0)
    assert (await meter.reply(ASKED)).text


def test_usages_add_up_and_an_unknown_cost_stays_unknown() -> None:
    assert Usage(1, 2, 1, 0.5) + Usage(3, 4, 0, 0.25) == Usage(4, 6, 1, 0.75)
    assert (Usage(1, 2, 0, 0.5) + Usage(1, 2)).cost_usd is None
    assert Usage(1, 2, 0, 0.5) + Usage() == Usage(1, 2, 0, 0.5)
    assert (Usage() + Usage()).cost_usd is None
