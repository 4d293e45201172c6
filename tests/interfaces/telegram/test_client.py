"""The Bot API client: each way in which a call can go wrong, told apart by what may be done next."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.chunk import Document, Entity
from goat.interfaces.telegram.client import Button, TelegramClient
from goat.interfaces.telegram.failures import (
    BotApiError,
    ChatClosed,
    ChatMoved,
    NotSent,
    OtherPoller,
    OutcomeUnknown,
    Refused,
    SlowDown,
    TokenRefused,
)
from goat.testing.bot_api import FakeBotApi, Fault, Person

SECONDS = 30.0
KINDS = ("message", "callback_query")


@pytest.fixture
async def api() -> AsyncIterator[FakeBotApi]:
    async with FakeBotApi() as api:
        yield api


@pytest.fixture
async def client(api: FakeBotApi) -> AsyncIterator[TelegramClient]:
    async with TelegramClient(api.token, api=api.base_url, files=api.base_file_url, timeout=SECONDS) as client:
        yield client


@pytest.fixture
def ana(api: FakeBotApi) -> Person:
    person = api.person("Ana")
    person.starts()
    return person


async def failure_of(client: TelegramClient, person: Person) -> BotApiError:
    with pytest.raises(BotApiError) as caught:
        await client.send_text(Address(person.id), "hello")
    return caught.value


@pytest.mark.parametrize(
    ("fault", "kind", "reason"),
    [
        (Fault.drop(), OutcomeUnknown, "RemoteProtocolError"),
        (Fault.cut_short(), OutcomeUnknown, "an answer that cannot be read"),
        (Fault.page(502), OutcomeUnknown, "the server answered with status 502"),
        (Fault.page(500, "[1, 2]"), OutcomeUnknown, "the server answered with status 500"),
        (Fault.page(200), OutcomeUnknown, "an answer that cannot be read"),
        (Fault.error(500, "Internal Server Error: restart"), OutcomeUnknown, "Internal Server Error: restart"),
        (Fault.error(400, "Bad Request: message is too long"), Refused, "message is too long"),
        (Fault.error(413, "Request Entity Too Large"), Refused, "Request Entity Too Large"),
        (Fault.error(404, "Not Found: method not found"), Refused, "Not Found: method not found"),
        (Fault.error(403, "Forbidden: bot was blocked by the user"), ChatClosed, "bot was blocked by the user"),
        (Fault.error(409, "Conflict: terminated"), OtherPoller, "terminated"),
        (Fault.error(401, "Unauthorized"), TokenRefused, ""),
        (Fault.error(404, "Not Found"), TokenRefused, ""),
    ],
)
async def test_a_call_that_fails_says_what_may_be_done_next(
    api: FakeBotApi, client: TelegramClient, ana: Person, fault: Fault, kind: type[BotApiError], reason: str
) -> None:
    api.fails("sendMessage", fault)
    failure = await failure_of(client, ana)
    assert type(failure) is kind
    assert failure.reason.startswith(reason)
    assert failure.method == "sendMessage"


async def test_too_many_calls_say_for_how_long(api: FakeBotApi, client: TelegramClient, ana: Person) -> None:
    api.fails("sendMessage", Fault.too_many(7))
    api.fails("sendMessage", Fault.error(429, "Too Many Requests"))
    first, second = await failure_of(client, ana), await failure_of(client, ana)
    assert isinstance(first, SlowDown)
    assert isinstance(second, SlowDown)
    assert (first.seconds, second.seconds) == (7, 5)
    assert isinstance(first, NotSent)


async def test_a_group_that_moved_says_where_to(api: FakeBotApi, client: TelegramClient, ana: Person) -> None:
    group = api.group("Group", ana, supergroup=False)
    new = api.migrate(group)
    with pytest.raises(ChatMoved) as caught:
        await client.send_text(Address(group.id), "hello")
    assert caught.value.new_chat == new.id


async def test_a_server_that_is_away_has_certainly_got_nothing(
    api: FakeBotApi, client: TelegramClient, ana: Person
) -> None:
    async with api.down():
        assert type(await failure_of(client, ana)) is NotSent
    assert await client.send_text(Address(ana.id), "hello") > 0


@pytest.mark.parametrize("fault", [Fault.hang(), Fault.trickle(0.2), Fault.slow(60).after_effect()])
async def test_a_call_that_gets_no_answer_in_time_has_an_unknown_outcome(
    api: FakeBotApi, ana: Person, fault: Fault
) -> None:
    api.fails("sendMessage", fault)
    async with TelegramClient(api.token, api=api.base_url, timeout=0.5) as client:
        failure = await failure_of(client, ana)
    assert type(failure) is OutcomeUnknown
    assert failure.reason in ("no answer in 0.5 s", "ReadTimeout")


async def test_an_unknown_host_has_certainly_got_nothing() -> None:
    async with TelegramClient("1:abcdef", api="http://nowhere.invalid/bot", timeout=SECONDS) as client:
        with pytest.raises(NotSent):
            await client.me()


async def test_no_log_line_and_no_error_holds_the_token(
    api: FakeBotApi, client: TelegramClient, ana: Person, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    errors, secret = [], api.token.partition(":")[2]
    await client.send_text(Address(ana.id), "fine")
    for fault in (Fault.page(502), Fault.drop(), Fault.page(200, f"<html>{api.token}</html>"), Fault.error(401, "No")):
        api.fails("sendMessage", fault)
        errors.append(repr(await failure_of(client, ana)))
    api.revoke_token()
    errors.append(str(await failure_of(client, ana)))
    assert secret not in caplog.text
    assert secret not in " ".join(errors)


async def test_updates_come_raw_and_wait_for_the_first(api: FakeBotApi, client: TelegramClient, ana: Person) -> None:
    api.inject({"widget_query": {"of": "a later Bot API"}}, update_id=2000)
    first = await client.updates(None, 0, (*KINDS, "widget_query"))
    assert [one["update_id"] for one in first] == [1001, 2000]
    assert first[1]["widget_query"] == {"of": "a later Bot API"}
    poll = asyncio.create_task(client.updates(2001, SECONDS, KINDS))
    await api.until(lambda: len(api.calls_of("getUpdates")) == 2, SECONDS)
    ana.says("hello")
    [update] = await poll
    assert update["message"]["text"] == "hello"
    assert api.waiting[0].id == update["update_id"]


async def test_a_poll_that_hangs_can_be_left_and_a_new_connection_be_made(
    api: FakeBotApi, client: TelegramClient, ana: Person
) -> None:
    api.fails("getUpdates", Fault.hang())
    poll = asyncio.create_task(client.updates(None, SECONDS, KINDS))
    await api.until(lambda: len(api.calls_of("getUpdates")) == 1, SECONDS)
    poll.cancel()
    await asyncio.gather(poll, return_exceptions=True)
    await client.reopen_polling()
    assert len(await client.updates(None, 0, KINDS)) == 1


async def test_a_file_is_fetched_up_to_a_size(
    api: FakeBotApi, client: TelegramClient, ana: Person, tmp_path: Path
) -> None:
    content = bytes(range(256)) * 40
    ana.sends_document("a.bin", content)
    ana.sends_document("liar.bin", content, size=5)
    _, honest, liar = await client.updates(None, 0, KINDS)
    there = tmp_path / "there"
    assert await client.download(honest["message"]["document"]["file_id"], there, 20_000) == len(content)
    assert there.read_bytes() == content
    for update in (honest, liar):
        with pytest.raises(Refused, match="file is too big"):
            await client.download(update["message"]["document"]["file_id"], tmp_path / "not there", 10_000)
    assert not (tmp_path / "not there").exists()


async def test_texts_files_edits_and_buttons_look_as_they_were_given(
    api: FakeBotApi, client: TelegramClient, ana: Person
) -> None:
    address = Address(ana.id)
    rows = ((Button("Yes", data="y"),), (Button("Open", url="https://example.org"),))
    link = Entity("text_link", 0, 4, url="https://example.org/x")
    sent = await client.send_text(address, "link and code", (link, Entity("pre", 9, 4, language="py")), buttons=rows)
    seen = api.screen(ana).last
    assert (seen.id, seen.buttons, seen.marked("text_link")) == (sent, (("Yes",), ("Open",)), ["link"])
    assert [one.language for one in seen.entities if one.type == "pre"] == ["py"]

    await client.edit_text(ana.id, sent, "changed")
    await client.edit_text(ana.id, sent, "changed")
    assert (api.screen(ana).last.text, api.screen(ana).last.buttons) == ("changed", ())
    await client.edit_buttons(ana.id, sent, rows[:1])
    assert api.screen(ana).last.buttons == (("Yes",),)

    await client.send_document(address, Document("a.py", b"print()"), reply_to=sent)
    file = api.screen(ana).last
    assert (file.media.file.name, file.media.file.content, file.reply_to) == ("a.py", b"print()", sent)

    tap = ana.taps(api.screen(ana).messages[-2], "Yes")
    await client.answer_tap(tap.id, "Done")
    assert tap.answer == {"text": "Done", "show_alert": False}
    await client.delete_message(ana.id, sent)
    await client.delete_message(ana.id, sent)
    assert sent not in [one.id for one in api.screen(ana).messages]


async def test_what_the_bot_says_of_itself(api: FakeBotApi, client: TelegramClient, ana: Person) -> None:
    assert (await client.me())["username"] == "goat_bot"
    await client.set_commands({"stop": "ends it"})
    await client.set_commands({"stop": "oprește"}, language="ro", scope={"type": "chat", "chat_id": ana.id})
    assert sorted(language for _, language in api.world.commands) == ["", "ro"]
    await client.set_webhook("https://example.org/hook", "secret-of-it", KINDS)
    assert (await client.webhook())["url"] == "https://example.org/hook"
    with pytest.raises(OtherPoller):
        await client.updates(None, 0, KINDS)
    await client.delete_webhook()
    assert len(await client.updates(None, 0, KINDS)) == 1
