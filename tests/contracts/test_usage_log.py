"""What every UsageLog promises."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from goat.ports.models import UsageLog
from goat.records.usage import ModelCall, Usage, UsageDay

DAY = date(2026, 3, 2)
NEXT = date(2026, 3, 3)


def call(usage: Usage, day: date = DAY, owner: str = "ana", model: str = "m", provider: str = "groq") -> ModelCall:
    at = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    return ModelCall(at, day, owner, "home", "x1", provider, model, usage)


async def test_an_empty_log_has_no_days_and_nothing_spent(usage: UsageLog) -> None:
    assert await usage.days(DAY, NEXT) == []
    assert await usage.spent(DAY) == 0.0


async def test_the_calls_of_a_day_owner_and_model_are_summed(usage: UsageLog) -> None:
    await usage.record(call(Usage(100, 10, 60, 0.25)))
    await usage.record(call(Usage(50, 5, 0, 0.5)))
    assert await usage.days(DAY, DAY) == [UsageDay(DAY, "ana", "groq", "m", 2, 150, 60, 15, 0.75)]


async def test_a_call_of_unknown_cost_is_counted_as_such_and_not_as_free(usage: UsageLog) -> None:
    await usage.record(call(Usage(100, 10, 0, 0.25)))
    await usage.record(call(Usage(100, 10)))
    await usage.record(call(Usage(100, 10, 0, 0.0, estimated=True)))
    (day,) = await usage.days(DAY, DAY)
    assert (day.calls, day.cost_usd, day.unpriced, day.estimated) == (3, 0.25, 1, 1)


async def test_days_come_in_the_order_of_day_owner_provider_and_model(usage: UsageLog) -> None:
    for day, owner, provider, model in [
        (NEXT, "ana", "groq", "a"),
        (DAY, "bob", "groq", "a"),
        (DAY, "ana", "openai", "a"),
        (DAY, "ana", "groq", "b"),
        (DAY, "ana", "groq", "a"),
    ]:
        await usage.record(call(Usage(1, 1, 0, 0.1), day, owner, model, provider))
    found = [(row.day, row.owner, row.provider, row.model) for row in await usage.days(DAY, NEXT)]
    assert found == sorted(found)
    assert len(found) == 5


async def test_both_ends_of_the_days_are_included_and_nothing_beyond(usage: UsageLog) -> None:
    for day in (date(2026, 3, 1), DAY, NEXT, date(2026, 3, 4)):
        await usage.record(call(Usage(1, 1, 0, 0.1), day))
    assert [row.day for row in await usage.days(DAY, NEXT)] == [DAY, NEXT]


async def test_one_owners_days_hold_nothing_of_another(usage: UsageLog) -> None:
    await usage.record(call(Usage(1, 1, 0, 0.1), owner="ana"))
    await usage.record(call(Usage(2, 2, 0, 0.2), owner="bob"))
    assert [(row.owner, row.prompt_tokens) for row in await usage.days(DAY, DAY, "bob")] == [("bob", 2)]
    assert await usage.days(DAY, DAY, "nobody") == []


async def test_what_was_spent_is_that_of_all_owners_on_that_day(usage: UsageLog) -> None:
    await usage.record(call(Usage(1, 1, 0, 0.25), owner="ana"))
    await usage.record(call(Usage(1, 1, 0, 0.5), owner="bob"))
    await usage.record(call(Usage(1, 1), owner="bob"))
    await usage.record(call(Usage(1, 1, 0, 4.0), day=NEXT))
    assert await usage.spent(DAY) == pytest.approx(0.75)
