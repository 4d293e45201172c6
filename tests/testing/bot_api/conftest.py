"""A fake Telegram for a test, and two ways to call it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import httpx2
import pytest
from telegram import Bot

from goat.testing.bot_api import FakeBotApi, Person
from goat.testing.clock import FakeClock

Call = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def api(clock: FakeClock) -> AsyncIterator[FakeBotApi]:
    async with FakeBotApi(clock=clock) as api:
        yield api


@pytest.fixture
def ana(api: FakeBotApi) -> Person:
    """Somebody who has pressed Start."""
    person = api.person("Ana")
    person.starts()
    return person


@pytest.fixture
async def call(api: FakeBotApi) -> AsyncIterator[Call]:
    """Calls a method with JSON and gives the whole body of the answer."""
    async with httpx2.AsyncClient(timeout=5) as client:

        async def call(method: str, **params: Any) -> dict[str, Any]:
            answer = await client.post(f"{api.base_url}{api.token}/{method}", json=params)
            body: dict[str, Any] = answer.json()
            assert answer.status_code == body.get("error_code", 200)
            return body

        yield call


@pytest.fixture
async def bot(api: FakeBotApi) -> AsyncIterator[Bot]:
    """The client that GOAT uses."""
    async with Bot(api.token, base_url=api.base_url, base_file_url=api.base_file_url) as bot:
        yield bot
