"""The contract of the port Journal, over every adapter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goat.ports.stores import Embeddings, Journal
from goat.records.episodes import ArchiveCounts, Episode, NewEpisode, NewOutgoing, Role, Span
from goat.records.search import VectorRow

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)

SCRIPTS = {
    "romanian": "Ștefan și Țugui au fost la Iași, în țară.",
    "russian": "Съешь же ещё этих мягких французских булок",
    "greek": "Ξεσκεπάζω τὴν ψυχοφθόρα βδελυγμία",
    "chinese": "天地玄黃，宇宙洪荒。日月盈昃，辰宿列張。",
    "japanese": "いろはにほへと ちりぬるを カタカナ 漢字",
    "korean": "키스의 고유조건은 입술끼리 만나야 하고",
    "arabic": "نص حكيم له سر قاطع وذو شأن عظيم",
    "hebrew": "דג סקרן שט בים מאוכזב ולפתע מצא חברה",
    "hindi": "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा",
    "thai": "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า",
    "tamil": "யாமறிந்த மொழிகளிலே தமிழ்மொழி போல்",
    "georgian": "სწრაფი ყავისფერი მელა",
    "amharic": "የሰው ልጅ ሁሉ ሲወለድ ነጻና",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽",
    "combining": "e\u0301 is not \u00e9, and a\u0308\u0304 has two marks",
    "invisible": "left\u200fright\u202emarks\u200b\ufeff",
    "highest": "\U0010ffff\U00010000",
    "controls": "a\tb\r\nc\x0bd\x1be\x7f",
    "quotes": "'; DROP TABLE episode; -- \" ` \\ % _ :name ?",
    "empty": "",
    "blank": "  \n ",
}


def said(text: str = "hello", owner: str = "ana", chat: str = "home", **more: Any) -> NewEpisode:
    fields = {"role": Role.USER, "at": NOON, "exchange_id": "x1", **more}
    return NewEpisode(owner=owner, chat=chat, text=text, **fields)


def reply(text: str = "hi", owner: str = "ana", chat: str = "home") -> NewOutgoing:
    return NewOutgoing(owner, chat, "telegram", text)


async def append(journal: Journal, *new: NewEpisode) -> list[Episode]:
    return [appended.episode for appended in await journal.append(new)]


# Appending


async def test_an_appended_episode_comes_back_with_every_field(journal: Journal) -> None:
    new = NewEpisode(
        owner="ana",
        chat="home",
        role=Role.ASSISTANT,
        text="the reply",
        at=NOON,
        exchange_id="x9",
        speaker="GOAT",
        topic_id="t4",
        tags=("l2_full_archive", "ștampilă"),
        source="telegram",
        key="77:12",
        passages=(Span(0, 9),),
        meta={"model": "m", "naïve": "ü"},
    )
    [stored] = await append(journal, new)
    assert stored == Episode(
        id=stored.id,
        uid=stored.uid,
        owner="ana",
        chat="home",
        role=Role.ASSISTANT,
        text="the reply",
        at=NOON,
        exchange_id="x9",
        speaker="GOAT",
        topic_id="t4",
        tags=("l2_full_archive", "ștampilă"),
        source="telegram",
        key="77:12",
        meta={"model": "m", "naïve": "ü"},
    )
    assert await journal.episodes("ana", [stored.id]) == [stored]


async def test_ids_grow_in_the_order_of_the_call_and_uids_differ(journal: Journal) -> None:
    first = await append(journal, said("a"), said("b"))
    second = await append(journal, said("c"))
    everything = first + second
    assert [episode.text for episode in everything] == ["a", "b", "c"]
    assert all(one.id < next_one.id for one, next_one in pairwise(everything))
    assert len({episode.uid for episode in everything}) == 3


async def test_an_empty_append_changes_nothing(journal: Journal) -> None:
    assert await journal.append([]) == []
    assert await journal.head() == 0


async def test_a_reply_without_an_episode_is_refused(journal: Journal) -> None:
    with pytest.raises(ValueError, match="needs an episode"):
        await journal.append([], [reply()])


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS.keys())
async def test_text_of_any_script_comes_back_unchanged(journal: Journal, text: str) -> None:
    [stored] = await append(
        journal, said(text, speaker=text, topic_id=text, tags=(text,), source=text, key=text, meta={text: text})
    )
    [read] = await journal.episodes("ana", [stored.id])
    assert (read.text, read.speaker, read.topic_id, read.tags) == (text, text, text, (text,))
    assert (read.source, read.key, read.meta) == (text, text, {text: text})


@pytest.mark.parametrize("name", SCRIPTS.values(), ids=SCRIPTS.keys())
async def test_owners_and_chats_may_have_any_name(journal: Journal, name: str) -> None:
    [stored] = await append(journal, said(owner=name, chat=name, exchange_id=name))
    assert await journal.recent(name, name, 5) == [stored]
    assert await journal.exchange(name, [name]) == [stored]


async def test_a_text_of_a_megabyte_comes_back_whole(journal: Journal) -> None:
    text = "".join(f"rândul {number} 漢字 🐐\n" for number in range(40_000))
    assert len(text.encode()) > 1_000_000
    [stored] = await append(journal, said(text, passages=(Span(0, len(text)),)))
    [read] = await journal.episodes("ana", [stored.id])
    assert read.text == text


@pytest.mark.parametrize("text", ["before\x00after", "lone \ud800 surrogate"], ids=["nul", "surrogate"])
async def test_text_is_kept_to_the_last_character_or_refused_as_a_whole(journal: Journal, text: str) -> None:
    try:
        [stored] = await append(journal, said(text))
    except UnicodeEncodeError:
        assert await journal.recent("ana", "home", 5) == []
    else:
        [read] = await journal.episodes("ana", [stored.id])
        assert read.text == text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(
    st.datetimes(
        min_value=datetime(1900, 1, 1),  # noqa: DTZ001 - hypothesis takes the zone beside it
        max_value=datetime(2200, 1, 1),  # noqa: DTZ001
        timezones=st.builds(timezone, st.timedeltas(timedelta(hours=-23), timedelta(hours=23))),
    )
)
async def test_a_message_keeps_its_moment_to_the_microsecond(journal: Journal, at: datetime) -> None:
    [stored] = await append(journal, said(at=at))
    [read] = await journal.episodes("ana", [stored.id])
    assert read.at == at == stored.at
    assert read.at.utcoffset() == timedelta(0)


async def test_times_need_not_follow_the_order_of_arrival(journal: Journal) -> None:
    await append(journal, said("newer", at=NOON), said("older", at=NOON - timedelta(days=400)))
    assert [episode.text for episode in await journal.recent("ana", "home", 2)] == ["newer", "older"]


async def test_the_first_episode_of_a_chat_is_the_one_that_arrived_first(journal: Journal) -> None:
    assert await journal.first("ana", "home") is None
    await append(journal, said("elsewhere", chat="work"), said("one"), said("two"))
    await append(journal, said("before them", owner="bob"))
    first = await journal.first("ana", "home")
    assert first is not None
    assert first.text == "one"


# Redelivery


async def test_a51_a_redelivered_message_is_recognised_and_not_written_again(journal: Journal) -> None:
    [first] = await journal.append([said("once", source="telegram", key="5")])
    [second] = await journal.append([said("once more", source="telegram", key="5", chat="other")])
    assert (first.duplicate, second.duplicate) == (False, True)
    assert second.episode == first.episode
    assert await journal.recent("ana", "home", 10) == [first.episode]
    assert await journal.recent("ana", "other", 10) == []


async def test_a_message_that_comes_twice_in_one_call_is_written_once(journal: Journal) -> None:
    one, two = await journal.append([said("a", key="5"), said("a", key="5")])
    assert (one.duplicate, two.duplicate) == (False, True)
    assert one.episode == two.episode


async def test_the_same_key_of_another_source_is_another_message(journal: Journal) -> None:
    appended = await journal.append([said(source="telegram", key="5"), said(source="import", key="5")])
    assert [one.duplicate for one in appended] == [False, False]


async def test_messages_without_a_key_are_never_the_same(journal: Journal) -> None:
    appended = await journal.append([said("same"), said("same")])
    assert [one.duplicate for one in appended] == [False, False]


async def test_a_redelivery_does_not_move_the_head(journal: Journal) -> None:
    await journal.append([said(key="5")])
    head = await journal.head()
    await journal.append([said(key="5")])
    assert await journal.head() == head
    assert await journal.changes(head, 10) == []


async def test_an_owner_never_gets_another_owners_message_for_its_key(journal: Journal) -> None:
    [mine] = await journal.append([said("mine", owner="ana", key="5")])
    [yours] = await journal.append([said("yours", owner="bob", key="5")])
    assert not yours.duplicate
    assert (mine.episode.text, yours.episode.text) == ("mine", "yours")


# Reading


async def test_episodes_come_in_the_order_asked_for_and_unknown_ids_are_left_out(journal: Journal) -> None:
    a, b, c = await append(journal, said("a"), said("b"), said("c"))
    assert await journal.episodes("ana", [c.id, 99_999, a.id, -1, b.id]) == [c, a, b]
    assert await journal.episodes("ana", []) == []


async def test_thousands_of_ids_are_answered_in_one_call(journal: Journal) -> None:
    stored = await append(journal, *(said(f"message {number}") for number in range(1_203)))
    assert await journal.episodes("ana", [episode.id for episode in reversed(stored)]) == stored[::-1]


async def test_an_exchange_brings_its_episodes_oldest_first(journal: Journal) -> None:
    a, _, c, d = await append(
        journal, said("a", exchange_id="x"), said(exchange_id="y"), said("c", exchange_id="z"), said(exchange_id="x")
    )
    assert await journal.exchange("ana", ["z", "x", "unknown", "x"]) == [a, c, d]
    assert await journal.exchange("ana", []) == []


async def test_recent_gives_the_newest_of_one_chat_oldest_first(journal: Journal) -> None:
    stored = await append(journal, *(said(str(number), chat="home" if number % 2 else "work") for number in range(9)))
    home = [episode for episode in stored if episode.chat == "home"]
    assert await journal.recent("ana", "home", 3) == home[-3:]
    assert await journal.recent("ana", "home", 100) == home
    assert await journal.recent("ana", "home", 2, before=home[-1].id) == home[-3:-1]
    assert await journal.recent("ana", "home", 2, before=home[0].id) == []


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_of_nothing_gives_nothing(journal: Journal, limit: int) -> None:
    await append(journal, said())
    assert await journal.recent("ana", "home", limit) == []
    assert await journal.changes(0, limit) == []


async def test_nothing_is_known_of_a_stranger(journal: Journal) -> None:
    assert await journal.recent("nobody", "home", 5) == []
    assert await journal.episodes("nobody", [1]) == []
    assert await journal.exchange("nobody", ["x1"]) == []
    assert await journal.locate("nobody", [0]) == {}
    assert await journal.counts("nobody", "e5") == ArchiveCounts(0, 0, 0, 0)


async def test_two_owners_with_the_same_names_never_see_each_other(journal: Journal, embeddings: Embeddings) -> None:
    [anas] = await append(journal, said("ana's", owner="ana", passages=(Span(0, 5),)))
    [bobs] = await append(journal, said("bob's", owner="bob", passages=(Span(0, 5),)))
    await embeddings.put("e5", [row("bob", 0, bobs.id)], await journal.head())
    assert await journal.recent("ana", "home", 10) == [anas]
    assert await journal.exchange("ana", ["x1"]) == [anas]
    assert await journal.episodes("ana", [anas.id, bobs.id]) == [anas]
    assert await journal.locate("ana", [0]) == {0: anas.id}
    assert await journal.counts("ana", "e5") == ArchiveCounts(episodes=1, passages=1, embedded=0, chats=1)
    assert await journal.counts("bob", "e5") == ArchiveCounts(episodes=1, passages=1, embedded=1, chats=1)


def row(owner: str, number: int, episode_id: int) -> VectorRow:
    return VectorRow(owner, number, episode_id, "home", NOON, np.array([0.6, 0.8], dtype=np.float32))
