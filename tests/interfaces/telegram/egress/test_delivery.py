"""Group B of the field reports, the deliveries: nothing is lost, said twice or put out of order."""

from __future__ import annotations

from typing import Any

import pytest

from goat.adapters.outbox_memory import MemoryOutbox
from goat.errors import BackendUnavailable
from goat.interfaces.telegram.address import CHANNEL, Address
from goat.interfaces.telegram.envelope import Envelope
from goat.records.deliveries import Outcome, Part, PartState, Preview
from goat.records.episodes import NewOutgoing
from goat.testing.bot_api import Fault, Person

THREE = "\n\n".join(letter * 3000 for letter in "abc")
"""A text of three messages."""


def first_letters(answers: list[str]) -> list[str]:
    return [answer[0] for answer in answers]


@pytest.mark.parametrize(
    "fault",
    [Fault.drop().after_effect(), Fault.page(502).after_effect(), Fault.cut_short(), Fault.reset().after_effect()],
)
async def test_telegram_b12_a_message_whose_answer_is_lost_is_not_sent_twice(
    desk: Any, ana: Person, fault: Fault
) -> None:
    desk.api.fails("sendMessage", fault)
    async with desk.egress() as egress:
        await desk.answer(egress, ana, "first")
        await desk.answer(egress, ana, "second")
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == ["first", "second"]
    [(outcome, reason)] = await desk.outcomes()
    assert outcome is Outcome.UNKNOWN
    assert [one.text for one in desk.doubted] == ["first"]
    assert [notice.text for notice in desk.notices] == [f"a reply to telegram:{ana.id} is unknown: {reason}"]


async def test_telegram_b12_a_connection_that_is_refused_is_tried_again(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with desk.api.down():
            await desk.answer(egress, ana, "hello")
            for seconds in (0.75, 1.5):
                await desk.asleep(seconds)
                desk.clock.move(3)
            await desk.asleep(3)
        desk.clock.move(60)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == ["hello"]
    assert await desk.undelivered() == []


async def test_telegram_b12_only_the_doubtful_part_of_a_long_answer_is_in_doubt(desk: Any, ana: Person) -> None:
    desk.api.fails("sendMessage", Fault.drop(), skip=1)
    async with desk.egress() as egress:
        await desk.answer(egress, ana, THREE)
        await desk.delivered(egress)
    assert first_letters(desk.api.screen(ana).answers) == ["a", "c"]
    assert [outcome for outcome, _ in await desk.outcomes()] == [Outcome.UNKNOWN]


@pytest.mark.parametrize("seconds", [3, 238])
async def test_telegram_b13_what_is_put_off_comes_later_in_order_and_holds_up_nobody(
    desk: Any, ana: Person, bob: Person, seconds: int
) -> None:
    desk.api.fails("sendMessage", Fault.too_many(seconds), skip=1, chat=ana.chat)
    async with desk.egress() as egress:
        await desk.answer(egress, ana, THREE)
        await desk.answer(egress, ana, "next")
        await desk.asleep(seconds)
        assert first_letters(desk.api.screen(ana).answers) == ["a"]

        await desk.answer(egress, bob, "for you")
        await desk.api.answers(bob, timeout=30)
        assert (await egress.status()).paused == {ana.id: seconds}
        assert first_letters(desk.api.screen(ana).answers) == ["a"]

        desk.clock.move(seconds)
        await desk.delivered(egress)
    assert first_letters(desk.api.screen(ana).answers) == ["a", "b", "c", "n"]
    assert await desk.undelivered() == []


async def test_telegram_b13_a_forum_topic_does_not_wait_for_another(desk: Any, ana: Person) -> None:
    forum = desk.api.forum("Forum", ana, topics=("one", "two"))
    one, two = ana.at(forum, desk.api.topic(forum, "one")), ana.at(forum, desk.api.topic(forum, "two"))
    desk.api.fails("sendMessage", Fault.slow(0.5))
    async with desk.egress() as egress:
        await desk.answer(egress, one, "slow")
        await desk.until(lambda: len(desk.api.calls_of("sendMessage")) == 1)
        await desk.answer(egress, two, "quick")
        await desk.until(lambda: bool(desk.api.screen(two).answers))
        assert desk.api.screen(one).answers == []
        await desk.delivered(egress)
    assert desk.api.screen(one).answers == ["slow"]


async def test_replies_of_a_place_keep_their_order_whatever_they_are(desk: Any, ana: Person) -> None:
    desk.api.fails("sendMessage", Fault.slow(0.05), calls=3)
    async with desk.egress() as egress:
        await desk.answer(egress, ana, THREE)
        await egress.say(str(ana.id), Address(ana.id), "notice")
        await desk.answer(egress, ana, "x")
        await desk.delivered(egress)
    assert first_letters(desk.api.screen(ana).answers) == ["a", "b", "c", "n", "x"]


async def test_telegram_b11_an_edit_that_changes_nothing_is_a_success(desk: Any, ana: Person) -> None:
    sent = await desk.client.send_text(Address(ana.id), "the whole answer")
    await desk.outbox.keep_preview(CHANNEL, str(ana.id), Address(ana.id).name, Preview("t", sent))
    async with desk.egress() as egress:
        await desk.answer(egress, ana, "the whole answer", Envelope(turn="t"))
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == ["the whole answer"]
    assert [call.status for call in desk.api.calls_of("editMessageText")] == [400]
    assert await desk.undelivered() == []


async def test_telegram_b19_each_answer_replies_to_its_own_message(desk: Any, ana: Person) -> None:
    first, second = ana.says("first?"), ana.says("second?")
    async with desk.egress() as egress:
        await desk.answer(egress, ana, THREE, Envelope(turn="1", reply_to=first.id))
        await desk.answer(egress, ana, "two", Envelope(turn="2", reply_to=second.id))
        await desk.delivered(egress)
    answers = [seen for seen in desk.api.screen(ana).messages if seen.from_bot]
    assert [(seen.text[0], seen.reply_to) for seen in answers] == [
        ("a", first.id),
        ("b", None),
        ("c", None),
        ("t", second.id),
    ]


async def test_telegram_b24_an_answer_to_a_topic_that_is_gone_is_told_and_not_dumped_into_general(
    desk: Any, ana: Person, bob: Person
) -> None:
    desk.admin = bob
    forum = desk.api.forum("Forum", ana, topics=("plans",))
    topic = desk.api.topic(forum, "plans")
    there = ana.at(forum, topic)
    del forum.topics[topic]
    async with desk.egress() as egress:
        await desk.answer(egress, there, "one")
        await desk.answer(egress, there, "two")
        await desk.delivered(egress)
        await desk.delivered(egress)
    assert desk.api.screen(forum).answers == []
    gone = "message thread not found"
    assert desk.closed == [(Address(forum.id, topic), gone)] * 2
    assert await desk.outcomes() == [(Outcome.UNDELIVERED, gone)] * 2
    [told] = desk.api.screen(bob).answers
    assert told.startswith(f"A reply to telegram:{forum.id}:{topic} could not be delivered: {gone}.")


async def test_telegram_b27_what_cannot_be_delivered_is_told_to_the_admin_once_and_shown_in_the_status(
    desk: Any, ana: Person, bob: Person
) -> None:
    desk.admin = bob
    ana.blocks_bot()
    async with desk.egress() as egress:
        await desk.answer(egress, ana, THREE)
        await desk.answer(egress, ana, "again")
        await desk.delivered(egress)
        await desk.delivered(egress)
        status = await egress.status()
        assert (status.waiting, [one.reason for one in status.undelivered]) == (0, ["bot was blocked by the user"] * 2)
        assert len(desk.api.screen(bob).answers) == 1
        assert len([call for call in desk.api.calls_of("sendMessage") if call.status == 403]) == 2

        ana.unblocks_bot()
        await desk.answer(egress, ana, "welcome back")
        await desk.delivered(egress)
        ana.blocks_bot()
        await desk.answer(egress, ana, "blocked anew")
        await desk.delivered(egress)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == ["welcome back"]
    assert len(desk.api.screen(bob).answers) == 2


async def test_telegram_b27_every_part_that_is_refused_counts_and_the_rest_arrives(desk: Any, ana: Person) -> None:
    desk.api.fails("sendMessage", Fault.error(400, "Bad Request: SOMETHING_NEW"), skip=1)
    async with desk.egress() as egress:
        await desk.answer(egress, ana, THREE)
        await desk.delivered(egress)
    assert first_letters(desk.api.screen(ana).answers) == ["a", "c"]
    assert await desk.outcomes() == [(Outcome.UNDELIVERED, "SOMETHING_NEW")]


async def test_telegram_b27_a_failure_in_the_chat_of_the_admin_makes_no_message_there(desk: Any, ana: Person) -> None:
    desk.admin = ana
    desk.api.fails("sendMessage", Fault.error(400, "Bad Request: NO"), calls=None)
    async with desk.egress() as egress:
        await desk.answer(egress, ana, "hello")
        await desk.delivered(egress)
        await desk.delivered(egress)
    assert len(desk.api.calls_of("sendMessage")) == 1
    assert await desk.outcomes() == [(Outcome.UNDELIVERED, "NO")]


async def test_telegram_a17_an_answer_to_a_group_that_moved_goes_to_the_new_one_once(desk: Any, ana: Person) -> None:
    group = desk.api.group("Group", ana, supergroup=False)
    new = desk.api.migrate(group)
    async with desk.egress() as egress:
        await desk.answer(egress, ana.at(group), THREE)
        await desk.delivered(egress)
    assert first_letters(desk.api.screen(new).answers) == ["a", "b", "c"]
    assert desk.moved == [(group.id, new.id)]
    assert await desk.undelivered() == []


async def test_telegram_a18_a_chat_that_shut_the_bot_out_stops_no_other(desk: Any, ana: Person, bob: Person) -> None:
    group = desk.api.group("Group", ana)
    ana.removes_bot(group)
    async with desk.egress() as egress:
        await desk.answer(egress, group, "to the group")
        await desk.answer(egress, bob, "to you")
        await desk.delivered(egress)
    assert desk.api.screen(bob).answers == ["to you"]
    assert desk.closed == [(Address(group.id), "bot was kicked from the supergroup chat")]


# After a restart


async def test_what_waited_when_the_process_ended_is_delivered_by_the_next(desk: Any, ana: Person, bob: Person) -> None:
    await desk.commit(Address(ana.id), "one")
    await desk.commit(Address(bob.id), "for you")
    await desk.commit(Address(ana.id), "two")
    async with desk.egress() as egress:
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == ["one", "two"]
    assert desk.api.screen(bob).answers == ["for you"]


async def test_telegram_b12_a_part_that_was_being_sent_at_a_kill_is_not_sent_again(desk: Any, ana: Person) -> None:
    await desk.commit(Address(ana.id), THREE)
    [reply] = await desk.outbox.pending(CHANNEL, str(ana.id), Address(ana.id).name)
    await desk.client.send_text(Address(ana.id), "a" * 3000)
    await desk.client.send_text(Address(ana.id), "b" * 3000)
    await desk.outbox.mark(reply.id, Part(0, PartState.SENT))
    await desk.outbox.mark(reply.id, Part(1, PartState.SENDING))
    async with desk.egress() as egress:
        await desk.delivered(egress)
    assert first_letters(desk.api.screen(ana).answers) == ["a", "b", "c"]
    [(outcome, reason)] = await desk.outcomes()
    assert (outcome, reason) == (Outcome.UNKNOWN, "nobody knows whether it was sent before GOAT broke off")


async def test_an_edit_that_was_under_way_at_a_kill_is_done_again(desk: Any, ana: Person) -> None:
    await desk.commit(Address(ana.id), THREE, Envelope(turn="t"))
    [reply] = await desk.outbox.pending(CHANNEL, str(ana.id), Address(ana.id).name)
    preview = await desk.client.send_text(Address(ana.id), "aaa")
    await desk.outbox.mark(reply.id, Part(0, PartState.SENDING, preview))
    async with desk.egress() as egress:
        await desk.delivered(egress)
    assert first_letters(desk.api.screen(ana).answers) == ["a", "b", "c"]
    assert desk.api.screen(ana).messages[1].text == "a" * 3000
    assert await desk.undelivered() == []


async def test_an_end_while_a_chat_waits_loses_nothing(desk: Any, ana: Person) -> None:
    desk.api.fails("sendMessage", Fault.too_many(100))
    async with desk.egress() as egress:
        await desk.answer(egress, ana, "hello")
        await desk.asleep(100)
        assert not await egress.drain(0.01)
    async with desk.egress() as egress:
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == ["hello"]
    assert await desk.undelivered() == []


async def test_a_revoked_token_keeps_every_reply_until_there_is_a_good_one(desk: Any, ana: Person) -> None:
    token = desk.api.token
    desk.api.revoke_token()
    async with desk.egress() as egress:
        await desk.answer(egress, ana, "hello")
        await desk.asleep(0.75)
        desk.api._endpoint.token = token
        desk.clock.move(60)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == ["hello"]


async def test_a_reply_that_goat_itself_cannot_handle_holds_up_no_other(desk: Any, ana: Person) -> None:
    name = Address(ana.id).name
    await desk.outbox.put(NewOutgoing(str(ana.id), name, CHANNEL, "broken", {"reply_to": "no number"}))
    await desk.commit(Address(ana.id), "fine")
    async with desk.egress() as egress:
        for seconds in (0.75, 1.5):
            await desk.asleep(seconds)
            assert desk.api.screen(ana).answers == []
            desk.clock.move(60)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == ["fine"]
    assert await desk.outcomes() == [(Outcome.UNDELIVERED, "ValueError in GOAT itself")]
    assert len([notice for notice in desk.notices if "failed: ValueError" in notice.text]) == 3


async def test_while_the_outbox_is_away_nothing_is_sent_and_nothing_is_lost(desk: Any, ana: Person) -> None:
    class Away(MemoryOutbox):
        away = 2

        async def mark(self, id: int, part: Part | None, number: int = 0) -> None:
            if self.away:
                self.away -= 1
                raise BackendUnavailable("Outbox", "SQLite", "the disk is full")
            await super().mark(id, part, number)

    desk.outbox = Away(desk.archive.replies, desk.clock)
    async with desk.egress() as egress:
        await desk.answer(egress, ana, "hello")
        for seconds in (0.75, 1.5):
            await desk.asleep(seconds)
            assert desk.api.calls_of("sendMessage") == []
            desk.clock.move(60)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == ["hello"]
    assert [notice.text for notice in desk.notices] == ["Outbox (SQLite) cannot be used: the disk is full"]
