"""How often what is remembered was recalled: when it is counted, what it orders, and that it costs a reply nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.app import App
from goat.errors import BackendUnavailable
from goat.records.entities import Entity
from goat.records.episodes import Incoming, Use
from goat.records.memory import Held
from goat.records.search import Floats
from goat.retrieval.blend import blended, published_similarity
from goat.retrieval.entities import RuleEntities
from goat.settings import Settings
from goat.settings.sections import PrefetchSettings
from goat.testing.app import memory_app, say
from goat.testing.observer import KeepingObserver

SHARES = PrefetchSettings()


async def uses_of(app: App, *ids: int, owner: str = "admin") -> dict[int, int]:
    found = await app.backends.uses.of(owner, ids)
    return {number: use.count for number, use in found.items()}


async def test_f_b27_what_a_prompt_showed_is_counted_once_a_turn_whatever_chat_it_is_from() -> None:
    async with memory_app() as app:
        told = await say(app, "the boiler needs water every week", chat="home")
        assert await uses_of(app, told.question.id) == {}
        asked = await say(app, "when does the boiler need water?", chat="work")
        assert told.question.id in [result.episode.id for result in asked.recalled]
        assert await uses_of(app, told.question.id) == {told.question.id: 1}
        app.backends.clock.move(60)
        await say(app, "and how often does the boiler need water?", chat="phone")
        found = await app.backends.uses.of("admin", [told.question.id])
        assert found == {told.question.id: Use(2, app.backends.clock.now())}


async def test_what_was_found_and_not_shown_is_not_counted() -> None:
    async with memory_app() as app:
        told = await say(app, "the boiler needs water every week")
        await app.memory.search("admin", "boiler", app.backends.clock.now(), 5)
        assert await uses_of(app, told.question.id) == {}


class SlowUses:
    """Counts nothing until it is let go, and notes its calls."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.counted: list[tuple[str, dict[int, int]]] = []
        self.fails = False

    async def count(self, owner: str, times: Mapping[int, int], at: datetime) -> None:
        """Wait, then note the call."""
        await self.go.wait()
        if self.fails:
            raise BackendUnavailable("Uses", "test", "it is away")
        self.counted.append((owner, dict(times)))

    async def of(self, owner: str, ids: Sequence[int]) -> dict[int, Use]:
        """Nothing is known."""
        if self.fails:
            raise BackendUnavailable("Uses", "test", "it is away")
        return {}

    async def take_in(self, owner: str, brought: Mapping[int, Use]) -> None:
        """Nothing is brought."""


async def test_a_reply_does_not_wait_for_the_count_and_what_gathers_meanwhile_is_one_write() -> None:
    slow = SlowUses()
    async with memory_app(uses=slow) as app:
        told = await app.orchestrator.run(
            Incoming("admin", "a", "the boiler needs water every week", app.backends.clock.now())
        )
        for chat in ("b", "c", "d"):
            asked = Incoming("admin", chat, "when does the boiler need water?", app.backends.clock.now())
            result = await app.orchestrator.run(asked)
            assert told.question.id in [one.episode.id for one in result.recalled]
        assert slow.counted == []
        slow.go.set()
        await app.settled()
        assert [owner for owner, _ in slow.counted] == ["admin", "admin"]
        assert [times[told.question.id] for _, times in slow.counted] == [1, 2]


async def test_a_count_that_cannot_be_kept_is_told_and_costs_nothing_else() -> None:
    slow, observer = SlowUses(), KeepingObserver()
    slow.fails = True
    slow.go.set()
    async with memory_app(uses=slow, observer=observer) as app:
        told = await say(app, "the boiler needs water every week", chat="a")
        asked = await say(app, "when does the boiler need water?", chat="b")
        assert told.question.id in [one.episode.id for one in asked.recalled]
        held = await app.memory.held("admin", [Held(told.question.id, 0.9)], app.backends.clock.now())
        assert [one.episode.id for one in held.value] == [told.question.id]
        assert held.lost is not None
    assert [one.subject for one in observer.notices if "away" in one.text] == ["counting what was recalled"]


async def test_f_b27_of_two_held_results_alike_the_one_that_is_used_stands_first() -> None:
    async with memory_app() as app:
        one = await say(app, "the boiler needs water every week")
        two = await say(app, "the boiler needs oil every month")
        held = [Held(one.question.id, 0.8), Held(two.question.id, 0.8)]
        now = app.backends.clock.now()
        await app.backends.uses.count("admin", {two.question.id: 5}, now)
        found = (await app.memory.held("admin", held, now)).value
        assert [result.episode.id for result in found] == [two.question.id, one.question.id]
        assert found[0].parts == pytest.approx({"relevance": 0.48, "recency": 0.3, "access": 0.05}, abs=1e-6)
        assert found[1].parts == pytest.approx({"relevance": 0.48, "recency": 0.3, "access": 0.0}, abs=1e-6)


def parts(similarity: float, age: float, uses: float, shares: PrefetchSettings = SHARES) -> dict[str, float]:
    arrays = [np.array([value], dtype=np.float32) for value in (similarity, age, uses)]
    return {name: float(values[0]) for name, values in blended(*arrays, shares).items()}


def test_the_published_weights_give_the_published_scores() -> None:
    assert parts(1.0, 0.0, 10) == pytest.approx({"relevance": 0.6, "recency": 0.3, "access": 0.1})
    assert parts(0.5, 15.0, 5) == pytest.approx({"relevance": 0.3, "recency": 0.15, "access": 0.05})
    assert parts(0.0, 30.0, 0) == pytest.approx({"relevance": 0.0, "recency": 0.0, "access": 0.0})
    own = PrefetchSettings(score_similarity_weight=1.0, score_recency_weight=0.0, score_access_weight=0.0)
    assert parts(0.5, 0.0, 10, own) == pytest.approx({"relevance": 0.5, "recency": 0.0, "access": 0.0})


@given(st.floats(0, 1, width=32), st.floats(-400, 4000, width=32), st.integers(0, 10**6))
def test_a_blended_score_lies_between_0_and_1_and_no_part_exceeds_its_share(
    similarity: float, age: float, uses: int
) -> None:
    found = parts(similarity, age, uses)
    shares = (SHARES.score_similarity_weight, SHARES.score_recency_weight, SHARES.score_access_weight)
    for value, share in zip(found.values(), shares, strict=True):
        assert 0 <= value <= share + 1e-6
    assert 0 <= sum(found.values()) <= 1 + 1e-6


def test_a19_a_result_without_a_vector_is_not_similar_in_the_published_formula() -> None:
    cosines: Floats = np.array([1.0, 0.5, -1.0, np.nan], dtype=np.float32)
    assert published_similarity(cosines).tolist() == pytest.approx([1.0, 0.5, 0.2, 0.0])


async def test_merge_published_orders_the_whole_pool_by_the_published_formula() -> None:
    settings = Settings(prefetch=PrefetchSettings(merge="published"))
    async with memory_app(settings) as app:
        old = await say(app, "the boiler needs water every week", chat="a")
        app.backends.clock.move(60 * 86400)
        new = await say(app, "the boiler needs water every day", chat="b")
        await say(app, "when does the boiler need water?", chat="c")
        thread = (await app.memory.thread("admin", "c")).value
        found = (await app.memory.held("admin", thread.held, app.backends.clock.now())).value
        ids = [one.episode.id for one in found]
        assert ids.index(new.question.id) < ids.index(old.question.id)
        by_id = {one.episode_id: one.relevance for one in thread.held}
        (vector,) = await app.backends.embedder.embed_passages(["the boiler needs water every day"])
        query = await app.backends.embedder.embed_query("when does the boiler need water?")
        assert by_id[new.question.id] == pytest.approx(1 / (3 - 2 * float(query @ vector)), abs=0.02)


@pytest.mark.parametrize("used", ["the boiler needs water", "water needs the boiler"])
async def test_merge_published_counts_uses_over_the_whole_pool(used: str) -> None:
    settings = Settings(prefetch=PrefetchSettings(merge="published", max_results=1))
    async with memory_app(settings) as app:
        told = {
            text: (await say(app, text, chat=text)).question.id
            for text in ("the boiler needs water", "water needs the boiler")
        }
        await app.backends.uses.count("admin", {told[used]: 10}, app.backends.clock.now())
        await say(app, "what needs the boiler, water?", chat="c")
        thread = (await app.memory.thread("admin", "c")).value
        assert [held.episode_id for held in thread.held] == [told[used]]


class CountingExtractor(RuleEntities):
    """Rules that note what they were asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def extract(self, texts: Sequence[str]) -> list[tuple[Entity, ...]]:
        """Note the texts and answer."""
        self.asked += texts
        return await super().extract(texts)


async def test_f_b30_a_message_is_read_for_names_once_for_its_writing_and_all_of_its_searches() -> None:
    extractor = CountingExtractor()
    async with memory_app(entities=extractor) as app:
        await say(app, "I met Ana in Cluj", chat="a")
        extractor.asked.clear()
        result = await say(app, "where did I meet Ana?", chat="b")
        assert extractor.asked == ["where did I meet Ana?", result.text]
        extractor.asked.clear()
        await app.memory.search("admin", "Ana in Cluj", app.backends.clock.now() + timedelta(seconds=1), 5)
        assert extractor.asked == ["Ana in Cluj"]
