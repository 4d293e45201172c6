"""Pushed updates: the same inbox, and nobody without the secret."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from goat.adapters.inbox_memory import MemoryInbox
from goat.errors import BackendUnavailable, BotUnusable
from goat.interfaces.telegram.ingress import Intake
from goat.interfaces.telegram.status import State, Status
from goat.interfaces.telegram.webhook import MOST_BYTES, SECRET_HEADER, Webhook, listening
from goat.records.arrivals import Arrival
from goat.settings import Settings
from goat.settings.sections import KeySettings
from goat.testing.bot_api import FakeBotApi
from goat.testing.clock import FakeClock

SECRET = "the-secret_1"
UPDATE = {"update_id": 5, "message": {"text": "hi"}}


@asynccontextmanager
async def pushed_to(inbox: Any = None) -> AsyncIterator[tuple[httpx2.AsyncClient, list[Arrival], Status]]:
    """A webhook, a client for its address, and what it took in."""
    taken: list[Arrival] = []
    clock = FakeClock()
    status = Status(clock, lambda _: None)
    intake = Intake(inbox or MemoryInbox(clock), "telegram:1", taken.append)
    webhook = Webhook(intake, status, "https://example.org/goat/hook", SECRET)
    async with (
        listening(webhook, "127.0.0.1", 0) as port,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        yield client, taken, status


def with_secret(secret: str) -> dict[str, str]:
    return {SECRET_HEADER: secret}


@pytest.mark.parametrize(
    "headers", [{}, with_secret(""), with_secret("the-secret_2"), with_secret(SECRET + "x"), with_secret(SECRET[:-1])]
)
async def test_telegram_i10_without_the_right_secret_nothing_is_taken(headers: dict[str, str]) -> None:
    async with pushed_to() as (client, taken, _):
        assert (await client.post("/goat/hook", json=UPDATE, headers=headers)).status_code == 403
        assert taken == []


async def test_an_update_is_taken_once_however_often_it_is_pushed() -> None:
    async with pushed_to() as (client, taken, status):
        for _ in range(3):
            assert (await client.post("/goat/hook", json=UPDATE, headers=with_secret(SECRET))).status_code == 200
        assert [one.number for one in taken] == [5]
        assert status.state is State.RECEIVING


async def test_telegram_i10_what_is_no_update_is_refused() -> None:
    async with pushed_to() as (client, taken, _):
        headers = with_secret(SECRET)
        assert (await client.post("/goat/hook", content=b"{", headers=headers)).status_code == 400
        assert (await client.post("/goat/hook", json=[1], headers=headers)).status_code == 400
        assert (await client.post("/goat/hook", content=b"x" * (MOST_BYTES + 1), headers=headers)).status_code == 413
        assert (await client.get("/goat/hook", headers=headers)).status_code == 405
        assert (await client.post("/elsewhere", json=UPDATE, headers=headers)).status_code == 404
        assert (await client.post("/goat/hook", json={"message": 1}, headers=headers)).status_code == 200
        assert taken == []


async def test_what_cannot_be_kept_is_pushed_again() -> None:
    class Away(MemoryInbox):
        async def take(self, channel: str, arrivals: Any) -> list[Arrival]:
            raise BackendUnavailable("Inbox", "SQLite", "the disk is full")

    async with pushed_to(Away(FakeClock())) as (client, _, status):
        assert (await client.post("/goat/hook", json=UPDATE, headers=with_secret(SECRET))).status_code == 503
        assert "the disk is full" in status.reason


async def test_a_port_that_is_taken_is_said_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        webhook = Webhook(Intake(MemoryInbox(FakeClock()), "x", print), Status(FakeClock(), print), "https://a/b", "s")
        with pytest.raises(BotUnusable, match=f"cannot listen on 127.0.0.1:{port}"):
            async with listening(webhook, "127.0.0.1", port):
                pass


async def test_a_bot_behind_a_webhook_answers(bots, api: FakeBotApi) -> None:
    from pydantic import SecretStr

    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    ana = api.person("Ana")
    settings = Settings(keys=KeySettings(telegram_webhook=SecretStr(SECRET)))
    url = f"http://127.0.0.1:{port}/hook"
    async with bots(api, settings=settings, webhook_url=url, webhook_port=port) as bot:
        for n in range(5):
            ana.says(f"message {n}")
        await bot.until(lambda: api.screen(ana).answers and not api.waiting)
        await bot.idle()
        assert api.world.webhook is not None
        assert (api.world.webhook.url, api.world.webhook.secret) == (url, SECRET)
        assert api.calls_of("getUpdates") == []
        kept = await bot.app.backends.journal.recent("admin", f"telegram:{ana.id}", 20)
        assert [one.text for one in kept if one.text.startswith("message")] == [f"message {n}" for n in range(5)]


async def test_a_webhook_that_stands_is_taken_away_before_polling(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    from goat.testing.bot_api.world import Webhook as Hook

    api.world.webhook = Hook("http://127.0.0.1:9/nowhere", None)
    ana.says("hello")
    async with bots(api):
        assert await api.answers(ana, 1, 60) == ["You said: hello"]
    assert api.world.webhook is None
