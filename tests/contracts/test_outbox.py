"""The contract of the port Outbox and of the replies that Journal.append commits, over every adapter."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from goat.ports.edges import Outbox
from goat.ports.stores import Forgetting, Journal
from goat.records.deliveries import Outcome, Part, PartState, Preview, Undelivered
from goat.records.episodes import NewEpisode, NewOutgoing, Outgoing, Role
from goat.testing.clock import FakeClock

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def said(text: str = "hello", key: str | None = None, owner: str = "ana") -> NewEpisode:
    return NewEpisode(owner, "home", Role.ASSISTANT, text, NOON, "x1", key=key)


def reply(text: str = "hi", owner: str = "ana", chat: str = "home", channel: str = "telegram") -> NewOutgoing:
    return NewOutgoing(owner, chat, channel, text)


async def pending_texts(outbox: Outbox, channel: str = "telegram", owner: str = "ana", chat: str = "home") -> list[str]:
    return [outgoing.text for outgoing in await outbox.pending(channel, owner, chat)]


async def test_a_reply_waits_with_the_last_episode_of_its_call(
    journal: Journal, outbox: Outbox, clock: FakeClock
) -> None:
    _, last = await journal.append([said("question"), said("answer")], [reply("ți-am răspuns 🐐")])
    [waiting] = await outbox.pending("telegram", "ana", "home")
    expected = Outgoing(waiting.id, "ana", "home", "telegram", "ți-am răspuns 🐐", last.episode.id, created=clock.now())
    assert waiting == expected


async def test_replies_wait_oldest_first(journal: Journal, outbox: Outbox, clock: FakeClock) -> None:
    await journal.append([said()], [reply("a"), reply("b")])
    clock.move(-3600)
    await journal.append([said()], [reply("c")])
    waiting = await outbox.pending("telegram", "ana", "home")
    assert [outgoing.text for outgoing in waiting] == ["a", "b", "c"]
    assert waiting[0].created - waiting[2].created == timedelta(hours=1)


async def test_only_the_named_channel_owner_and_chat_is_answered(journal: Journal, outbox: Outbox) -> None:
    await journal.append(
        [said()],
        [
            reply("mine"),
            reply("other channel", channel="terminal"),
            reply("other chat", chat="work"),
            reply("other owner", owner="bob"),
        ],
    )
    assert await pending_texts(outbox) == ["mine"]
    assert await pending_texts(outbox, channel="terminal") == ["other channel"]
    assert await pending_texts(outbox, chat="work") == ["other chat"]
    assert await pending_texts(outbox, owner="bob") == ["other owner"]
    assert await pending_texts(outbox, owner="nobody") == []


async def test_an_acknowledged_reply_is_not_handed_out_again(journal: Journal, outbox: Outbox) -> None:
    await journal.append([said()], [reply("a"), reply("b"), reply("c")])
    first, second, _ = await outbox.pending("telegram", "ana", "home")
    await outbox.done([second.id])
    assert await pending_texts(outbox) == ["a", "c"]
    await outbox.done([first.id, second.id])
    assert await pending_texts(outbox) == ["c"]


async def test_an_unknown_id_can_be_acknowledged(journal: Journal, outbox: Outbox) -> None:
    await journal.append([said()], [reply("a")])
    await outbox.done([])
    await outbox.done([987_654])
    assert await pending_texts(outbox) == ["a"]


async def test_a_redelivered_message_brings_no_second_reply(journal: Journal, outbox: Outbox) -> None:
    await journal.append([said(key="5")], [reply("the reply")])
    await journal.append([said(key="5")], [reply("the reply again")])
    assert await pending_texts(outbox) == ["the reply"]


async def test_a_reply_goes_out_when_only_an_earlier_episode_of_the_call_was_known(
    journal: Journal, outbox: Outbox
) -> None:
    await journal.append([said("question", key="5")])
    _, answer = await journal.append([said("question", key="5"), said("answer", key="6")], [reply("answer")])
    [waiting] = await outbox.pending("telegram", "ana", "home")
    assert waiting.episode_id == answer.episode.id


async def test_thousands_of_replies_are_acknowledged_in_one_call(journal: Journal, outbox: Outbox) -> None:
    await journal.append([said()], [reply(str(number)) for number in range(1_201)])
    waiting = await outbox.pending("telegram", "ana", "home")
    assert [outgoing.text for outgoing in waiting] == [str(number) for number in range(1_201)]
    await outbox.done([outgoing.id for outgoing in waiting])
    assert await pending_texts(outbox) == []


async def test_replies_of_concurrent_turns_are_all_kept_with_their_own_episodes(
    journal: Journal, outbox: Outbox
) -> None:
    await asyncio.gather(*(journal.append([said(f"text {n}")], [reply(f"text {n}")]) for n in range(50)))
    waiting = await outbox.pending("telegram", "ana", "home")
    carried = await journal.episodes("ana", [outgoing.episode_id for outgoing in waiting])
    assert [episode.text for episode in carried] == [outgoing.text for outgoing in waiting]
    assert len({outgoing.text for outgoing in waiting}) == 50


async def test_what_belongs_to_a_reply_comes_back_with_it(journal: Journal, outbox: Outbox) -> None:
    extra = {"turn": "5:7", "reply_to": "12", "note": "mâine 🐐"}
    await journal.append([said()], [NewOutgoing("ana", "home", "telegram", "hi", extra)])
    [waiting] = await outbox.pending("telegram", "ana", "home")
    assert waiting.extra == extra


async def test_a_reply_without_an_episode_waits_among_the_others(
    journal: Journal, outbox: Outbox, clock: FakeClock
) -> None:
    await journal.append([said()], [reply("answer")])
    notice = await outbox.put(NewOutgoing("ana", "home", "telegram", "notice", {"plain": "yes"}))
    await journal.append([said()], [reply("next answer")])
    assert notice.episode_id is None
    assert notice.created == clock.now()
    waiting = await outbox.pending("telegram", "ana", "home")
    assert [one.text for one in waiting] == ["answer", "notice", "next answer"]
    assert waiting[1] == notice


async def test_a_reply_can_be_put_before_anything_was_said(outbox: Outbox) -> None:
    put = await outbox.put(reply("welcome", owner="new", chat="never seen"))
    assert await outbox.pending("telegram", "new", "never seen") == [put]


async def test_a_reply_with_a_key_is_put_once_even_when_it_was_delivered(outbox: Outbox) -> None:
    first = NewOutgoing("ana", "home", "telegram", "no answer", key="7:end")
    assert not await outbox.said("telegram", "7:end")
    put = await outbox.put(first)
    assert put is not None
    assert await outbox.said("telegram", "7:end")
    assert await outbox.put(NewOutgoing("ana", "home", "telegram", "again", key="7:end")) is None
    assert await outbox.pending("telegram", "ana", "home") == [put]
    await outbox.done([put.id])
    assert await outbox.said("telegram", "7:end")
    assert await outbox.put(first) is None
    assert await pending_texts(outbox) == []


async def test_keys_count_within_their_channel_and_replies_without_one_are_all_put(outbox: Outbox) -> None:
    for channel, key in [("telegram", "7:end"), ("telegram", "7:files"), ("terminal", "7:end"), ("telegram", None)] * 2:
        await outbox.put(NewOutgoing("ana", "home", channel, f"{key}", key=key))
    assert await pending_texts(outbox) == ["7:end", "7:files", "None", "None"]
    assert await pending_texts(outbox, channel="terminal") == ["7:end"]
    assert not await outbox.said("terminal", "7:files")


async def test_who_waits_longest_comes_first(journal: Journal, outbox: Outbox) -> None:
    assert await outbox.waiting("telegram") == []
    first = await outbox.put(reply("1", owner="bob", chat="work"))
    await journal.append([said()], [reply("2")])
    await outbox.put(reply("3", owner="bob", chat="work"))
    await outbox.put(reply("4", channel="terminal"))
    assert await outbox.waiting("telegram") == [("bob", "work"), ("ana", "home")]
    await outbox.done([first.id])
    assert await outbox.waiting("telegram") == [("ana", "home"), ("bob", "work")]


async def test_the_parts_of_a_reply_stand_where_they_were_marked(outbox: Outbox) -> None:
    put = await outbox.put(reply())
    await outbox.mark(put.id, Part(1, PartState.SENDING))
    await outbox.mark(put.id, Part(0, PartState.SENT, message=77))
    [waiting] = await outbox.pending("telegram", "ana", "home")
    assert waiting.parts == (Part(0, PartState.SENT, 77), Part(1, PartState.SENDING))
    await outbox.mark(put.id, Part(1, PartState.UNKNOWN))
    [waiting] = await outbox.pending("telegram", "ana", "home")
    assert waiting.parts == (Part(0, PartState.SENT, 77), Part(1, PartState.UNKNOWN))


async def test_a_part_can_be_taken_back(outbox: Outbox) -> None:
    put, other = await outbox.put(reply("a")), await outbox.put(reply("b"))
    for one in (put, other):
        await outbox.mark(one.id, Part(2, PartState.SENDING))
    await outbox.mark(put.id, None, 2)
    await outbox.mark(put.id, None, 3)
    assert [one.parts for one in await outbox.pending("telegram", "ana", "home")] == [
        (),
        (Part(2, PartState.SENDING),),
    ]


async def test_a_part_of_a_reply_that_is_gone_is_not_kept(outbox: Outbox) -> None:
    put = await outbox.put(reply())
    await outbox.done([put.id])
    await outbox.mark(put.id, Part(0, PartState.SENT, 5))
    await outbox.mark(987_654, Part(0, PartState.SENT, 5))
    assert await outbox.pending("telegram", "ana", "home") == []


async def test_what_did_not_arrive_is_listed_newest_first(outbox: Outbox, clock: FakeClock) -> None:
    began = clock.now()
    old, refused, unsure, fine, elsewhere = [
        await outbox.put(reply(str(number), channel=channel))
        for number, channel in enumerate(["telegram"] * 4 + ["terminal"])
    ]
    await outbox.done([old.id], Outcome.UNDELIVERED, "long ago")
    clock.move(60)
    await outbox.done([refused.id], Outcome.UNDELIVERED, "bot was blocked by the user")
    clock.move(60)
    await outbox.done([unsure.id], Outcome.UNKNOWN, "no answer in 30 s")
    await outbox.done([fine.id])
    await outbox.done([elsewhere.id], Outcome.UNDELIVERED, "another channel")
    assert await outbox.undelivered("telegram", began) == [
        Undelivered("ana", "home", Outcome.UNKNOWN, "no answer in 30 s", began + timedelta(seconds=120)),
        Undelivered("ana", "home", Outcome.UNDELIVERED, "bot was blocked by the user", began + timedelta(seconds=60)),
    ]


async def test_the_first_outcome_stands(outbox: Outbox, clock: FakeClock) -> None:
    before = clock.now() - timedelta(seconds=1)
    put = await outbox.put(reply())
    await outbox.done([put.id], Outcome.UNKNOWN, "dropped")
    await outbox.done([put.id])
    assert [one.reason for one in await outbox.undelivered("telegram", before)] == ["dropped"]


async def test_a_preview_is_kept_replaced_and_dropped(outbox: Outbox) -> None:
    place = ("telegram", "ana", "home")
    assert await outbox.preview(*place) is None
    await outbox.keep_preview(*place, Preview("turn 1", 40))
    await outbox.keep_preview("telegram", "bob", "home", Preview("turn 9", 50))
    assert await outbox.preview(*place) == Preview("turn 1", 40)
    await outbox.keep_preview(*place, Preview("turn 2", 41))
    assert await outbox.preview(*place) == Preview("turn 2", 41)
    await outbox.keep_preview(*place, None)
    await outbox.keep_preview(*place, None)
    assert await outbox.preview(*place) is None
    assert await outbox.preview("telegram", "bob", "home") == Preview("turn 9", 50)


async def test_a_preview_becomes_the_first_part_of_the_answer_of_its_turn(outbox: Outbox) -> None:
    place = ("telegram", "ana", "home")
    put = await outbox.put(reply())
    assert await outbox.take_preview(put, "turn 1") is None
    await outbox.keep_preview(*place, Preview("turn 1", 40))
    taken = await outbox.take_preview(put, "turn 1")
    assert taken == Part(0, PartState.SENDING, 40)
    assert await outbox.preview(*place) is None
    assert (await outbox.pending(*place))[0].parts == (taken,)
    assert await outbox.take_preview(put, "turn 1") is None


async def test_the_preview_of_another_turn_is_not_taken_and_goes(outbox: Outbox) -> None:
    place = ("telegram", "ana", "home")
    put = await outbox.put(reply())
    await outbox.keep_preview(*place, Preview("turn 1", 40))
    assert await outbox.take_preview(put, "turn 2") is None
    assert await outbox.preview(*place) is None
    assert (await outbox.pending(*place))[0].parts == ()


async def test_with_an_episode_its_reply_and_the_parts_of_it_are_forgotten(
    journal: Journal, outbox: Outbox, forgetting: Forgetting
) -> None:
    [appended] = await journal.append([said("a secret")], [reply("a secret")])
    [waiting] = await outbox.pending("telegram", "ana", "home")
    await outbox.mark(waiting.id, Part(0, PartState.SENDING))
    await forgetting.forget("ana", [appended.episode.id])
    assert await outbox.pending("telegram", "ana", "home") == []
    assert await outbox.waiting("telegram") == []
