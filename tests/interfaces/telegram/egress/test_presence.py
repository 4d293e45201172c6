"""Typing: seen while a turn runs, and not after it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.envelope import Envelope
from goat.testing.bot_api import Fault, Person


def actions(desk: Any) -> int:
    return len(desk.api.calls_of("sendChatAction"))


async def test_telegram_b25_typing_is_shown_every_four_seconds_of_a_long_turn(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with egress.turn("ana", Address(ana.id), Envelope(turn="t")):
            for shown in range(23):  # 90 seconds
                await desk.until(lambda count=shown: actions(desk) == count + 1)
                await desk.asleep(4)
                assert desk.clock.waits == [4]
                desk.clock.move(4)
            await desk.until(lambda: actions(desk) == 24)
            await desk.asleep(4)
        assert desk.clock.waits == []
        assert actions(desk) == 24


@pytest.mark.parametrize("failure", [RuntimeError("a bug"), asyncio.CancelledError(), TimeoutError()])
async def test_telegram_b25_typing_ends_with_a_turn_that_fails(desk: Any, ana: Person, failure: BaseException) -> None:
    async def fails(egress: Any) -> None:
        async with egress.turn("ana", Address(ana.id), Envelope(turn="t")):
            await desk.asleep(4)
            raise failure

    async with desk.egress() as egress:
        with pytest.raises(type(failure)):
            await fails(egress)
        assert desk.clock.waits == []
        assert actions(desk) == 1


async def test_telegram_b25_of_two_turns_in_one_topic_the_last_ends_it(desk: Any, ana: Person) -> None:
    forum = desk.api.forum("Forum", ana, topics=("plans",))
    topic = desk.api.topic(forum, "plans")
    address = Address(forum.id, topic)
    async with desk.egress() as egress:
        async with egress.turn("g", address, Envelope(turn="1")):
            async with egress.turn("g", address, Envelope(turn="2")):
                await desk.asleep(4)
            assert desk.clock.waits == [4]
            desk.clock.move(4)
            await desk.until(lambda: actions(desk) == 2)
            await desk.asleep(4)
        assert desk.clock.waits == []
    assert [call.params["message_thread_id"] for call in desk.api.calls_of("sendChatAction")] == [str(topic)] * 2


async def test_telegram_b25_a_typing_call_that_fails_does_not_touch_the_turn(desk: Any, ana: Person) -> None:
    desk.api.fails("sendChatAction", Fault.too_many(60))
    desk.api.fails("sendChatAction", Fault.drop())
    desk.api.fails("sendChatAction", Fault.error(401, "Unauthorized"))
    async with desk.egress() as egress:
        async with egress.turn("ana", Address(ana.id), Envelope(turn="t")):
            for seconds in (60, 4):
                await desk.asleep(seconds)
                desk.clock.move(seconds)
            await desk.until(lambda: [call.status for call in desk.api.calls_of("sendChatAction")] == [429, 0, 401])
            await desk.until(lambda: desk.clock.waits == [])  # a refused token ends it
        await desk.answer(egress, ana, "done")
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == ["done"]


async def test_nothing_is_shown_while_a_person_is_asked(desk: Any, ana: Person) -> None:
    address = Address(ana.id)
    async with desk.egress() as egress, egress.turn("ana", address, Envelope(turn="t")):
        await desk.asleep(4)
        with egress.typing_paused(address):
            for _ in range(3):
                desk.clock.move(4)
                await desk.asleep(4)
            assert actions(desk) == 1
        desk.clock.move(4)
        await desk.until(lambda: actions(desk) == 2)


async def test_a_turn_shows_typing_only_where_it_runs(desk: Any, ana: Person, bob: Person) -> None:
    async with desk.egress() as egress, egress.turn("ana", Address(ana.id), Envelope(turn="t")):
        await desk.asleep(4)
    assert [interval.action for interval in desk.api.screen(ana).actions] == ["typing"]
    assert desk.api.screen(bob).actions == ()
