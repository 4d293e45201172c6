"""The contract of the port Outbox and of the replies that Journal.append commits, over every adapter."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from goat.ports.edges import Outbox
from goat.ports.stores import Journal
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
