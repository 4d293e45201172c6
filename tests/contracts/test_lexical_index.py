"""The contract of the port LexicalIndex, over every adapter: what is found, and what a change does."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone
from math import log

import numpy as np

from goat.adapters.lexical_memory import MemoryLexicalIndex
from goat.ports.stores import LexicalIndex
from goat.records.search import EVERYWHERE, Neighbourhood, Where
from goat.testing.documents import NOON, add, document

_ = -1


async def found(
    index: LexicalIndex, words: str, where: Where = EVERYWHERE, limit: int = 10, owner: str = "ana"
) -> list[int]:
    return (await index.search(owner, words.split(), limit, where)).ords.tolist()


async def near(index: LexicalIndex, ords: list[int], reach: int = 2, where: Where = EVERYWHERE) -> Neighbourhood:
    return await index.neighbourhood("ana", np.array(ords, np.int64), reach, where)


async def around(index: LexicalIndex, number: int) -> list[int]:
    return (await near(index, [number], reach=0)).around[0].tolist()


# What is found


async def test_a_new_index_is_empty_and_stands_at_zero(index: LexicalIndex) -> None:
    assert await index.cursor() == 0
    hits = await index.search("ana", ["passport"], 10, EVERYWHERE)
    assert len(hits) == 0
    assert hits.ords.dtype == np.int64
    assert hits.scores.dtype == np.float32


async def test_the_next_search_sees_what_was_applied_and_the_cursor_moved(index: LexicalIndex) -> None:
    await index.apply([document(0, "passport drawer")], [], cursor=7)
    assert await index.cursor() == 7
    assert await found(index, "passport") == [0]
    await index.apply([document(1, "passport office")], [], cursor=9)
    assert await index.cursor() == 9
    assert sorted(await found(index, "passport")) == [0, 1]


async def test_only_the_cursor_moves_when_nothing_is_given(index: LexicalIndex) -> None:
    await index.apply([], [], cursor=5)
    assert await index.cursor() == 5


async def test_scores_are_bm25_over_the_distinct_terms(index: LexicalIndex) -> None:
    await add(index, document(0, "cat cat dog"), document(1, "cat fish fish fish fish"), document(2, "bird"))
    hits = await index.search("ana", ["cat", "dog", "cat", "unicorn"], 10, EVERYWHERE)

    def part(tf: int, length: int, df: int) -> float:
        idf = log(1 + (3 - df + 0.5) / (df + 0.5))
        return idf * 2.2 * tf / (tf + 1.2 * (0.7 + 0.3 * length / 3))

    assert hits.ords.tolist() == [0, 1]
    np.testing.assert_allclose(hits.scores, [part(2, 3, 2) + part(1, 3, 1), part(1, 5, 2)], rtol=1e-5)


async def test_no_term_no_known_term_no_owner_and_no_room_find_nothing(index: LexicalIndex) -> None:
    await add(index, document(0, "passport"))
    assert await found(index, "") == []
    assert await found(index, "visa") == []
    assert await found(index, "passport", owner="nobody") == []
    assert await found(index, "passport", limit=0) == []


async def test_equal_scores_put_the_newer_passage_first(index: LexicalIndex) -> None:
    await add(
        index,
        document(0, "tea", at=NOON),
        document(1, "tea", at=NOON + timedelta(hours=2)),
        document(2, "tea", at=NOON + timedelta(hours=1)),
        document(3, "tea", at=NOON + timedelta(hours=1)),
    )
    assert await found(index, "tea") == [1, 3, 2, 0]
    assert await found(index, "tea", limit=2) == [1, 3]


async def test_the_best_of_many_come_back_in_their_order(index: LexicalIndex) -> None:
    counts = {n: 1 + n * 7 % 60 for n in range(5_000)}
    await add(index, *[document(n, "tea " * tf, length=60) for n, tf in counts.items()])
    hits = await index.search("ana", ["tea"], 200, EVERYWHERE)
    assert hits.ords.tolist() == sorted(counts, key=lambda n: (counts[n], n), reverse=True)[:200]
    assert (np.diff(hits.scores) <= 0).all()


async def test_a_passage_of_100_000_characters_counts_a_term_at_most_255_times(index: LexicalIndex) -> None:
    await add(index, document(0, "word " * 20_000), document(1, "word " * 255, length=20_000), document(2, "other"))
    hits = await index.search("ana", ["word"], 10, EVERYWHERE)
    assert hits.ords.tolist() == [1, 0]
    assert hits.scores[0] == hits.scores[1]


async def test_a_passage_without_terms_can_be_indexed(index: LexicalIndex) -> None:
    await add(index, document(0, "tea"), document(1, ""), document(2, "tea"))
    assert await found(index, "tea") == [2, 0]
    assert await around(index, 1) == [_, _, 0, 1, 2, _, _]


async def test_f_b31_terms_of_any_script_are_found_and_removed(index: LexicalIndex) -> None:
    await add(index, document(0, "猫 好き"), document(1, "привет мир"), document(2, "straße"), document(3, "قهوة"))
    for number, term in enumerate(["猫", "привет", "straße", "قهوة"]):
        assert await found(index, term) == [number]
    await index.apply([], [("ana", 1)], cursor=2)
    assert await found(index, "привет мир") == []
    assert await found(index, "猫") == [0]


# Filters


async def test_each_filter_keeps_what_it_names(index: LexicalIndex) -> None:
    await add(
        index,
        document(0, "tea", chat="work", topic_id="t1"),
        document(1, "tea", chat="home", topic_id="t2"),
        document(2, "tea", chat="home", topic_id=""),
    )
    assert await found(index, "tea", Where(chat="home")) == [2, 1]
    assert await found(index, "tea", Where(chat="nowhere")) == []
    assert await found(index, "tea", Where(topic_id="t1")) == [0]
    assert await found(index, "tea", Where(topic_id="")) == [2]
    assert await found(index, "tea", Where(chat="home", topic_id="t2")) == [1]
    assert await found(index, "tea", Where(chat="work", topic_id="t2")) == []


async def test_a_time_filter_is_half_open_to_the_microsecond(index: LexicalIndex) -> None:
    tick = timedelta(microseconds=1)
    await add(index, *[document(n, "tea", at=NOON + n * tick) for n in range(4)])
    assert await found(index, "tea", Where(after=NOON + tick)) == [3, 2, 1]
    assert await found(index, "tea", Where(before=NOON + tick)) == [0]
    assert await found(index, "tea", Where(after=NOON + tick, before=NOON + 3 * tick)) == [2, 1]


async def test_times_are_compared_across_zones(index: LexicalIndex) -> None:
    bucharest = timezone(timedelta(hours=2))
    await add(index, document(0, "tea", at=datetime(2026, 3, 2, 14, 0, tzinfo=bucharest)))
    assert await found(index, "tea", Where(after=NOON, before=NOON + timedelta(seconds=1))) == [0]


async def test_an_episode_and_all_after_it_can_be_left_out(index: LexicalIndex) -> None:
    await add(index, *[document(n, "tea") for n in range(3)])
    assert await found(index, "tea", Where(up_to=102)) == [1, 0]


async def test_f_b24_an_entry_in_the_window_is_found_however_many_outside_rank_above_it(index: LexicalIndex) -> None:
    strong = [document(n, "tea tea tea") for n in range(30)]
    weak = document(30, "tea and much else beside", at=NOON + timedelta(days=3))
    await add(index, *strong, weak)
    assert 30 not in await found(index, "tea", limit=20)
    window = Where(after=NOON + timedelta(days=2), before=NOON + timedelta(days=4))
    assert await found(index, "tea", window, limit=20) == [30]


async def test_one_owner_neither_sees_nor_weighs_on_another(index: LexicalIndex) -> None:
    await add(index, document(0, "tea cup"), document(1, "cup"))
    before = await index.search("ana", ["tea", "cup"], 10, EVERYWHERE)
    features = await index.features("ana", ["tea", "cup"], await near(index, [0, 1]))
    others = [document(n, "tea tea cup", owner="bob", episode_id=500 + n) for n in range(20)]
    await index.apply([*others, document(0, "secret", owner="eve")], [("bob", 1)], cursor=2)

    after = await index.search("ana", ["tea", "cup"], 10, EVERYWHERE)
    np.testing.assert_array_equal(after.ords, before.ords)
    np.testing.assert_array_equal(after.scores, before.scores)
    again = await index.features("ana", ["tea", "cup"], await near(index, [0, 1]))
    np.testing.assert_array_equal(again.passage, features.passage)
    np.testing.assert_array_equal(again.session, features.session)
    assert await found(index, "secret") == []
    assert await found(index, "tea", Where(chat="home"), owner="eve") == []
    assert (await near(index, [0, 1, 2, 19])).ords.tolist() == [0, 1]


# Change


async def test_an_edit_replaces_the_passage_at_its_place(index: LexicalIndex) -> None:
    await add(index, *[document(n, f"word{n} tea") for n in range(3)])
    await index.apply([document(1, "coffee", topic_id="t9", speaker="Ion", question=True)], [], cursor=2)
    assert await found(index, "word1") == []
    assert await found(index, "tea") == [2, 0]
    assert await found(index, "coffee", Where(topic_id="t9")) == [1]
    assert await around(index, 1) == [_, _, 0, 1, 2, _, _]
    assert (await near(index, [1], reach=0)).speakers == ("Ion",)


async def test_of_two_documents_with_one_number_the_last_counts(index: LexicalIndex) -> None:
    await add(index, document(0, "tea"), document(0, "coffee"))
    assert await found(index, "tea coffee") == [0]
    assert await found(index, "tea") == []


async def test_what_is_taken_out_weighs_on_nothing_any_more(index: LexicalIndex) -> None:
    kept = [document(0, "tea cup"), document(1, "cup"), document(3, "saucer")]
    await add(index, *kept, document(2, "tea tea tea pot"), document(4, "tea"))
    await index.apply([], [("ana", 2), ("ana", 4)], cursor=2)
    hits = await index.search("ana", ["tea", "cup", "pot"], 10, EVERYWHERE)
    fresh = MemoryLexicalIndex()
    await fresh.apply(kept, [], cursor=1)
    expected = await fresh.search("ana", ["tea", "cup", "pot"], 10, EVERYWHERE)
    assert hits.ords.tolist() == expected.ords.tolist()
    np.testing.assert_allclose(hits.scores, expected.scores, rtol=1e-5)
    assert (await near(index, [1, 2, 4])).ords.tolist() == [0, 1, 3]


async def test_taking_out_what_is_not_there_is_fine(index: LexicalIndex) -> None:
    await add(index, document(0, "tea"))
    await index.apply([], [("ana", 5), ("ana", -1), ("ana", 0), ("ana", 0), ("nobody", 0)], cursor=2)
    assert await found(index, "tea") == []
    assert await index.cursor() == 2


async def test_what_is_given_and_taken_in_one_call_is_out(index: LexicalIndex) -> None:
    await index.apply([document(0, "tea"), document(1, "tea")], [("ana", 0)], cursor=1)
    assert await found(index, "tea") == [1]


async def test_a_number_that_was_taken_out_can_be_given_again(index: LexicalIndex) -> None:
    await add(index, document(0, "tea"), document(1, "tea"))
    await index.apply([], [("ana", 0)], cursor=2)
    await index.apply([document(0, "tea")], [], cursor=3)
    assert await found(index, "tea") == [1, 0]


async def test_applying_the_same_again_changes_nothing(index: LexicalIndex) -> None:
    step = [document(n, f"tea w{n % 3}") for n in range(6)]
    await index.apply(step, [("ana", 4)], cursor=3)
    before = await index.search("ana", ["tea", "w1"], 10, EVERYWHERE)
    near_before = await near(index, [0, 3], reach=3)
    await index.apply(step, [("ana", 4)], cursor=3)
    after = await index.search("ana", ["tea", "w1"], 10, EVERYWHERE)
    np.testing.assert_array_equal(after.ords, before.ords)
    np.testing.assert_allclose(after.scores, before.scores, rtol=1e-6)
    near_after = await near(index, [0, 3], reach=3)
    np.testing.assert_array_equal(near_after.around, near_before.around)


async def test_a_cleared_index_is_empty_and_can_be_filled_again(index: LexicalIndex) -> None:
    await index.apply([document(0, "tea"), document(0, "tea", owner="bob")], [], cursor=4)
    await index.clear()
    assert await index.cursor() == 0
    assert await found(index, "tea") == []
    assert await found(index, "tea", owner="bob") == []
    await index.apply([document(0, "coffee")], [], cursor=1)
    assert await found(index, "coffee tea") == [0]


# Many at once


async def test_memory_13_writers_and_readers_at_once_lose_and_duplicate_nothing(index: LexicalIndex) -> None:
    done = False

    async def write(writer: int) -> None:
        for n in range(12):
            await index.apply([document(8 * n + writer, f"tea w{writer}", chat=f"c{writer}")], [], cursor=1)

    async def read() -> None:
        while not done:
            hits = await index.search("ana", ["tea"], 200, EVERYWHERE)
            assert len(set(hits.ords.tolist())) == len(hits)
            got = await index.neighbourhood("ana", hits.ords, 2, EVERYWHERE)
            assert set(hits.ords.tolist()) <= set(got.ords.tolist())
            await index.features("ana", ["tea", "w3"], got)
            await asyncio.sleep(0)

    readers = [asyncio.create_task(read()) for _ in range(8)]
    await asyncio.gather(*(write(writer) for writer in range(8)))
    done = True
    await asyncio.gather(*readers)

    assert sorted(await found(index, "tea", limit=200)) == list(range(96))
    for writer in range(8):
        own = sorted(await found(index, f"w{writer}", limit=200))
        assert own == list(range(writer, 96, 8))
        assert await around(index, own[6]) == own[3:10]


async def test_a39_a_search_during_changes_finds_what_stays_and_nothing_that_has_gone(index: LexicalIndex) -> None:
    await add(index, *[document(n, "tea") for n in range(50)])
    came, gone = set(range(50)), set[int]()

    async def change() -> None:
        for n in range(50):
            await index.apply([document(50 + n, "tea")], [("ana", n)], cursor=2 + n)
            came.add(50 + n)
            gone.add(n)

    changing = asyncio.create_task(change())
    while not changing.done():
        came_before, gone_before = set(came), set(gone)
        hits = set((await index.search("ana", ["tea"], 200, EVERYWHERE)).ords.tolist())
        # The next change may be under way: its passage has gone already while nobody was told.
        under_way = {len(gone)}
        assert came_before - gone - under_way <= hits
        assert not hits & gone_before
        assert hits <= set(range(100))
        await asyncio.sleep(0)
    await changing
    assert sorted(await found(index, "tea", limit=200)) == list(range(50, 100))


async def test_the_passages_of_episodes_are_those_that_pass_the_filter(index: LexicalIndex) -> None:
    await add(
        index,
        document(0, "a", episode_id=7),
        document(1, "b", episode_id=8, chat="work"),
        document(2, "c", episode_id=7),
        document(3, "d", episode_id=9),
    )
    assert (await index.passages_of("ana", [8, 7, 99], EVERYWHERE)).tolist() == [0, 1, 2]
    assert (await index.passages_of("ana", [7, 8, 9], Where(chat="home", up_to=9))).tolist() == [0, 2]
    assert (await index.passages_of("ana", [], EVERYWHERE)).tolist() == []
    assert (await index.passages_of("nobody", [7], EVERYWHERE)).tolist() == []
    await index.apply([], [("ana", 2)], cursor=2)
    assert (await index.passages_of("ana", [7], EVERYWHERE)).tolist() == [0]


async def test_the_newest_passages_are_those_that_pass_the_filter_whatever_their_words(index: LexicalIndex) -> None:
    hour = timedelta(hours=1)
    await add(
        index,
        document(0, "tea", at=NOON + 2 * hour),
        document(1, "", at=NOON),
        document(2, "bread", at=NOON + hour),
        document(3, "salt", at=NOON + hour),
        document(4, "milk", at=NOON + hour, chat="work"),
    )
    assert (await index.newest("ana", 9, EVERYWHERE)).tolist() == [0, 4, 3, 2, 1]
    assert (await index.newest("ana", 2, Where(chat="home"))).tolist() == [0, 3]
    assert (await index.newest("ana", 9, Where(after=NOON, before=NOON + hour))).tolist() == [1]
    assert (await index.newest("ana", 0, EVERYWHERE)).tolist() == []
    assert (await index.newest("nobody", 9, EVERYWHERE)).tolist() == []
    await index.apply([], [("ana", 0)], cursor=2)
    assert (await index.newest("ana", 1, Where(chat="home"))).tolist() == [3]
