"""Receiving, with every way in which a poll can go wrong; time is in the test's hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from goat.adapters.inbox_memory import MemoryInbox
from goat.errors import BackendUnavailable
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.failures import TokenRefused
from goat.interfaces.telegram.ingress import Intake, Polling
from goat.interfaces.telegram.status import State, Status
from goat.records.arrivals import Arrival
from goat.records.turns import Notice
from goat.testing.bot_api import FakeBotApi, Fault
from goat.testing.clock import HeldClock


class Counted(TelegramClient):
    """A client that counts the polls that began and those that ended."""

    began = ended = 0

    async def updates(self, *asked: Any, **options: Any) -> list[dict[str, Any]]:
        """Poll."""
        self.began += 1
        try:
            return await super().updates(*asked, **options)
        finally:
            self.ended += 1


@dataclass
class Receiver:
    """A polling over HTTP with what it took in and said."""

    api: FakeBotApi
    clock: HeldClock
    client: Counted
    inbox: MemoryInbox
    wait: float
    notices: list[Notice] = field(default_factory=list)
    taken: list[Arrival] = field(default_factory=list)
    polling: Polling = field(init=False)
    status: Status = field(init=False)
    task: asyncio.Task[None] = field(init=False)

    def __post_init__(self) -> None:
        self.status = Status(self.clock, self.notices.append)
        intake = Intake(self.inbox, "telegram:4242", self.taken.append)
        self.polling = Polling(self.client, intake, self.clock, self.status, wait=self.wait, silence=120)
        self.task = asyncio.create_task(self.polling.run())

    async def until(self, condition: Any) -> None:
        """Wait until something is true and stays so while everybody who can go on does."""
        async with asyncio.timeout(60):
            while True:
                if condition():
                    for _ in range(20):
                        await asyncio.sleep(0)
                    if condition():
                        return
                await asyncio.sleep(0.005)

    @property
    def polls(self) -> int:
        """How many polls began."""
        return self.client.began

    async def reached(self, polls: int) -> None:
        """Wait until the server has read so many polls."""
        await self.until(lambda: len(self.api.calls_of("getUpdates")) == polls and self.api.calls[-1].params)

    async def move_to_next_poll(self, most: float) -> float:
        """Wait until a poll has failed and let the pause after it pass; the seconds that it took, at most `most`."""
        before = self.polls
        await self.until(lambda: self.client.ended == before and self.clock.waits)
        (pause,) = self.clock.waits
        assert pause <= most
        self.clock.move(pause)
        await self.until(lambda: self.polls > before)
        return pause

    def numbers(self) -> list[int]:
        """The updates that were handed on."""
        return [one.number for one in self.taken]


@asynccontextmanager
async def receiving(api: FakeBotApi, wait: float = 30) -> AsyncIterator[Receiver]:
    clock = HeldClock()
    async with Counted(api.token, api=api.base_url, files=api.base_file_url) as client:
        one = Receiver(api, clock, client, MemoryInbox(clock), wait)
        try:
            await one.until(lambda: one.polls)
            yield one
        finally:
            one.task.cancel()
            await asyncio.gather(one.task, return_exceptions=True)


async def test_telegram_a2_an_update_is_confirmed_only_after_it_was_committed(api: FakeBotApi) -> None:
    ana = api.person()
    committed: list[list[int]] = []

    class Watched(MemoryInbox):
        async def take(self, channel: str, arrivals: Any) -> list[Arrival]:
            committed.append([one.id for one in api.waiting])
            return await super().take(channel, arrivals)

    async with receiving(api) as one:
        one.polling._intake._inbox = Watched(one.clock)  # type: ignore[attr-defined]
        for text in ("a", "b", "c"):
            ana.says(text)
        await one.until(lambda: len(one.taken) == 3 and not api.waiting)
        assert set(one.numbers()) <= {number for waiting in committed for number in waiting}
        assert one.numbers() == [1001, 1002, 1003]
        offsets = [call.params.get("offset") for call in api.calls_of("getUpdates")]
        assert offsets[0] is None
        assert offsets[-1] == "1004"
        assert not any("drop_pending_updates" in call.params for call in api.calls)


async def test_while_the_journal_is_away_nothing_is_confirmed(api: FakeBotApi) -> None:
    ana = api.person()
    away = True

    class Failing(MemoryInbox):
        async def take(self, channel: str, arrivals: Any) -> list[Arrival]:
            if away and arrivals:
                raise BackendUnavailable("Inbox", "SQLite", "the disk is full")
            return await super().take(channel, arrivals)

    async with receiving(api) as one:
        one.polling._intake._inbox = Failing(one.clock)  # type: ignore[attr-defined]
        ana.says("hello")
        await one.until(lambda: one.status.state is State.WAITING)
        assert "the disk is full" in one.status.reason
        assert [update.id for update in api.waiting] == [1001]
        away = False
        await one.move_to_next_poll(60)
        await one.until(lambda: one.numbers() == [1001])


async def test_telegram_a5_a_short_conflict_after_a_restart_heals_alone(api: FakeBotApi) -> None:
    ana = api.person()
    conflict = Fault.error(409, "Conflict: terminated by other getUpdates request")
    api.fails("getUpdates", conflict, calls=3)
    async with receiving(api) as one:
        ana.says("hello")
        for _ in range(3):
            await one.move_to_next_poll(30)
        await one.until(lambda: one.numbers() == [1001])
        assert one.status.state is State.RECEIVING
        assert not any("conflict" in notice.text for notice in one.notices)


async def test_telegram_a5_failures_of_another_kind_do_not_make_a_conflict_a_lasting_one(api: FakeBotApi) -> None:
    ana = api.person()
    api.fails("getUpdates", Fault.page(502), calls=3)
    api.fails("getUpdates", Fault.error(409, "Conflict: terminated by other getUpdates request"), calls=2)
    async with receiving(api) as one:
        ana.says("hello")
        for _ in range(3):
            await one.move_to_next_poll(8)
        assert [await one.move_to_next_poll(11) for _ in range(2)] == pytest.approx([5, 10])
        await one.until(lambda: one.numbers() == [1001])
        assert one.status.state is State.RECEIVING
        assert not any("conflict" in notice.text for notice in one.notices)


async def test_telegram_a5_a_lasting_conflict_is_visible_quiet_and_never_ends_the_process(api: FakeBotApi) -> None:
    api.fails("getUpdates", Fault.error(409, "Conflict: terminated by other getUpdates request"), calls=None)
    async with receiving(api) as one:
        for _ in range(5):
            await one.move_to_next_poll(30)
        await one.until(lambda: one.status.state is State.CONFLICT)
        began = one.clock.monotonic()
        before = len([notice for notice in one.notices if "conflict" in notice.text])
        for _ in range(6):
            assert await one.move_to_next_poll(31) >= 29
        told = len([notice for notice in one.notices if "conflict" in notice.text]) - before
        assert told <= (one.clock.monotonic() - began) / 60 + 1
        assert not one.task.done()
        ana = api.person()
        ana.says("still there?")
        api.mend()
        await one.move_to_next_poll(31)
        await one.until(lambda: one.numbers() == [1001])


async def test_telegram_a6_a_poll_that_hangs_is_noticed_and_the_connection_made_anew(api: FakeBotApi) -> None:
    ana = api.person()
    api.fails("getUpdates", Fault.hang())
    async with receiving(api) as one:
        await one.reached(1)
        ana.says("hello")
        one.clock.move(119)
        await asyncio.sleep(0.05)
        assert one.polls == 1
        one.clock.move(2)
        await one.until(lambda: one.numbers() == [1001])
        assert any("no call ended well for 121 s" in notice.text for notice in one.notices)


async def test_telegram_a6_a_poll_that_hangs_again_is_noticed_again(api: FakeBotApi) -> None:
    api.fails("getUpdates", Fault.hang(), calls=3)
    async with receiving(api) as one:
        for polls in (1, 2, 3):
            await one.reached(polls)
            one.clock.move(121)
        api.person().says("hello")
        await one.until(lambda: one.numbers() == [1001])


async def test_telegram_a6_nobody_writing_is_no_silence(api: FakeBotApi) -> None:
    async with receiving(api, wait=0) as one:
        for _ in range(20):
            before = one.polls
            await one.until(lambda before=before: one.polls > before)
            one.clock.move(100)
        assert one.status.silence <= 200
        assert one.notices == []


FAULTS = {
    "502": Fault.page(502),
    "500 with a page": Fault.page(500, "<html>Internal Server Error</html>"),
    "200 with a page": Fault.page(200, "<html>hello</html>"),
    "reset": Fault.reset(),
    "drop": Fault.drop(),
    "cut short": Fault.cut_short(),
    "400": Fault.error(400, "Bad Request: something new"),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_telegram_a7_a_poll_that_fails_is_tried_again_after_a_growing_pause(
    name: str, api: FakeBotApi, caplog: pytest.LogCaptureFixture
) -> None:
    ana = api.person()
    api.fails("getUpdates", FAULTS[name], calls=8)
    async with receiving(api) as one:
        ana.says("hello")
        await one.until(lambda: one.polls == 1)
        pauses = [await one.move_to_next_poll(61) for _ in range(8)]
        assert pauses[0] <= 2
        assert max(pauses) <= 61
        assert pauses[-1] >= 29
        await one.until(lambda: one.numbers() == [1001])
        assert one.status.state is State.RECEIVING
        texts = [notice.text for notice in one.notices]
        assert texts[-1] == "receiving again"
        assert len(texts) <= 2 + sum(pauses) / 60
    assert "Traceback" not in caplog.text
    assert api.token not in caplog.text + str(texts)


async def test_telegram_a7_no_network_at_all_is_waited_out(api: FakeBotApi) -> None:
    ana = api.person()
    async with receiving(api) as one:
        await one.until(lambda: one.polls == 1)
        async with api.down():
            await one.until(lambda: one.status.state is State.WAITING)
            await one.move_to_next_poll(61)
            await one.until(lambda: one.client.ended == 2)
        ana.says("hello")
        while not one.taken:
            await one.move_to_next_poll(61)
            await one.until(lambda: one.taken or one.client.ended == one.polls)
        assert one.numbers() == [1001]


async def test_telegram_a7_too_many_calls_waits_as_long_as_it_is_told(api: FakeBotApi) -> None:
    api.fails("getUpdates", Fault.too_many(7))
    async with receiving(api) as one:
        await one.until(lambda: one.polls == 1 and one.clock.waits)
        assert 6 <= await one.move_to_next_poll(9) <= 8


async def test_telegram_a7_a_revoked_token_ends_it_and_one_odd_refusal_does_not(api: FakeBotApi) -> None:
    api.fails("getUpdates", Fault.error(401, "Unauthorized"))
    async with receiving(api, wait=0) as one:
        api.person().says("hello")
        await one.move_to_next_poll(10)
        await one.until(lambda: one.numbers() == [1001])
        api.revoke_token()
        await one.until(lambda: one.status.state is State.REFUSED)
        await one.move_to_next_poll(61)
        await one.until(one.task.done)
        assert isinstance(one.task.exception(), TokenRefused)


async def test_telegram_a8_a_bot_whose_numbers_begin_lower_is_heard() -> None:
    async with FakeBotApi("77:another-token-of-nothing", first_update_id=100) as api, receiving(api) as one:
        api.person().says("hello")
        await one.until(lambda: one.numbers() == [100])


async def test_after_days_without_updates_a_new_numbering_is_heard(api: FakeBotApi) -> None:
    async with receiving(api, wait=0) as one:
        ana = api.person()
        ana.says("hello")
        await one.until(lambda: one.numbers() == [1001] and not api.waiting)
        one.clock.move(7 * 86_400)
        polls = api.calls_of("getUpdates")
        await one.until(lambda: any("offset" not in c.params for c in api.calls_of("getUpdates")[len(polls) :]))
        await one.until(lambda: one.polls == len(api.calls_of("getUpdates")))
        api.inject({"message": {"message_id": 9, "date": 0, "chat": {"id": 1, "type": "private"}, "text": "hi"}}, 17)
        await one.until(lambda: one.numbers() == [1001, 17])


async def test_telegram_a14_updates_of_any_form_are_taken_and_confirmed(api: FakeBotApi) -> None:
    async with receiving(api) as one:
        odd: list[dict[str, Any]] = [
            {"widget_query": {"id": "1"}},
            {"message": None},
            {"message": {"chat": "nonsense"}},
            {"callback_query": {"id": "1", "inline_message_id": "x", "data": "y"}},
        ]
        numbers = []
        for body in odd:
            api.world.updates.allowed = None
            numbers.append(api.inject(body))
        api.person().says("hello")
        await one.until(lambda: len(one.taken) == len(odd) + 1 and not api.waiting)
        assert one.numbers() == [*numbers, 1005]
        assert [dict(arrival.body) for arrival in one.taken[:-1]] == [
            {"update_id": number, **body} for number, body in zip(numbers, odd, strict=True)
        ]
        assert one.notices == []
