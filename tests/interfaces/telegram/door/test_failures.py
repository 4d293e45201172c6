"""What a person sees when the model or Telegram fails in a turn, and that neither is taken for the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from goat.adapters.clock_system import SystemClock
from goat.adapters.inbox_memory import MemoryInbox
from goat.adapters.journal_memory import MemoryArchive, MemoryJournal
from goat.adapters.model_chain import single_model
from goat.adapters.model_fallback import FallbackModel
from goat.adapters.outbox_memory import MemoryOutbox
from goat.adapters.working_memory import MemoryWorkingStore
from goat.errors import BackendUnavailable, ModelError
from goat.records.episodes import NewOutgoing, Outgoing
from goat.records.models import ModelRequest, Reply, ToolCall
from goat.settings import ModelEndpoint, Settings
from goat.settings.sections import ModelSettings
from goat.testing.bot_api import FakeBotApi, Fault
from goat.testing.llm_answers import fails, page, says, says_nothing, thinks
from goat.testing.llm_server import LlmServer
from goat.tools import tool

TRACEBACK = (
    'NO_REPLY HEARTBEAT_OK Traceback (most recent call last):\\n  File "/srv/api.py", line 7, in reply\\n'
    "KeyError: request req_8f2ac1"
)
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
    assert told.startswith("A reply to Ben could not be delivered: SOMETHING_NEW.")
    assert api.screen(ben).answers == []
    assert "replies of the last day that did not arrive, or may not have: 1." in status


class FullInbox(MemoryInbox):
    """An inbox that cannot note the end of the first message."""

    failed = False

    async def done(self, ids: Sequence[int], outcome: str) -> None:
        """Fail once."""
        if not self.failed:
            self.failed = True
            raise BackendUnavailable("Inbox", "SQLite", "the disk is full")
        await super().done(ids, outcome)


async def test_telegram_a1_a_failure_whose_end_could_not_be_noted_is_told_once(api: FakeBotApi, bots: Any) -> None:
    async def failing_once(request: ModelRequest) -> str:
        if len(bot.model.requests) == 1:
            raise ModelError("m-1", "the key was refused", "Put a valid one into .env.")
        return "an answer"

    ana, inbox = api.person("Ana"), FullInbox(SystemClock("UTC"))
    async with bots(api, inbox=inbox) as bot:
        bot.model.answer = failing_once
        ana.says("hello")
        await bot.until(lambda: inbox.failed)
        await bot.idle()
        assert len(bot.model.requests) == 1
    assert api.screen(ana).answers == ["The model m-1 gave no answer: the key was refused. Put a valid one into .env."]


async def test_telegram_a15_that_a_message_is_given_up_is_told_once_though_its_end_could_not_be_noted(
    api: FakeBotApi, bots: Any
) -> None:
    async def broken(request: ModelRequest) -> str:
        raise RuntimeError("it broke")

    ana, inbox = api.person("Ana"), FullInbox(SystemClock("UTC"))
    async with bots(api, inbox=inbox) as bot:
        bot.model.answer = broken
        ana.says("hello")
        await bot.until(lambda: inbox.failed)
        await bot.idle()
    [told] = api.screen(ana).answers
    assert "three times" in told


async def test_telegram_e7_a_code_whose_use_could_not_be_noted_is_welcomed_once(api: FakeBotApi, bots: Any) -> None:
    ana, inbox = api.person("Ana"), FullInbox(SystemClock("UTC"))
    async with bots(api, inbox=inbox, admin_chat_id=0) as bot:
        await bot.until(lambda: bot.codes)
        ana.says(bot.codes[0])
        await bot.until(lambda: inbox.failed)
        await bot.idle()
        assert bot.model.requests == []
    [welcome] = api.screen(ana).answers
    assert welcome.startswith("Welcome. You are my admin")


class FullOutbox(MemoryOutbox):
    """An outbox that takes nothing beside the answers, which enter it with the journal."""

    async def put(self, reply: NewOutgoing) -> Outgoing:
        """Fail."""
        raise BackendUnavailable("Outbox", "SQLite", "the disk is full")


async def test_a_note_that_cannot_be_said_below_the_answer_is_told_to_the_log(api: FakeBotApi, bots: Any) -> None:
    async def noted(request: ModelRequest) -> Reply:
        return Reply("the answer", notes=("spare-model answers, because another could not.",))

    ana, archive, clock = api.person("Ana"), MemoryArchive(), SystemClock("UTC")
    journal, outbox = MemoryJournal(archive, clock), FullOutbox(archive.replies, clock)
    async with bots(api, journal=journal, outbox=outbox, clock=clock) as bot:
        bot.model.answer = noted
        ana.says("hello")
        await api.answers(ana, timeout=30)
        await bot.idle()
        notices = bot.notices
    assert api.screen(ana).answers == ["the answer"]
    assert notices == [
        f"Telegram: This could not be said below the answer in telegram:{ana.id}: "
        "spare-model answers, because another could not. Outbox (SQLite) cannot be used: the disk is full"
    ]


class FullStore(MemoryWorkingStore):
    """A working store that keeps the meaning of no button."""

    async def put(self, key: str, body: str, *options: Any) -> int | None:
        """Fail for a button."""
        if key.startswith("telegram:button:"):
            raise BackendUnavailable("WorkingStore", "SQLite", "the disk is full")
        return await super().put(key, body, *options)


async def test_an_offer_to_go_on_that_cannot_be_made_is_told_to_the_log(api: FakeBotApi, bots: Any) -> None:
    @tool(permission="allow")
    async def look(place: str) -> str:
        """Look somewhere."""
        return f"nothing in {place}"

    async def looking(request: ModelRequest) -> str | Reply:
        if not request.tools:
            return "Seen so far: one."
        return Reply("", (ToolCall("c", "look", '{"place": "here"}'),), finish_reason="tool_calls")

    ana, clock = api.person("Ana"), SystemClock("UTC")
    settings = Settings.model_validate({"tools": {"rounds": 1}})
    async with bots(api, tools=[look], settings=settings, clock=clock, working=FullStore(clock)) as bot:
        bot.model.answer = looking
        ana.says("look everywhere")
        await bot.until(lambda: bot.notices)
        await bot.idle()
        notices = bot.notices
    assert api.screen(ana).answers == ["Seen so far: one."]
    assert notices == [
        f'Telegram: The button to go on is missing in telegram:{ana.id}; words such as "go on" do the same. '
        "WorkingStore (SQLite) cannot be used: the disk is full"
    ]
