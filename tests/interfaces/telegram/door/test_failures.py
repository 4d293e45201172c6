"""What a person sees when the model or Telegram fails in a turn, and that neither is taken for the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from goat.adapters.clock_system import SystemClock
from goat.adapters.model_chain import single_model
from goat.adapters.model_fallback import FallbackModel
from goat.settings import ModelEndpoint
from goat.settings.sections import ModelSettings
from goat.testing.bot_api import FakeBotApi, Fault
from goat.testing.llm_answers import fails, page, says, says_nothing, thinks
from goat.testing.llm_server import LlmServer

TRACEBACK = 'Traceback (most recent call last):\\n  File "/srv/api.py", line 7, in reply\\nKeyError: request req_8f2ac1'
LEAKS = ("Traceback", "req_", "File", "KeyError", "<html", "{", "NO_REPLY", "HEARTBEAT")


@asynccontextmanager
async def chain(*servers: LlmServer) -> AsyncIterator[FallbackModel]:
    """The first model, the others behind it, each at a server."""
    endpoints = [
        ModelEndpoint("other", "test-model", server.base_url, SecretStr("k"), "MODEL_API_KEY") for server in servers
    ]
    async with single_model(endpoints[0], ModelSettings()) as first:
        if len(endpoints) == 1:
            yield FallbackModel([first], SystemClock("UTC"))
            return
        async with single_model(endpoints[1], ModelSettings()) as second:
            yield FallbackModel([first, second], SystemClock("UTC"))


@pytest.mark.parametrize(
    "answer",
    [
        fails(400, TRACEBACK),
        fails(401, TRACEBACK),
        fails(402, TRACEBACK),
        page(404, f"<html><body>{TRACEBACK}</body></html>"),
        fails(413, TRACEBACK),
    ],
)
async def test_telegram_b26_the_inside_of_a_provider_never_reaches_the_chat(
    api: FakeBotApi, bots: Any, answer: Any
) -> None:
    admin, guest = api.person("Ana"), api.person("Bob")
    with LlmServer() as server:
        server.always(answer)
        async with chain(server) as model, bots(api, model=model, guests=(str(guest.id),)) as bot:
            admin.says("hello")
            guest.says("hello")
            [to_admin] = await api.answers(admin, timeout=30)
            [to_guest] = await api.answers(guest, timeout=30)
            await bot.idle()
    assert "test-model" in to_admin
    assert "test-model" not in to_guest
    assert any(character.isdecimal() for character in to_guest)  # the number by which the admin finds it
    for told in (to_admin, to_guest):
        assert not [leak for leak in LEAKS if leak in told]
        assert len(told) < 400
        assert len(told.splitlines()) <= 2


@pytest.mark.parametrize("answers", [(thinks("the secret thought"),), (says_nothing(), says_nothing(""), says("\n\n"))])
async def test_telegram_b26_an_empty_answer_and_thoughts_are_not_shown(
    api: FakeBotApi, bots: Any, answers: Any
) -> None:
    admin = api.person("Ana")
    with LlmServer() as server:
        server.script(*answers)
        server.always(says_nothing())
        async with chain(server) as model, bots(api, model=model) as bot:
            admin.says("hello")
            [told] = await api.answers(admin, timeout=30)
            await bot.idle()
    assert told.strip()
    assert "secret thought" not in told


async def test_telegram_d8_a_failure_of_telegram_is_none_of_the_model(api: FakeBotApi, bots: Any) -> None:
    ana = api.person("Ana")
    with LlmServer() as first, LlmServer() as second:
        first.always(says("The answer is long enough to be shown before it ends. " * 3, pieces=6).slow(between=0.4))
        second.always(says("from the fallback"))
        async with chain(first, second) as model, bots(api, model=model) as bot:
            api.fails("sendChatAction", Fault.error(400, "Bad Request: NO"), calls=None)
            api.fails("sendMessage", Fault.error(400, "Bad Request: NO"))
            api.fails("editMessageText", Fault.page(502), calls=None)
            ana.says("hello")
            await api.answers(ana, timeout=30)
            await bot.idle()
            notices = " ".join(bot.notices)
    assert api.screen(ana).answers == [("The answer is long enough to be shown before it ends. " * 3).strip()]
    assert len(first.prompts) == 1
    assert second.prompts == []
    assert "model" not in notices.lower()


async def test_telegram_b27_what_did_not_arrive_stands_in_the_status(api: FakeBotApi, bots: Any) -> None:
    ana, ben = api.person("Ana"), api.person("Ben")
    async with bots(api, guests=(str(ben.id),)) as bot:
        api.fails("sendMessage", Fault.error(400, "Bad Request: SOMETHING_NEW"), chat=ben.chat)
        ana.says("hello")
        ben.says("hello")
        [_, told] = await api.answers(ana, count=2, timeout=30)
        await bot.idle()
        ana.says("/status")
        [_, _, status] = await api.answers(ana, count=3, timeout=30)
        await bot.idle()
    assert told.startswith(f"A reply to telegram:{ben.id} could not be delivered: SOMETHING_NEW.")
    assert api.screen(ben).answers == []
    assert "replies of the last day that did not arrive, or perhaps not: 1." in status
