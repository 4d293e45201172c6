"""Calls that go wrong on purpose: before they take effect, or after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from goat.testing.bot_api import FakeBotApi, Fault, Person

TOO_MANY = '{"ok": false, "error_code": 429, "description": "Too Many Requests: retry after 7", '


class Sender:
    """Sends texts to one person and says how that ended."""

    def __init__(self, api: FakeBotApi, chat: int, client: httpx2.AsyncClient) -> None:
        self.url = f"{api.base_url}{api.token}/sendMessage"
        self.chat = chat
        self.client = client

    async def send(self, text: str) -> str:
        try:
            answer = await self.client.post(self.url, json={"chat_id": self.chat, "text": text})
        except httpx2.TransportError as failed:
            return type(failed).__name__
        return f"{answer.status_code} {answer.text}"


@pytest.fixture
async def sender(api: FakeBotApi, ana: Person) -> AsyncIterator[Sender]:
    async with httpx2.AsyncClient(timeout=2) as client:
        yield Sender(api, ana.id, client)


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (Fault.error(500, "Internal Server Error"), '500 {"ok": false, "error_code": 500'),
        (Fault.error(400, "Bad Request: x", {"migrate_to_chat_id": -100}), '400 {"ok": false, "error_code": 400'),
        (Fault.too_many(7), f"429 {TOO_MANY}"),
        (Fault.page(502), "502 <html>"),
        (Fault.hang(), "ReadTimeout"),
        (Fault.drop(), "RemoteProtocolError"),
        (Fault.reset(), "ReadError"),
    ],
)
async def test_a_fault_strikes_before_or_after_the_effect(
    api: FakeBotApi, ana: Person, sender: Sender, fault: Fault, outcome: str
) -> None:
    api.fails("sendMessage", fault)
    assert (await sender.send("before")).startswith(outcome)
    assert api.screen(ana).answers == []

    api.fails("sendMessage", fault.after_effect())
    assert (await sender.send("after")).startswith(outcome)
    assert api.screen(ana).answers == ["after"]

    assert (await sender.send("well")).startswith('200 {"ok": true')
    assert api.screen(ana).answers == ["after", "well"]


async def test_a_slow_call_takes_effect_late_and_with_a_slow_answer_at_once(
    api: FakeBotApi, ana: Person, sender: Sender
) -> None:
    api.fails("sendMessage", Fault.slow(60).after_effect())
    assert await sender.send("stands already") == "ReadTimeout"
    assert api.screen(ana).answers == ["stands already"]

    api.fails("sendMessage", Fault.slow(4))
    assert await sender.send("comes later") == "ReadTimeout"
    assert api.screen(ana).answers == ["stands already"]
    assert await api.answers(ana, 2) == ["stands already", "comes later"]


async def test_an_answer_may_be_cut_short_or_trickle_though_the_message_stands(
    api: FakeBotApi, ana: Person, sender: Sender
) -> None:
    api.fails("sendMessage", Fault.cut_short())
    api.fails("sendMessage", Fault.trickle(0.0001), skip=0)
    cut, slow = await sender.send("one"), await sender.send("two")

    assert cut.startswith('200 {"ok": true')
    assert not cut.endswith("}")
    assert slow.endswith("}}")
    assert api.screen(ana).answers == ["one", "two"]


async def test_a_fault_may_wait_for_later_calls_last_for_several_or_hold_for_one_chat(
    api: FakeBotApi, ana: Person, sender: Sender
) -> None:
    bob = api.person("Bob")
    bob.starts()
    api.fails("sendMessage", Fault.page(500), calls=2, skip=1, chat=ana.chat)
    sender.chat = bob.id
    assert (await sender.send("to bob")).startswith("200")
    sender.chat = ana.id
    assert [(await sender.send(str(place)))[:3] for place in range(4)] == ["200", "500", "500", "200"]


async def test_a_fault_of_every_call_ends_when_it_is_mended(api: FakeBotApi, ana: Person, sender: Sender) -> None:
    api.fails("*", Fault.page(503), calls=None)
    assert [(await sender.send("x"))[:3] for _ in range(3)] == ["503"] * 3
    api.mend()
    assert (await sender.send("x")).startswith("200")


async def test_a_server_that_is_down_refuses_connections_and_keeps_what_it_knows(
    api: FakeBotApi, ana: Person, sender: Sender
) -> None:
    async with api.down():
        assert await sender.send("lost") == "ConnectError"
    assert (await sender.send("there")).startswith("200")
    assert api.screen(ana).answers == ["there"]


async def test_going_down_breaks_a_poll_that_waits(api: FakeBotApi, ana: Person) -> None:
    async with httpx2.AsyncClient(timeout=5) as client:
        url = f"{api.base_url}{api.token}/getUpdates?offset=1002&timeout=30"
        poll = asyncio.create_task(client.get(url))
        await api.until(lambda: bool(api.calls_of("getUpdates")))
        async with api.down():
            with pytest.raises(httpx2.TransportError):
                await poll


async def test_a_file_may_fail_to_come(api: FakeBotApi, ana: Person) -> None:
    photo = ana.sends_photo(b"\xff\xd8picture")
    assert photo.media is not None
    url = f"{api.base_file_url}{api.token}/{photo.media.file.path}"
    async with httpx2.AsyncClient() as client:
        api.fails("download", Fault.drop())
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get(url)
        assert (await client.get(url)).content == b"\xff\xd8picture"
        assert (await client.get(f"{url}x")).status_code == 404


async def test_every_call_is_recorded_with_how_it_ended(api: FakeBotApi, ana: Person, sender: Sender) -> None:
    api.fails("sendMessage", Fault.drop().after_effect())
    await sender.send("one")
    await sender.send("")
    await sender.send("two")

    assert [(call.status, call.error) for call in api.calls_of("sendMessage")] == [
        (0, ""),
        (400, "Bad Request: message text is empty"),
        (200, ""),
    ]
    assert api.calls[0].at == api.world.clock.now()
    assert api.calls[-1].result["text"] == "two"


async def test_waiting_in_vain_says_what_was_called(api: FakeBotApi, ana: Person, sender: Sender) -> None:
    await sender.send("")
    with pytest.raises(TimeoutError, match="sendMessage 400 Bad Request: message text is empty"):
        await api.answers(ana, timeout=0.05)
