"""The contract of the port PermanentStore, over every adapter."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest

from goat.ports.stores import PermanentStore
from goat.records.memory import Fact

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
LATER = NOON + timedelta(days=3, microseconds=7)

TEXTS = {
    "empty": "",
    "romanian": "Ștefan locuiește în Iași",
    "scripts": "слово 言葉 كلمة מילה शब्द คำ",
    "emoji": "👩‍👩‍👧‍👦 e\u0301 \U0010ffff",
    "lines": "first\r\nsecond\tthird",
    "quotes": "'; DROP TABLE fact; -- % _",
    "long": "漢字🐐 " * 60_000,
}

# Facts


async def test_a_fact_that_was_set_holds(permanent: PermanentStore) -> None:
    await permanent.put_fact("ana", "city", "Iași", NOON, source_episode=7)
    assert await permanent.facts("ana") == [Fact("city", "Iași", NOON, None, 7)]


async def test_facts_come_by_key(permanent: PermanentStore) -> None:
    for key in ("b", "ș", "a", "B", "語", "\U0001f410", "\uffff"):
        await permanent.put_fact("ana", key, "v", NOON, None)
    assert [fact.key for fact in await permanent.facts("ana")] == ["B", "a", "b", "ș", "語", "\uffff", "\U0001f410"]


async def test_memory_3_a_new_value_supersedes_the_old_one_and_both_stay_in_the_history(
    permanent: PermanentStore,
) -> None:
    await permanent.put_fact("ana", "city", "Iași", NOON, 7)
    await permanent.put_fact("ana", "city", "Cluj", LATER, 9)
    assert await permanent.facts("ana") == [Fact("city", "Cluj", LATER, None, 9)]
    assert await permanent.history("ana", "city") == [
        Fact("city", "Iași", NOON, LATER, 7),
        Fact("city", "Cluj", LATER, None, 9),
    ]


async def test_memory_12_setting_the_same_value_again_changes_nothing(permanent: PermanentStore) -> None:
    await permanent.put_fact("ana", "city", "Iași", NOON, 7)
    await permanent.put_fact("ana", "city", "Iași", LATER, 9)
    assert await permanent.history("ana", "city") == [Fact("city", "Iași", NOON, None, 7)]


async def test_a_value_that_returns_is_a_new_entry_of_the_history(permanent: PermanentStore) -> None:
    for day, value in enumerate(["Iași", "Cluj", "Iași"]):
        await permanent.put_fact("ana", "city", value, NOON + timedelta(days=day), None)
    assert [fact.value for fact in await permanent.history("ana", "city")] == ["Iași", "Cluj", "Iași"]
    assert [fact.since for fact in await permanent.facts("ana")] == [NOON + timedelta(days=2)]


async def test_a_dropped_fact_no_longer_holds_and_stays_in_the_history(permanent: PermanentStore) -> None:
    await permanent.put_fact("ana", "city", "Iași", NOON, 7)
    await permanent.put_fact("ana", "name", "Ana", NOON, 8)
    assert await permanent.drop_fact("ana", "city", LATER)
    assert [fact.key for fact in await permanent.facts("ana")] == ["name"]
    assert await permanent.history("ana", "city") == [Fact("city", "Iași", NOON, LATER, 7)]


async def test_only_a_fact_that_holds_can_be_dropped(permanent: PermanentStore) -> None:
    assert not await permanent.drop_fact("ana", "city", NOON)
    await permanent.put_fact("ana", "city", "Iași", NOON, None)
    assert await permanent.drop_fact("ana", "city", LATER)
    assert not await permanent.drop_fact("ana", "city", LATER + timedelta(days=1))
    assert await permanent.history("ana", "city") == [Fact("city", "Iași", NOON, LATER, None)]


async def test_a_dropped_fact_can_be_set_again(permanent: PermanentStore) -> None:
    await permanent.put_fact("ana", "city", "Iași", NOON, None)
    await permanent.drop_fact("ana", "city", LATER)
    again = LATER + timedelta(days=1)
    await permanent.put_fact("ana", "city", "Iași", again, None)
    assert await permanent.history("ana", "city") == [
        Fact("city", "Iași", NOON, LATER, None),
        Fact("city", "Iași", again, None, None),
    ]


async def test_a_value_never_ends_before_it_began(permanent: PermanentStore) -> None:
    await permanent.put_fact("ana", "city", "Cluj", LATER, None)
    await permanent.put_fact("ana", "city", "Iași", NOON, None)
    assert await permanent.history("ana", "city") == [
        Fact("city", "Cluj", LATER, LATER, None),
        Fact("city", "Iași", NOON, None, None),
    ]


async def test_times_of_any_zone_are_kept_as_moments(permanent: PermanentStore) -> None:
    kathmandu = timezone(timedelta(hours=5, minutes=45))
    await permanent.put_fact("ana", "city", "Iași", LATER.astimezone(kathmandu), None)
    [fact] = await permanent.facts("ana")
    assert fact.since == LATER
    assert fact.since.utcoffset() == timedelta(0)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
async def test_keys_and_values_of_any_script_come_back_unchanged(permanent: PermanentStore, text: str) -> None:
    await permanent.put_fact("ana", text, text, NOON, None)
    assert await permanent.facts("ana") == [Fact(text, text, NOON)]
    assert await permanent.history("ana", text) == [Fact(text, text, NOON)]


async def test_an_unknown_key_has_no_history(permanent: PermanentStore) -> None:
    assert await permanent.history("ana", "city") == []
    assert await permanent.facts("ana") == []


async def test_facts_of_two_owners_with_the_same_keys_never_meet(permanent: PermanentStore) -> None:
    await permanent.put_fact("ana", "city", "Iași", NOON, None)
    await permanent.put_fact("bob", "city", "Cluj", NOON, None)
    await permanent.put_fact("bob", "pin", "1234", NOON, None)
    assert await permanent.facts("ana") == [Fact("city", "Iași", NOON)]
    assert await permanent.history("ana", "pin") == []
    assert not await permanent.drop_fact("ana", "pin", LATER)
    await permanent.drop_fact("ana", "city", LATER)
    assert [fact.value for fact in await permanent.facts("bob")] == ["Cluj", "1234"]


async def test_memory_13_concurrent_facts_are_all_kept(permanent: PermanentStore) -> None:
    await asyncio.gather(*(permanent.put_fact("ana", f"key {n:02}", str(n), NOON, n) for n in range(50)))
    assert await permanent.facts("ana") == [Fact(f"key {n:02}", str(n), NOON, None, n) for n in range(50)]


async def test_memory_13_concurrent_values_of_one_key_leave_one_that_holds_and_all_in_the_history(
    permanent: PermanentStore,
) -> None:
    await asyncio.gather(*(permanent.put_fact("ana", "city", str(n), NOON, None) for n in range(30)))
    history = await permanent.history("ana", "city")
    assert sorted(fact.value for fact in history) == sorted(str(n) for n in range(30))
    assert await permanent.facts("ana") == [history[-1]]
    assert all(fact.until == NOON for fact in history[:-1])


# Identity


async def test_no_identity_is_set_at_first(permanent: PermanentStore) -> None:
    assert await permanent.identity("ana") is None


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
async def test_the_identity_is_the_text_that_was_set_last(permanent: PermanentStore, text: str) -> None:
    await permanent.put_identity("ana", "You are a goat.", NOON)
    await permanent.put_identity("ana", text, LATER)
    assert await permanent.identity("ana") == text


async def test_setting_the_identity_to_none_returns_to_the_configured_one(permanent: PermanentStore) -> None:
    await permanent.put_identity("ana", None, NOON)
    await permanent.put_identity("ana", "You are a goat.", NOON)
    await permanent.put_identity("ana", None, LATER)
    assert await permanent.identity("ana") is None
    await permanent.put_identity("ana", "You are a goat.", LATER)
    assert await permanent.identity("ana") == "You are a goat."


async def test_identities_of_two_owners_never_meet(permanent: PermanentStore) -> None:
    await permanent.put_identity("ana", "Ana's goat", NOON)
    assert await permanent.identity("bob") is None
    await permanent.put_identity("bob", "Bob's goat", NOON)
    await permanent.put_identity("bob", None, LATER)
    assert await permanent.identity("ana") == "Ana's goat"


async def test_f_b11_setting_the_identity_leaves_every_fact_as_it_was(permanent: PermanentStore) -> None:
    await permanent.put_fact("ana", "city", "Iași", NOON, 7)
    await permanent.put_identity("ana", "You are a goat.", LATER)
    await permanent.put_identity("ana", None, LATER)
    assert await permanent.facts("ana") == [Fact("city", "Iași", NOON, None, 7)]


async def test_f_b10_facts_and_identity_first_asked_for_at_once_are_both_kept(permanent: PermanentStore) -> None:
    await asyncio.gather(
        permanent.facts("ana"),
        permanent.identity("ana"),
        permanent.put_fact("ana", "city", "Iași", NOON, None),
        permanent.put_identity("ana", "You are a goat.", NOON),
    )
    assert await permanent.facts("ana") == [Fact("city", "Iași", NOON)]
    assert await permanent.identity("ana") == "You are a goat."
