"""The contract of the port WorkingStore, over every adapter."""

from __future__ import annotations

import asyncio

import pytest

from goat.ports.stores import WorkingStore
from goat.records.memory import Versioned
from goat.testing.clock import FakeClock

KEYS = ["activation:ana:home", "ключ", "键 with space", "🐐", "'; --", "a*b?[c]", ""]
BODIES = {
    "empty": "",
    "json": '{"a": [1, 2], "ș": null}',
    "scripts": "țară слово 言葉 كلمة מילה शब्द 👩‍👩‍👧‍👦 e\u0301",
    "controls": "a\r\nb\tc\x1b\x7f",
    "highest": "\U0010ffff",
}

# Values


async def test_an_absent_key_has_no_value(working: WorkingStore) -> None:
    assert await working.get("nothing") is None


async def test_a_value_comes_back_with_its_version(working: WorkingStore) -> None:
    assert await working.put("k", "one") == 1
    assert await working.get("k") == Versioned("one", 1)
    assert await working.put("k", "two") == 2
    assert await working.get("k") == Versioned("two", 2)


@pytest.mark.parametrize("key", KEYS)
async def test_keys_may_have_any_form_and_are_not_patterns(working: WorkingStore, key: str) -> None:
    await working.put("other", "other")
    await working.put(key, "value")
    await working.append(key + "/list", [key], keep=3)
    assert await working.get(key) == Versioned("value", 1)
    assert await working.tail(key + "/list", 3) == [key]
    await working.delete(key)
    assert await working.get(key) is None
    assert await working.get("other") == Versioned("other", 1)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
async def test_a_body_comes_back_unchanged(working: WorkingStore, body: str) -> None:
    await working.put("k", body)
    await working.append("l", [body, body], keep=5)
    assert await working.get("k") == Versioned(body, 1)
    assert await working.tail("l", 5) == [body, body]


async def test_a_body_of_a_megabyte_comes_back_whole(working: WorkingStore) -> None:
    body = "漢字🐐x" * 110_000
    await working.put("k", body)
    await working.append("l", [body], keep=2)
    assert await working.get("k") == Versioned(body, 1)
    assert await working.tail("l", 1) == [body]


async def test_keys_that_differ_only_in_their_owner_are_two(working: WorkingStore) -> None:
    await working.put("history:ana:home", "ana's")
    await working.put("history:bob:home", "bob's")
    await working.append("list:ana:home", ["ana's"], keep=9)
    await working.delete("history:bob:home")
    assert await working.get("history:ana:home") == Versioned("ana's", 1)
    assert await working.tail("list:bob:home", 9) == []


# Versions


async def test_a_value_is_stored_only_over_the_named_version(working: WorkingStore) -> None:
    await working.put("k", "one")
    assert await working.put("k", "stale", if_version=0) is None
    assert await working.put("k", "stale", if_version=2) is None
    assert await working.get("k") == Versioned("one", 1)
    assert await working.put("k", "two", if_version=1) == 2
    assert await working.get("k") == Versioned("two", 2)


async def test_version_zero_means_absent(working: WorkingStore) -> None:
    assert await working.put("k", "first", if_version=1) is None
    assert await working.get("k") is None
    assert await working.put("k", "first", if_version=0) == 1
    assert await working.put("k", "again", if_version=0) is None


async def test_versions_start_anew_after_a_removal(working: WorkingStore) -> None:
    await working.put("k", "one")
    await working.put("k", "two")
    await working.delete("k")
    assert await working.put("k", "three", if_version=2) is None
    assert await working.put("k", "three", if_version=0) == 1


async def test_of_racing_writers_of_one_version_exactly_one_wins(working: WorkingStore) -> None:
    await working.put("k", "start")
    outcomes = await asyncio.gather(*(working.put("k", str(n), if_version=1) for n in range(50)))
    assert sorted(outcomes, key=str) == [2] + [None] * 49
    winner = next(n for n, outcome in enumerate(outcomes) if outcome)
    assert await working.get("k") == Versioned(str(winner), 2)


async def test_memory_13_concurrent_read_modify_writes_lose_nothing(working: WorkingStore) -> None:
    async def increment() -> None:
        while True:
            held = await working.get("count") or Versioned("0", 0)
            if await working.put("count", str(int(held.body) + 1), if_version=held.version) is not None:
                return

    await asyncio.gather(*(increment() for _ in range(30)))
    assert await working.get("count") == Versioned("30", 30)


# Time to live


async def test_a_value_is_there_until_its_time_and_not_after(working: WorkingStore, clock: FakeClock) -> None:
    await working.put("k", "v", ttl_seconds=60)
    clock.move(59.5)
    assert await working.get("k") == Versioned("v", 1)
    clock.move(0.5)
    assert await working.get("k") is None


async def test_a_value_without_a_time_to_live_stays(working: WorkingStore, clock: FakeClock) -> None:
    await working.put("k", "v")
    clock.move(10 * 365 * 86_400)
    assert await working.get("k") == Versioned("v", 1)


async def test_each_put_sets_the_time_to_live_anew(working: WorkingStore, clock: FakeClock) -> None:
    await working.put("longer", "v", ttl_seconds=60)
    await working.put("for ever", "v", ttl_seconds=60)
    clock.move(30)
    await working.put("longer", "w", ttl_seconds=60)
    await working.put("for ever", "w")
    clock.move(45)
    assert await working.get("longer") == Versioned("w", 2)
    clock.move(1_000)
    assert await working.get("longer") is None
    assert await working.get("for ever") == Versioned("w", 2)


async def test_a_refused_put_does_not_prolong_a_life(working: WorkingStore, clock: FakeClock) -> None:
    await working.put("k", "v", ttl_seconds=60)
    clock.move(30)
    await working.put("k", "w", ttl_seconds=600, if_version=9)
    clock.move(31)
    assert await working.get("k") is None


async def test_an_expired_value_is_as_good_as_absent_for_a_put(working: WorkingStore, clock: FakeClock) -> None:
    await working.put("k", "one", ttl_seconds=60)
    await working.put("k", "two", ttl_seconds=60)
    clock.move(61)
    assert await working.put("k", "three", if_version=2) is None
    assert await working.put("k", "three", if_version=0) == 1
    assert await working.get("k") == Versioned("three", 1)


async def test_many_expired_values_take_nothing_else_with_them(working: WorkingStore, clock: FakeClock) -> None:
    await working.put("stays", "v")
    await working.put("later", "v", ttl_seconds=5_000)
    for number in range(300):
        await working.put(f"short {number}", "v", ttl_seconds=1)
    clock.move(10)
    for number in range(300):
        await working.put("busy", str(number))
    assert await working.get("stays") == Versioned("v", 1)
    assert await working.get("later") == Versioned("v", 1)
    assert await working.get("short 7") is None
    assert await working.get("busy") == Versioned("299", 300)


# Claims


async def test_a_claim_succeeds_once_until_its_time(working: WorkingStore, clock: FakeClock) -> None:
    assert await working.claim("update:7", ttl_seconds=60)
    assert not await working.claim("update:7", ttl_seconds=60)
    clock.move(59)
    assert not await working.claim("update:7", ttl_seconds=60)
    clock.move(1)
    assert await working.claim("update:7", ttl_seconds=60)


async def test_a_claim_that_failed_does_not_prolong_the_first(working: WorkingStore, clock: FakeClock) -> None:
    await working.claim("k", ttl_seconds=60)
    clock.move(50)
    await working.claim("k", ttl_seconds=60)
    clock.move(10)
    assert await working.claim("k", ttl_seconds=60)


async def test_a_claim_can_be_given_back(working: WorkingStore) -> None:
    await working.claim("k", ttl_seconds=60)
    await working.delete("k")
    assert await working.claim("k", ttl_seconds=60)


async def test_of_racing_claims_exactly_one_succeeds(working: WorkingStore) -> None:
    outcomes = await asyncio.gather(*(working.claim("k", ttl_seconds=60) for _ in range(50)))
    assert outcomes.count(True) == 1


async def test_different_keys_are_claimed_apart(working: WorkingStore) -> None:
    assert await working.claim("update:ana:7", ttl_seconds=60)
    assert await working.claim("update:bob:7", ttl_seconds=60)


# Lists


async def test_an_absent_list_is_empty(working: WorkingStore) -> None:
    assert await working.tail("nothing", 5) == []


async def test_items_stand_in_the_order_of_arrival(working: WorkingStore) -> None:
    assert await working.append("l", ["a", "b"], keep=10) == 2
    assert await working.append("l", ["c"], keep=10) == 3
    assert await working.tail("l", 10) == ["a", "b", "c"]
    assert await working.tail("l", 2) == ["b", "c"]


@pytest.mark.parametrize("count", [0, -1])
async def test_no_items_are_given_when_none_are_asked_for(working: WorkingStore, count: int) -> None:
    await working.append("l", ["a", "b"], keep=10)
    assert await working.tail("l", count) == []


async def test_o39_a_list_keeps_its_newest_items_and_never_drops_more_than_the_surplus(working: WorkingStore) -> None:
    for number in range(1, 31):
        length = await working.append("l", [str(number)], keep=20)
        assert length == min(number, 20)
        assert await working.tail("l", 99) == [str(kept) for kept in range(max(1, number - 19), number + 1)]


async def test_more_items_at_once_than_a_list_keeps(working: WorkingStore) -> None:
    await working.append("l", ["old"], keep=3)
    assert await working.append("l", [str(number) for number in range(10)], keep=3) == 3
    assert await working.tail("l", 9) == ["7", "8", "9"]


async def test_an_append_of_nothing_trims_and_tells_the_length(working: WorkingStore) -> None:
    await working.append("l", ["a", "b", "c"], keep=9)
    assert await working.append("l", [], keep=9) == 3
    assert await working.append("l", [], keep=2) == 2
    assert await working.tail("l", 9) == ["b", "c"]
    assert await working.append("new", [], keep=9) == 0


async def test_o39_a_list_that_keeps_nothing_is_empty_and_can_grow_again(working: WorkingStore) -> None:
    await working.append("l", ["a"], keep=9)
    assert await working.append("l", ["b"], keep=0) == 0
    assert await working.tail("l", 9) == []
    assert await working.append("l", ["c"], keep=2) == 1
    assert await working.tail("l", 9) == ["c"]


async def test_a_deleted_list_starts_anew(working: WorkingStore) -> None:
    await working.append("l", ["a", "b"], keep=9)
    await working.append("other", ["x"], keep=9)
    await working.delete("l")
    await working.delete("absent")
    assert await working.tail("l", 9) == []
    assert await working.append("l", ["c"], keep=9) == 1
    assert await working.tail("other", 9) == ["x"]


async def test_concurrent_appends_lose_nothing(working: WorkingStore) -> None:
    lengths = await asyncio.gather(*(working.append("l", [str(n)], keep=100) for n in range(50)))
    assert sorted(lengths) == list(range(1, 51))
    assert sorted(await working.tail("l", 100), key=int) == [str(n) for n in range(50)]


async def test_concurrent_appends_of_several_items_do_not_interleave(working: WorkingStore) -> None:
    await asyncio.gather(*(working.append("l", [f"{n}a", f"{n}b", f"{n}c"], keep=1_000) for n in range(20)))
    items = await working.tail("l", 1_000)
    together = ["".join(part[-1] for part in items[start : start + 3]) for start in range(0, 60, 3)]
    assert together == ["abc"] * 20
