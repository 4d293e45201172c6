"""L1: what may be kept as a fact, under which key, and what it was before."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from goat.adapters.locks_local import LocalLocks
from goat.adapters.permanent_memory import MemoryPermanentStore
from goat.adapters.tokens_estimate import EstimatedTokens
from goat.memory.l0_identity import Identity
from goat.memory.l1_facts import Facts, Kept, shown
from goat.memory.undo import Undo, Undone
from goat.testing.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store() -> MemoryPermanentStore:
    return MemoryPermanentStore()


@pytest.fixture
def facts(store: MemoryPermanentStore, clock: FakeClock) -> Facts:
    return Facts(store, clock, EstimatedTokens(), 60, LocalLocks())


@pytest.fixture
def undo(store: MemoryPermanentStore, facts: Facts, clock: FakeClock) -> Undo:
    return Undo(store, facts, clock)


async def current(facts: Facts, clock: FakeClock) -> dict[str, str]:
    clock.move(60)
    return {fact.key: fact.value for fact in await facts.read("ana")}


async def test_memory_2_a_changed_fact_is_the_new_one_at_once(facts: Facts, clock: FakeClock) -> None:
    await facts.promote("ana", "city", "Iași", 7)
    assert [fact.value for fact in await facts.read("ana")] == ["Iași"]
    await facts.promote("ana", "city", "Cluj", 9)
    assert [fact.value for fact in await facts.read("ana")] == ["Cluj"]


async def test_memory_31_a_change_is_told_as_a_change_with_the_value_before(facts: Facts) -> None:
    assert (await facts.promote("ana", "city", "Iași")).outcome is Kept.SET
    changed = await facts.promote("ana", "city", "Cluj")
    assert (changed.outcome, changed.before) == (Kept.CHANGED, "Iași")
    assert (await facts.promote("ana", "city", "Cluj")).outcome is Kept.SAME


async def test_telegram_h7_a_contradiction_supersedes_and_what_it_was_before_can_be_asked(
    facts: Facts, clock: FakeClock
) -> None:
    began = clock.now()
    await facts.promote("ana", "city", "Paris", 1)
    clock.move(3600)
    await facts.promote("ana", "City", "Rome", 2)
    paris, rome = await facts.history("ana", "CITY")
    assert (paris.value, paris.since, paris.until) == ("Paris", began, began + timedelta(hours=1))
    assert (rome.value, rome.until, rome.source_episode) == ("Rome", None, 2)


async def test_memory_12_spellings_of_one_key_are_one_fact(facts: Facts, clock: FakeClock) -> None:
    for key in ("favourite colour", "Favourite_Colour", "favourite-colour", "FAVOURITE  colour"):
        assert (await facts.promote("ana", key, key)).outcome is not Kept.REFUSED
    assert list(await current(facts, clock)) == ["favourite colour"]


async def test_a_key_that_looks_alike_is_refused_by_name_unless_it_is_another_one(
    facts: Facts, clock: FakeClock
) -> None:
    await facts.promote("ana", "favourite colour", "teal")
    refused = await facts.promote("ana", "favorite color", "red")
    assert refused.outcome is Kept.REFUSED
    assert "'favourite colour' already (teal)" in refused.reason
    assert (await facts.promote("ana", "favorite color", "red", another=True)).outcome is Kept.SET
    assert await current(facts, clock) == {"favourite colour": "teal", "favorite color": "red"}


async def test_numbers_make_two_keys(facts: Facts) -> None:
    await facts.promote("ana", "phone number 1", "0722")
    assert (await facts.promote("ana", "phone number 2", "0733")).outcome is Kept.SET


async def test_a_fact_beyond_the_cap_is_refused_with_what_is_used(facts: Facts, clock: FakeClock) -> None:
    await facts.promote("ana", "city", "Cluj")
    await facts.promote("ana", "story", "once upon a time there was a harbour " * 3)
    refused = await facts.promote("ana", "poem", "and another one that is long " * 6)
    assert refused.outcome is Kept.REFUSED
    assert f"The facts use {refused.used} of 60 tokens" in refused.reason
    assert "story (" in refused.reason
    assert list(await current(facts, clock)) == ["city", "story"]
    assert refused.used == EstimatedTokens().count(shown(await facts.read("ana")))


async def test_a_fact_that_is_full_may_still_be_made_shorter(facts: Facts, clock: FakeClock) -> None:
    await facts.promote("ana", "story", "once upon a time there was a harbour " * 4)
    assert (await facts.promote("ana", "story", "short")).outcome is Kept.CHANGED


@pytest.mark.parametrize(("key", "value"), [("", "x"), ("  ", "x"), ("city", ""), ("city", " \n ")])
async def test_an_empty_key_or_value_is_refused(facts: Facts, key: str, value: str) -> None:
    assert (await facts.promote("ana", key, value)).outcome is Kept.REFUSED


async def test_f_b13_many_writers_at_once_keep_every_fact_and_the_cap(facts: Facts, clock: FakeClock) -> None:
    kept = await asyncio.gather(*(facts.promote("ana", f"k{n}", "some words here") for n in range(30)))
    held = await current(facts, clock)
    assert len(held) == sum(one.outcome is Kept.SET for one in kept) > 0
    assert facts.used(await facts.read("ana")) <= 60


async def test_memory_6_facts_are_their_owners_own(facts: Facts) -> None:
    await facts.promote("ana", "city", "Cluj")
    assert await facts.read("bob") == []
    assert await facts.drop("bob", "city") is None


async def test_a54_a_fact_can_be_seen_and_ended(facts: Facts, clock: FakeClock) -> None:
    await facts.promote("ana", "city", "Cluj", 3)
    dropped = await facts.drop("ana", "CITY")
    assert dropped is not None
    assert (dropped.key, dropped.value) == ("city", "Cluj")
    assert await current(facts, clock) == {}
    assert [fact.value for fact in await facts.history("ana", "city")] == ["Cluj"]


async def test_undo_takes_back_a_change_a_new_fact_and_an_end(facts: Facts, undo: Undo, clock: FakeClock) -> None:
    await facts.promote("ana", "city", "Iași")
    clock.move(60)
    await facts.promote("ana", "city", "Cluj")
    clock.move(60)
    assert await undo.last("ana") == Undone("city", "Cluj", "Iași")
    assert await current(facts, clock) == {"city": "Iași"}
    assert await undo.last("ana") == Undone("city", "Iași", "Cluj")
    assert await current(facts, clock) == {"city": "Cluj"}
    await facts.drop("ana", "city")
    clock.move(60)
    assert await undo.last("ana") == Undone("city", None, "Cluj")
    clock.move(60)
    await facts.promote("ana", "dog", "Rex")
    clock.move(60)
    assert await undo.last("ana") == Undone("dog", "Rex", None)
    assert await current(facts, clock) == {"city": "Cluj"}


async def test_undo_takes_back_an_identity(store: MemoryPermanentStore, undo: Undo, clock: FakeClock) -> None:
    identity = Identity(store, "You are GOAT.")
    await identity.set("ana", "You are kind.", clock.now())
    clock.move(60)
    assert await identity.set("ana", "  You are brief.  ", clock.now()) == "You are kind."
    clock.move(60)
    assert await undo.last("ana") == Undone("identity", "You are brief.", "You are kind.")
    assert await identity.read("ana") == "You are kind."
    clock.move(60)
    await identity.set("ana", "", clock.now())
    assert await identity.read("ana") == "You are GOAT."
    clock.move(60)
    assert await undo.last("ana") == Undone("identity", None, "You are kind.")
    assert len(await identity.history("ana")) == 4


async def test_with_nothing_changed_there_is_nothing_to_undo(undo: Undo) -> None:
    assert await undo.last("ana") is None
