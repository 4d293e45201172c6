"""The cache of searches: who shares an answer, and what ends it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from goat.app import App
from goat.memory.cache import Cache, cache_key
from goat.records.search import Where
from goat.testing.app import memory_app, say

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)

PARTS = st.lists(st.text(alphabet="ab1:\0", max_size=4), max_size=4)


@given(PARTS, PARTS)
def test_f_b29_two_lists_of_parts_never_share_a_key(one: list[str], other: list[str]) -> None:
    assert (cache_key(*one) == cache_key(*other)) == (one == other)


def test_an_answer_is_kept_for_its_time_and_the_oldest_goes_first() -> None:
    cache: Cache[int] = Cache(seconds=300, most=2)
    cache.put("a", 1, NOON)
    assert cache.get("a", NOON + timedelta(seconds=299)) == 1
    assert cache.get("a", NOON + timedelta(seconds=300)) is None
    assert cache.get("a", NOON - timedelta(seconds=1)) is None
    cache.put("b", 2, NOON)
    cache.put("c", 3, NOON)
    assert [cache.get(key, NOON) for key in "abc"] == [None, 2, 3]
    cache.clear()
    assert cache.get("c", NOON) is None


async def found(app: App, text: str, owner: str = "admin", **where: object) -> list[str]:
    filters = Where(**where)  # type: ignore[arg-type]
    recall = await app.memory.search(owner, text, app.backends.clock.now(), 10, filters)
    return [result.episode.text for result in recall.results]


async def test_f_b28_a_search_repeated_after_a_write_finds_what_was_written() -> None:
    async with memory_app() as app:
        await say(app, "the boat is blue")
        assert "the boat lies in Sulina" not in await found(app, "boat")
        await say(app, "the boat lies in Sulina")
        assert "the boat lies in Sulina" in await found(app, "boat")


async def test_a_search_repeated_after_a_forgetting_finds_it_no_more() -> None:
    async with memory_app() as app:
        result = await say(app, "the boat is blue")
        assert "the boat is blue" in await found(app, "boat")
        await app.forgetter.forget(await app.forgetter.by_ids("admin", [result.question.id]))
        assert "the boat is blue" not in await found(app, "boat")


async def test_the_same_search_is_made_once_and_another_owners_anew() -> None:
    async with memory_app() as app:
        await say(app, "the boat is blue")
        await say(app, "my car is red", owner="bob")
        first = await app.memory.search("admin", "boat", app.backends.clock.now(), 10)
        assert await app.memory.search("admin", "boat", app.backends.clock.now(), 10) is first
        assert await found(app, "boat", owner="bob") != [result.episode.text for result in first.results]
        assert await app.memory.search("admin", "boat", app.backends.clock.now(), 9) is not first
        later = Where(after=app.backends.clock.now() + timedelta(days=1))
        assert (await app.memory.search("admin", "boat", app.backends.clock.now(), 10, later)).results == ()
        await say(app, "and the car is fast", owner="bob")
        assert await app.memory.search("admin", "boat", app.backends.clock.now(), 10) is first
