"""The contract of the port Journal towards its followers: passages, changes, topics, and many callers at once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np

from goat.ports.stores import Embeddings, Journal
from goat.records.episodes import ArchiveCounts, Episode, NewEpisode, NewOutgoing, Passage, Role, Span
from goat.records.search import VectorRow

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def said(text: str = "hello", owner: str = "ana", chat: str = "home", **more: Any) -> NewEpisode:
    fields = {"role": Role.USER, "at": NOON, "exchange_id": "x1", **more}
    return NewEpisode(owner=owner, chat=chat, text=text, **fields)


async def append(journal: Journal, *new: NewEpisode) -> list[Episode]:
    return [appended.episode for appended in await journal.append(new)]


def row(owner: str, number: int, episode_id: int) -> VectorRow:
    return VectorRow(owner, number, episode_id, "home", NOON, np.array([0.6, 0.8], dtype=np.float32))


# Passages and changes


async def test_passages_are_numbered_densely_within_their_owner(journal: Journal) -> None:
    await append(
        journal,
        said("a", passages=(Span(0, 1), Span(1, 2))),
        said("b", owner="bob", passages=(Span(0, 1),)),
        said("unindexed"),
        said("c", passages=(Span(0, 1),)),
    )
    numbers = {
        (passage.owner, passage.ord): (passage.part, passage.span)
        for change in await journal.changes(0, 10)
        for passage in change.passages
    }
    assert numbers == {
        ("ana", 0): (0, Span(0, 1)),
        ("ana", 1): (1, Span(1, 2)),
        ("ana", 2): (0, Span(0, 1)),
        ("bob", 0): (0, Span(0, 1)),
    }


async def test_changes_are_those_of_all_owners_in_order_each_once(journal: Journal) -> None:
    stored = await append(journal, *(said(str(n), owner=f"owner {n % 3}", passages=(Span(0, 1),)) for n in range(7)))
    changes = await journal.changes(0, 100)
    assert [change.episode for change in changes] == stored
    assert [change.episode_id for change in changes] == [episode.id for episode in stored]
    assert [change.owner for change in changes] == [episode.owner for episode in stored]
    assert all(change.passages[0].episode_id == change.episode_id for change in changes)
    assert all(one.seq < next_one.seq for one, next_one in pairwise(changes))
    assert changes[-1].seq == await journal.head()


async def test_changes_can_be_read_page_by_page(journal: Journal) -> None:
    await append(journal, *(said(str(number)) for number in range(11)))
    everything, cursor = await journal.changes(0, 100), 0
    pages = []
    while page := await journal.changes(cursor, 4):
        pages.append(len(page))
        assert page == [change for change in everything if change.seq > cursor][:4]
        cursor = page[-1].seq
    assert pages == [4, 4, 3]
    assert cursor == await journal.head()


async def test_a_large_page_of_changes_carries_every_passage(journal: Journal) -> None:
    await append(journal, *(said("ab", passages=(Span(0, 1), Span(1, 2))) for _ in range(701)))
    changes = await journal.changes(0, 1_000)
    assert [passage.ord for change in changes for passage in change.passages] == list(range(1_402))


async def test_the_head_is_zero_in_an_empty_journal_and_grows_with_each_change(journal: Journal) -> None:
    heads = [await journal.head()]
    for _ in range(3):
        await append(journal, said())
        heads.append(await journal.head())
    assert heads[0] == 0
    assert all(one < next_one for one, next_one in pairwise(heads))


async def test_passages_are_located_by_number_whatever_integers_carry_it(journal: Journal) -> None:
    a, b = await append(journal, said(passages=(Span(0, 1), Span(1, 2))), said(passages=(Span(0, 1),)))
    assert await journal.locate("ana", [2, 0, 1, 7, -1]) == {0: a.id, 1: a.id, 2: b.id}
    assert await journal.locate("ana", list(np.array([2, 1], dtype=np.int64))) == {1: a.id, 2: b.id}


async def test_passages_are_read_by_number_whatever_integers_carry_it(journal: Journal) -> None:
    a, b = await append(journal, said(passages=(Span(0, 1), Span(1, 2))), said(passages=(Span(0, 3),)))
    await append(journal, said("not ana's", owner="bob", passages=(Span(0, 9),)))
    found = await journal.passages("ana", [2, *np.array([1], dtype=np.int64), 7, -1])
    assert found == {1: Passage("ana", 1, a.id, 1, Span(1, 2)), 2: Passage("ana", 2, b.id, 0, Span(0, 3))}
    assert await journal.passages("nobody", [0]) == {}


async def test_counts_say_how_much_an_archive_holds(journal: Journal, embeddings: Embeddings) -> None:
    one, _ = await append(journal, said(passages=(Span(0, 1), Span(1, 2))), said(chat="work"))
    await append(journal, said(passages=(Span(0, 1),)))
    await embeddings.put("e5", [row("ana", 0, one.id), row("ana", 1, one.id)], cursor=1)
    await embeddings.put("minilm", [row("ana", 0, one.id)], cursor=1)
    assert await journal.counts("ana", "e5") == ArchiveCounts(episodes=3, passages=3, embedded=2, chats=2)
    assert (await journal.counts("ana", "minilm")).embedded == 1
    assert (await journal.counts("ana", "unknown")).embedded == 0


# Topics that come later


async def test_an_exchange_gets_its_topic_with_a_later_append(journal: Journal) -> None:
    await append(journal, said("question", exchange_id="x1"), said("elsewhere", exchange_id="x2"))
    await journal.append([said("answer", exchange_id="x1", topic_id="t1")], topics={"x1": "t1"})
    topics = {episode.text: episode.topic_id for episode in await journal.recent("ana", "home", 9)}
    assert topics == {"question": "t1", "elsewhere": "", "answer": "t1"}


async def test_an_episode_that_gets_its_topic_is_a_new_change_and_stands_once(journal: Journal) -> None:
    question, other = await append(journal, said("q", exchange_id="x1", passages=(Span(0, 1),)), said(exchange_id="x2"))
    before = await journal.head()
    [answer] = await journal.append([said("a", exchange_id="x1", topic_id="t1")], topics={"x1": "t1"})
    changes = await journal.changes(0, 10)
    assert [change.episode_id for change in changes] == [other.id, question.id, answer.episode.id]
    assert [change.episode_id for change in await journal.changes(before, 10)] == [question.id, answer.episode.id]
    assert [passage.ord for passage in changes[1].passages] == [0]
    assert changes[-1].seq == await journal.head()


async def test_a_topic_that_stands_is_not_replaced(journal: Journal) -> None:
    [kept] = await append(journal, said(exchange_id="x1", topic_id="t0"))
    head = await journal.head()
    await journal.append([said(exchange_id="x2")], topics={"x1": "t1", "unknown": "t2"})
    assert await journal.episodes("ana", [kept.id]) == [kept]
    assert [change.episode_id for change in await journal.changes(head, 10)] == [kept.id + 1]


async def test_an_append_comes_back_with_the_topic_that_it_brings_itself(journal: Journal) -> None:
    [appended] = await journal.append([said(exchange_id="x1")], topics={"x1": "t1"})
    assert appended.episode.topic_id == "t1"
    assert await journal.episodes("ana", [appended.episode.id]) == [appended.episode]
    assert await journal.head() == 1


async def test_a_redelivered_message_comes_back_with_the_topic_that_it_got(journal: Journal) -> None:
    await journal.append([said(exchange_id="x1", key="5")])
    await journal.append([said(exchange_id="x2")], topics={"x1": "t1"})
    [again] = await journal.append([said(exchange_id="x1", key="5")])
    assert (again.duplicate, again.episode.topic_id) == (True, "t1")


async def test_another_owners_exchange_of_the_same_name_gets_no_topic(journal: Journal) -> None:
    [bobs] = await append(journal, said(owner="bob", exchange_id="x1"))
    await append(journal, said(owner="ana", exchange_id="x1"))
    await journal.append([said(owner="ana", exchange_id="x2")], topics={"x1": "t1"})
    assert await journal.episodes("bob", [bobs.id]) == [bobs]


async def test_many_exchanges_get_their_topics_at_once(journal: Journal) -> None:
    stored = await append(journal, *(said(exchange_id=f"x{number}") for number in range(601)))
    await journal.append([said()], topics={f"x{number}": f"t{number}" for number in range(601)})
    topics = [episode.topic_id for episode in await journal.episodes("ana", [episode.id for episode in stored])]
    assert topics == [f"t{number}" for number in range(601)]


# Concurrency


async def test_memory_13_concurrent_appends_are_all_kept_once_and_numbered_without_gaps(journal: Journal) -> None:
    calls = [
        journal.append(
            [said(f"message {number}", passages=(Span(0, 7),))], [NewOutgoing("ana", "home", "telegram", "hi")]
        )
        for number in range(50)
    ]
    stored = [appended.episode for [appended] in await asyncio.gather(*calls)]
    changes = await journal.changes(0, 100)
    assert sorted(episode.text for episode in stored) == sorted(f"message {number}" for number in range(50))
    assert {change.episode_id for change in changes} == {episode.id for episode in stored}
    assert len(changes) == 50
    assert [change.passages[0].ord for change in changes] == list(range(50))


async def test_memory_13_of_concurrent_deliveries_of_one_message_exactly_one_is_written(journal: Journal) -> None:
    calls = [journal.append([said(f"try {number}", key="5")]) for number in range(20)]
    results = [appended for [appended] in await asyncio.gather(*calls)]
    assert sum(not appended.duplicate for appended in results) == 1
    assert len({appended.episode.id for appended in results}) == 1
    assert len(await journal.recent("ana", "home", 50)) == 1
