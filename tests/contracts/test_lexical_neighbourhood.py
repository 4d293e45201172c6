"""The contract of the port LexicalIndex: what stands around a passage, and how a passage is scored in it."""

from __future__ import annotations

from datetime import timedelta
from math import log

import numpy as np
import pytest

from goat.ports.stores import LexicalIndex
from goat.records.search import EVERYWHERE, Neighbourhood, Where
from goat.testing.documents import NOON, add, document

_ = -1


async def near(index: LexicalIndex, ords: list[int], reach: int = 2, where: Where = EVERYWHERE) -> Neighbourhood:
    return await index.neighbourhood("ana", np.array(ords, np.int64), reach, where)


async def around(index: LexicalIndex, number: int) -> list[int]:
    return (await near(index, [number], reach=0)).around[0].tolist()


# The neighbourhood


async def test_a_neighbourhood_holds_the_given_and_their_neighbours_once_in_rising_order(index: LexicalIndex) -> None:
    await add(index, *[document(n, "tea") for n in range(12)])
    got = await near(index, [6, 5, 5, 11], reach=2)
    assert got.ords.tolist() == [3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert got.episode_ids.tolist() == [103, 104, 105, 106, 107, 108, 109, 110, 111]
    assert (await near(index, [5], reach=0)).ords.tolist() == [5]
    assert (await near(index, [5], reach=3)).ords.tolist() == [2, 3, 4, 5, 6, 7, 8]


async def test_the_surroundings_reach_three_steps_whatever_the_reach(index: LexicalIndex) -> None:
    await add(index, *[document(n, "tea") for n in range(6)])
    got = await near(index, [0, 4], reach=0)
    assert got.around.tolist() == [[_, _, _, 0, 1, 2, 3], [1, 2, 3, 4, 5, _, _]]


async def test_a_candidate_carries_what_was_said_of_it(index: LexicalIndex) -> None:
    await add(
        index,
        document(0, "where tea", question=True, human=True, speaker="Ana"),
        document(1, "drawer", human=False, speaker="GOAT"),
        document(2, "thanks", speaker=""),
    )
    got = await near(index, [1])
    assert got.question.tolist() == [True, False, False]
    assert got.after_question.tolist() == [False, True, False]
    assert got.human.tolist() == [True, False, True]
    assert got.speakers == ("Ana", "GOAT", "")
    assert got.at.tolist() == [(NOON + timedelta(minutes=n)).timestamp() for n in range(3)]


async def test_no_candidates_make_an_empty_neighbourhood_of_the_right_shapes(index: LexicalIndex) -> None:
    await add(index, document(0, "tea"))
    for got in (
        await near(index, []),
        await near(index, [7, -1]),
        await index.neighbourhood("eve", np.array([0]), 2, EVERYWHERE),
    ):
        assert got.ords.shape == (0,)
        assert got.around.shape == (0, 7)
        assert got.speakers == ()
        features = await index.features("ana", ["tea"], got)
        assert features.passage.shape == features.session.shape == (0,)


async def test_a_silence_of_more_than_four_hours_ends_a_session(index: LexicalIndex) -> None:
    gap = timedelta(hours=4)
    at = [NOON, NOON + gap, NOON + 2 * gap + timedelta(microseconds=1)]
    await add(index, *[document(n, "tea", at=moment) for n, moment in enumerate(at)])
    assert await around(index, 1) == [_, _, 0, 1, _, _, _]
    assert await around(index, 2) == [_, _, _, 2, _, _, _]


async def test_chats_that_interleave_are_not_neighbours(index: LexicalIndex) -> None:
    await add(index, *[document(n, "tea", chat=f"chat{n % 2}") for n in range(6)])
    assert await around(index, 2) == [_, _, 0, 2, 4, _, _]
    assert (await near(index, [3], reach=1)).ords.tolist() == [1, 3, 5]


async def test_neighbours_outside_the_filter_lend_their_words_and_are_no_candidates(index: LexicalIndex) -> None:
    await add(
        index, document(0, "passport", topic_id="a"), document(1, "yes", topic_id="b"), document(2, "x", topic_id="a")
    )
    got = await near(index, [0, 1], where=Where(topic_id="b"))
    assert got.ords.tolist() == [1]
    assert got.around.tolist() == [[_, _, 0, 1, 2, _, _]]
    features = await index.features("ana", ["passport"], got)
    assert features.passage[0] > 0


async def test_a_late_message_takes_the_place_of_its_time(index: LexicalIndex) -> None:
    await add(index, *[document(n, "tea", at=NOON + timedelta(minutes=10 * n)) for n in range(3)])
    await add(
        index, document(3, "tea", at=NOON + timedelta(minutes=5)), document(4, "tea", at=NOON - timedelta(minutes=5))
    )
    assert await around(index, 0) == [_, _, 4, 0, 3, 1, 2]
    assert await around(index, 2) == [0, 3, 1, 2, _, _, _]


async def test_messages_of_one_moment_follow_their_numbers(index: LexicalIndex) -> None:
    await add(index, *[document(n, "tea", at=NOON) for n in (2, 0, 1)])
    assert await around(index, 1) == [_, _, 0, 1, 2, _, _]


async def test_taking_a_passage_out_joins_its_neighbours(index: LexicalIndex) -> None:
    await add(index, *[document(n, "tea") for n in range(5)])
    await index.apply([], [("ana", 2), ("ana", 0)], cursor=2)
    assert await around(index, 3) == [_, _, 1, 3, 4, _, _]
    await index.apply([document(5, "tea")], [("ana", 4)], cursor=3)
    assert await around(index, 3) == [_, _, 1, 3, 5, _, _]


async def test_a_message_into_a_silence_joins_two_sessions_and_leaving_it_parts_them(index: LexicalIndex) -> None:
    at = {0: 0, 1: 1, 2: 7, 3: 8}
    await add(index, *[document(n, "tea", at=NOON + timedelta(hours=hours)) for n, hours in at.items()])
    assert await around(index, 1) == [_, _, 0, 1, _, _, _]
    await add(index, document(4, "tea", at=NOON + timedelta(hours=4)))
    assert await around(index, 1) == [_, _, 0, 1, 4, 2, 3]
    await index.apply([], [("ana", 4)], cursor=3)
    assert await around(index, 1) == [_, _, 0, 1, _, _, _]
    assert await around(index, 3) == [_, _, 2, 3, _, _, _]


async def test_a_chat_that_was_emptied_begins_anew(index: LexicalIndex) -> None:
    await add(index, document(0, "tea"), document(1, "tea"), document(9, "tea", chat="work", topic_id="home"))
    await index.apply([], [("ana", 0), ("ana", 1)], cursor=2)
    await add(index, document(2, "tea"))
    assert await around(index, 2) == [_, _, _, 2, _, _, _]
    await add(index, document(1, "tea", at=NOON + timedelta(minutes=3)))
    assert await around(index, 2) == [_, _, _, 2, 1, _, _]
    assert await around(index, 1) == [_, _, 2, 1, _, _, _]


async def test_an_edit_can_move_a_passage_to_another_chat(index: LexicalIndex) -> None:
    await add(index, *[document(n, "tea") for n in range(3)], document(3, "tea", chat="work"))
    await index.apply([document(1, "tea", chat="work")], [], cursor=2)
    assert await around(index, 0) == [_, _, _, 0, 2, _, _]
    assert await around(index, 3) == [_, _, 1, 3, _, _, _]


# Features


async def test_features_are_the_published_formula(index: LexicalIndex) -> None:
    await add(index, document(0, "cat dog"), document(1, "cat cat cat fish"), document(2, "bird bird bird"))
    got = await index.features("ana", ["cat", "bird", "unicorn"], await near(index, [0, 1, 2]))
    cat, bird = (log(1 + (3 - df + 0.5) / (df + 0.5)) for df in (2, 1))
    mean_length = 0.92 * 2.75 * 3

    def soft(tf: float, length: float) -> float:
        return 2.0 * tf / (tf + 0.6 + 0.4 * length / mean_length)

    lengths = [2 + 0.3 * 4 + 0.2 * 3, 0.5 * 2 + 4 + 0.3 * 3, 0.35 * 2 + 0.5 * 4 + 3]
    cats, birds = [1 + 0.3 * 3, 0.5 + 3, 0.35 + 0.5 * 3], [0.2 * 3, 0.3 * 3, 3]
    expected = [
        (cat * soft(cats[n], lengths[n]) + bird * soft(birds[n], lengths[n])) / (2.0 * (cat + bird)) for n in range(3)
    ]
    np.testing.assert_allclose(got.passage, expected, rtol=1e-5)
    one_session = log(1 + 0.5 / 1.5)
    session = one_session * 2.2 * (4 / (4 + 1.2) + 3 / (3 + 1.2)) / (2.2 * (cat + bird))
    np.testing.assert_allclose(got.session, [session] * 3, rtol=1e-5)


async def test_a_session_scores_as_one_text(index: LexicalIndex) -> None:
    day = timedelta(days=1)
    await add(
        index,
        document(0, "holiday plans"),
        document(1, "beach"),
        document(2, "invoice", at=NOON + day),
        document(3, "beach towel", at=NOON + 2 * day),
    )
    got = await index.features("ana", ["holiday", "beach"], await near(index, [0, 1, 2, 3], reach=0))
    assert got.session[0] == got.session[1] > got.session[3] > got.session[2] == 0


async def test_a20_both_scores_lie_between_0_and_1_each_on_a_scale_of_its_own(index: LexicalIndex) -> None:
    # Five passages of one session share a rare word: the session's weight for it is far above a passage's.
    crowd = [document(n, "rare " * 200) for n in range(5)]
    alone = [document(n, "common", chat=f"c{n}") for n in range(5, 10)]
    await add(index, *crowd, *alone)
    for words in (["rare"], ["common"], ["rare", "common"]):
        got = await index.features("ana", words, await near(index, list(range(10))))
        for scores in (got.passage, got.session):
            assert scores.dtype == np.float32
            assert ((scores >= 0) & (scores <= 1)).all()
        assert got.passage.max() > 0.25


async def test_where_no_term_matches_features_are_zero(index: LexicalIndex) -> None:
    await add(index, document(0, "tea"), document(1, "cup", chat="work"))
    everything = await near(index, [0, 1])
    for words in ([], ["visa"]):
        got = await index.features("ana", words, everything)
        assert got.passage.tolist() == got.session.tolist() == [0, 0]
    got = await index.features("ana", ["tea", "visa"], everything)
    assert got.passage[0] > 0
    assert got.passage[1] == got.session[1] == 0


async def test_absent_terms_do_not_lower_a_score(index: LexicalIndex) -> None:
    await add(index, document(0, "tea cup"), document(1, "spoon"))
    everything = await near(index, [0, 1])
    plain = await index.features("ana", ["tea"], everything)
    with_name = await index.features("ana", ["tea", "zanzibar"], everything)
    np.testing.assert_array_equal(plain.passage, with_name.passage)
    np.testing.assert_array_equal(plain.session, with_name.session)


async def test_a_term_that_only_questions_tell_or_nothing_in_the_filter_is_no_measure(index: LexicalIndex) -> None:
    """What was only asked for was never told; the newest message says its own words to nobody."""
    await add(index, document(0, "tea"), *[document(n, "spoon", chat="work") for n in range(1, 9)])
    plain = await index.features("ana", ["tea"], await near(index, [0], reach=0))
    await add(index, document(9, "tea zanzibar", chat="asked", question=True), document(10, "quokka", chat="new"))
    candidate = await near(index, [0], reach=0)
    asked = await index.features("ana", ["tea", "zanzibar", "quokka"], candidate, Where(up_to=110))
    everywhere = await index.features("ana", ["tea", "zanzibar", "quokka"], candidate)
    assert asked.passage[0] == pytest.approx(plain.passage[0], rel=0.3)
    assert asked.session[0] == pytest.approx(plain.session[0], rel=0.3)
    assert everywhere.passage[0] < asked.passage[0] * 0.6
    alone = await index.features("ana", ["zanzibar"], await near(index, [9], reach=0))
    assert 0 < alone.passage[0] <= 1


async def test_held_is_the_share_of_the_query_that_a_passage_has_itself_by_weight(index: LexicalIndex) -> None:
    await add(index, document(0, "tea cup"), document(1, "tea spoon"), document(2, "x"))
    tea, cup, absent = (log(1 + (3 - df + 0.5) / (df + 0.5)) for df in (2, 1, 0))
    everything = await near(index, [0, 1, 2])
    for words, expected in {
        "": (0, 0, 0),
        "visa": (0, 0, 0),
        "tea": (1, 1, 0),
        "tea cup": (1, tea / (tea + cup), 0),
        "tea visa tea visa": (tea / (tea + absent), tea / (tea + absent), 0),
        "cup visa zanzibar": (cup / (cup + 2 * absent), 0, 0),
    }.items():
        held = (await index.features("ana", words.split(), everything)).held
        np.testing.assert_allclose(held, expected, atol=1e-6)
    assert len((await index.features("nobody", ["tea"], await near(index, []))).held) == 0


async def test_features_of_passages_that_were_taken_out_meanwhile_are_zero(index: LexicalIndex) -> None:
    await add(index, document(0, "tea"), document(1, "tea", chat="work"), document(2, "cup", chat="work"))
    before = await near(index, [0, 1], reach=0)
    await index.apply([], [("ana", 0)], cursor=2)
    got = await index.features("ana", ["tea"], before)
    assert got.passage[0] == got.session[0] == 0
    assert got.passage[1] > 0


async def test_rare_is_how_rare_what_a_passage_holds_is_over_all_terms(index: LexicalIndex) -> None:
    await add(index, document(0, "tea cup"), document(1, "tea spoon"), document(2, "tea"))
    tea, cup, absent = (log(1 + (3 - df + 0.5) / (df + 0.5)) for df in (3, 1, 0))
    common, rare = (tea / absent) ** 2, (cup / absent) ** 2
    everything = await near(index, [0, 1, 2])
    for words, expected in {
        "": (0, 0, 0),
        "visa": (0, 0, 0),
        "tea": (common, common, common),
        "cup": (rare, 0, 0),
        "tea cup": ((common + rare) / 2, common / 2, common / 2),
        "cup visa cup": (rare / 2, 0, 0),
    }.items():
        got = (await index.features("ana", words.split(), everything)).rare
        np.testing.assert_allclose(got, expected, atol=1e-6)
    assert common < 0.02 < rare


async def test_a_guess_that_no_passage_has_lowers_nothing(index: LexicalIndex) -> None:
    await add(index, document(0, "cat dog"), document(1, "dog"))
    got = await near(index, [0, 1])
    sure = await index.features("ana", ["cat", "unicorn"], got)
    unsure = await index.features("ana", ["cat", "unicorn"], got, EVERYWHERE, ["unicorn"])
    alone = await index.features("ana", ["cat"], got)
    assert sure.held[0] < 0.5
    np.testing.assert_allclose(unsure.held, alone.held, atol=1e-6)
    known = await index.features("ana", ["cat", "dog"], got, EVERYWHERE, ["dog"])
    np.testing.assert_array_equal(known.held, (await index.features("ana", ["cat", "dog"], got)).held)
