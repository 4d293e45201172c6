"""Sending, changing and removing messages, and what a person then sees."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, InputMediaPhoto, MessageEntity, ReplyParameters
from telegram.error import BadRequest, Forbidden

from goat.testing.bot_api import FakeBotApi, Person
from goat.testing.clock import FakeClock

Call = Callable[..., Coroutine[Any, Any, dict[str, Any]]]
MODIFIED = "message is not modified: specified new message content and reply markup are exactly the same as a"


async def test_a_message_of_the_library_stands_on_the_screen_as_it_was_sent(
    api: FakeBotApi, bot: Bot, ana: Person
) -> None:
    keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="y")]])
    sent = await bot.send_message(
        ana.id, "👍 bold", entities=[MessageEntity("bold", 3, 4)], reply_markup=keyboard, disable_notification=True
    )

    seen = api.screen(ana).last
    assert (seen.id, seen.text, seen.from_bot) == (sent.message_id, "👍 bold", True)
    assert (seen.marked("bold"), seen.buttons) == (["bold"], (("Yes",),))
    assert sent.parse_entities() == {sent.entities[0]: "bold"}


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({}, "message text is empty"),
        ({"text": " "}, "text must be non-empty"),
        ({"text": "x" * 4097}, "message is too long"),
        ({"text": "a_b", "parse_mode": "Markdown"}, "can't parse entities: Can't find end of the entity starting at"),
        ({"text": "a", "parse_mode": "rst"}, "unsupported parse_mode"),
        ({"text": "a", "entities": "{"}, "can't parse entities JSON object"),
        (
            {"text": "a", "entities": [{"type": "bold", "offset": 0, "length": 2}]},
            "entity beginning at UTF-16 offset 0",
        ),
        ({"text": "a", "chat_id": ""}, "chat_id is empty"),
        ({"text": "a", "chat_id": 99}, "chat not found"),
        ({"text": "a", "chat_id": "@nobody"}, "chat not found"),
        ({"text": "a", "message_thread_id": 1}, "message thread not found"),
        ({"text": "a", "message_thread_id": 7}, "message thread not found"),
        ({"text": "a", "message_thread_id": "x"}, "wrong message_thread_id specified"),
        ({"text": "a", "reply_parameters": {"message_id": 55}}, "message to be replied not found"),
        ({"text": "a", "reply_parameters": {"message_id": 1, "quote": "no"}}, "QUOTE_TEXT_INVALID"),
        ({"text": "a", "reply_parameters": "["}, "can't parse reply parameters JSON object"),
    ],
)
async def test_a_message_that_telegram_would_refuse_is_refused_in_its_words(
    api: FakeBotApi, call: Call, ana: Person, params: dict[str, Any], problem: str
) -> None:
    body = await call("sendMessage", **{"chat_id": ana.id, **params})

    assert body["description"].startswith(f"Bad Request: {problem}")
    assert api.screen(ana).answers == []


@pytest.mark.parametrize(
    ("button", "problem"),
    [
        ({"text": "x"}, "text buttons are unallowed in the inline keyboard"),
        ({"text": " ", "callback_data": "a"}, "BUTTON_TEXT_INVALID"),
        ({"text": "x", "callback_data": ""}, "BUTTON_DATA_INVALID"),
        ({"text": "x", "callback_data": "ț" * 33}, "BUTTON_DATA_INVALID"),
        ({"text": "x", "url": "localhost"}, "BUTTON_URL_INVALID"),
        ({"callback_data": "a"}, "can't parse inline keyboard button: Can't find field \"text\""),
    ],
)
async def test_a_button_that_telegram_would_refuse_is_refused(
    call: Call, ana: Person, button: dict[str, str], problem: str
) -> None:
    body = await call("sendMessage", chat_id=ana.id, text="a", reply_markup={"inline_keyboard": [[button]]})
    assert body["description"] == f"Bad Request: {problem}"


async def test_callback_data_may_have_64_bytes(api: FakeBotApi, call: Call, ana: Person) -> None:
    markup = {"inline_keyboard": [[{"text": "x", "callback_data": "ț" * 32}], []]}
    assert (await call("sendMessage", chat_id=ana.id, text="a", reply_markup=json.dumps(markup)))["ok"]
    assert api.screen(ana).last.buttons == (("x",),)


async def test_a_bot_cannot_write_to_one_who_never_wrote_to_it_or_blocked_it(
    api: FakeBotApi, bot: Bot, ana: Person
) -> None:
    bob = api.person("Bob")
    with pytest.raises(Forbidden, match="bot can't initiate conversation with a user"):
        await bot.send_message(bob.id, "hi")
    ana.blocks_bot()
    with pytest.raises(Forbidden, match="bot was blocked by the user"):
        await bot.send_message(ana.id, "hi")
    ana.unblocks_bot()
    assert (await bot.send_message(ana.id, "hi")).text == "hi"


async def test_a_bot_cannot_write_to_a_group_that_it_left_or_was_thrown_out_of(
    api: FakeBotApi, bot: Bot, ana: Person
) -> None:
    group, basic = api.group("Family", ana), api.group("Old", ana, supergroup=False)
    await bot.leave_chat(group.id)
    with pytest.raises(Forbidden, match="bot is not a member of the supergroup chat"):
        await bot.send_message(group.id, "hi")
    ana.removes_bot(basic)
    with pytest.raises(Forbidden, match="bot was kicked from the group chat"):
        await bot.send_message(basic.id, "hi")
    ana.adds_bot(basic)
    assert (await bot.send_message(basic.id, "hi")).chat.title == "Old"


async def test_a_group_that_became_a_supergroup_names_its_new_id(api: FakeBotApi, call: Call, ana: Person) -> None:
    old = api.group("Family", ana, supergroup=False)
    new = api.migrate(old)
    body = await call("sendMessage", chat_id=old.id, text="hi")

    assert body["parameters"] == {"migrate_to_chat_id": new.id}
    assert [update.body["message"].get("migrate_to_chat_id") for update in api.waiting[1:]] == [new.id, None]


async def test_forum_topics_are_apart_and_general_has_no_id(api: FakeBotApi, bot: Bot, ana: Person) -> None:
    forum = api.forum("Team", ana, topics=("Plans", "Lunch"))
    plans = api.topic(forum, "Plans")
    await bot.send_message(forum.id, "to plans", message_thread_id=plans)
    await bot.send_message(forum.id, "to general")
    with pytest.raises(BadRequest, match="Message thread not found"):
        await bot.send_message(forum.id, "to general", message_thread_id=1)
    await bot.send_chat_action(forum.id, "typing")
    assert api.screen(forum, 1).actions == ()
    await bot.send_chat_action(forum.id, "typing", message_thread_id=1)
    with pytest.raises(BadRequest, match="Message thread not found"):
        await bot.send_chat_action(api.group("Crew", ana).id, "typing", message_thread_id=1)

    assert api.screen(forum, plans).texts == ["to plans"]
    assert api.screen(forum, 1).texts == ["to general"]
    assert api.screen(ana.at(forum, api.topic(forum, "Lunch"))).texts == []
    assert len(api.screen(forum).texts) == 2
    assert [interval.action for interval in api.screen(forum, 1).actions] == ["typing"]


async def test_a_reply_may_quote_and_survives_a_deleted_target_only_on_request(
    api: FakeBotApi, bot: Bot, ana: Person
) -> None:
    question = ana.says("one two three")
    await bot.send_message(ana.id, "two?", reply_parameters=ReplyParameters(question.id, quote="two"))
    assert (api.screen(ana).last.reply_to, api.screen(ana).last.quote) == (question.id, "two")

    ana.deletes(question)
    with pytest.raises(BadRequest, match="Message to be replied not found"):
        await bot.send_message(ana.id, "x", reply_to_message_id=question.id)
    await bot.send_message(ana.id, "x", reply_to_message_id=question.id, allow_sending_without_reply=True)
    assert api.screen(ana).last.reply_to is None


async def test_an_edit_shows_the_newest_text_once_and_loses_buttons_that_it_does_not_repeat(
    api: FakeBotApi, bot: Bot, ana: Person
) -> None:
    keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="y")]])
    sent = await bot.send_message(ana.id, "first", reply_markup=keyboard)
    with pytest.raises(BadRequest, match=f"(?i){MODIFIED}"):
        await bot.edit_message_text("first ", ana.id, sent.message_id, reply_markup=keyboard)
    await bot.edit_message_text("second", ana.id, sent.message_id)

    assert api.screen(ana).answers == ["second"]
    assert (api.screen(ana).last.buttons, api.screen(ana).last.edited) == ((), True)
    await bot.edit_message_reply_markup(ana.id, sent.message_id, reply_markup=keyboard)
    assert api.screen(ana).last.buttons == (("Yes",),)


async def test_edits_that_cannot_be_are_refused(api: FakeBotApi, call: Call, ana: Person) -> None:
    mine = ana.says("hers")
    photo = (await call("sendMessage", chat_id=ana.id, text="x"))["result"]["message_id"]

    async def problem(**params: Any) -> str:
        return str((await call("editMessageText", chat_id=ana.id, **params)).get("description"))

    assert await problem(message_id=99, text="a") == "Bad Request: message to edit not found"
    assert await problem(message_id=mine.id, text="a") == "Bad Request: message can't be edited"
    assert await problem(message_id=photo, text="x" * 4097) == "Bad Request: MESSAGE_TOO_LONG"
    assert await problem(message_id=photo, text="") == "Bad Request: message text is empty"


async def test_messages_can_be_deleted_for_two_days(api: FakeBotApi, bot: Bot, ana: Person, clock: FakeClock) -> None:
    first, second, third = [(await bot.send_message(ana.id, text)).message_id for text in "abc"]
    await bot.delete_message(ana.id, first)
    assert api.screen(ana).answers == ["b", "c"]
    with pytest.raises(BadRequest, match="Message to delete not found"):
        await bot.delete_message(ana.id, first)
    await bot.delete_messages(ana.id, [first, second])
    assert api.screen(ana).answers == ["c"]
    clock.move(timedelta(hours=49).total_seconds())
    with pytest.raises(BadRequest, match="can't be deleted for everyone"):
        await bot.delete_message(ana.id, third)


async def test_an_action_is_seen_for_five_seconds_or_until_the_message_comes(
    api: FakeBotApi, bot: Bot, ana: Person, clock: FakeClock
) -> None:
    begin = clock.now()
    for _ in range(2):
        await bot.send_chat_action(ana.id, "typing")
        clock.move(4)
    await bot.send_message(ana.id, "done")
    clock.move(60)
    await bot.send_chat_action(ana.id, "typing")

    seen = [((one.begin - begin).total_seconds(), (one.end - begin).total_seconds()) for one in api.screen(ana).actions]
    assert seen == [(0, 8), (68, 73)]
    with pytest.raises(BadRequest, match="Wrong parameter action in request"):
        await bot.send_chat_action(ana.id, "thinking")


async def test_a_draft_is_seen_in_private_chats_until_the_message_comes_or_half_a_minute(
    api: FakeBotApi, call: Call, ana: Person, clock: FakeClock
) -> None:
    group = api.group("Family", ana)
    refused = await call("sendMessageDraft", chat_id=group.id, draft_id=1, text="thin")
    assert refused["description"] == "Bad Request: TEXTDRAFT_PEER_INVALID"
    assert not (await call("sendMessageDraft", chat_id=ana.id, draft_id=0, text="thin"))["ok"]

    await call("sendMessageDraft", chat_id=ana.id, draft_id=1, text="thin")
    assert api.screen(ana).draft == "thin"
    clock.move(31)
    assert api.screen(ana).draft is None
    await call("sendMessageDraft", chat_id=ana.id, draft_id=1, text="thinking")
    await call("sendMessage", chat_id=ana.id, text="thought")
    assert (api.screen(ana).draft, api.screen(ana).answers) == (None, ["thought"])


async def test_files_go_up_and_come_down_again(api: FakeBotApi, bot: Bot, ana: Person) -> None:
    sent = await bot.send_document(ana.id, b"print()", filename="main.py", caption="see *this*", parse_mode="Markdown")
    assert sent.document is not None
    file = await bot.get_file(sent.document.file_id)

    assert bytes(await file.download_as_bytearray()) == b"print()"
    seen = api.screen(ana).last
    assert seen.media is not None
    assert (seen.text, seen.marked("bold"), seen.media.kind, seen.media.file.name) == (
        "see this",
        ["this"],
        "document",
        "main.py",
    )
    await bot.edit_message_caption(ana.id, sent.message_id, caption="other")
    assert api.screen(ana).answers == ["other"]


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height) + bytes(20)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (png(12_000, 300), "Photo_invalid_dimensions"),
        (png(21, 1), "Photo_invalid_dimensions"),
        (b"<svg/>", "Image_process_failed"),
        (bytes(10 * 1024 * 1024 + 1), "too big for a photo"),
        (b"", "File must be non-empty"),
    ],
)
async def test_pictures_that_telegram_cannot_show_are_refused(
    bot: Bot, ana: Person, content: bytes, problem: str
) -> None:
    with pytest.raises(BadRequest, match=problem):
        await bot.send_photo(ana.id, content)


async def test_a_caption_has_1024_units(bot: Bot, ana: Person) -> None:
    await bot.send_photo(ana.id, png(20, 1), caption="👍" * 512)
    with pytest.raises(BadRequest, match="Message caption is too long"):
        await bot.send_photo(ana.id, png(20, 1), caption="👍" * 512 + "x")


async def test_an_album_has_two_to_ten_items(api: FakeBotApi, bot: Bot, ana: Person) -> None:
    await bot.send_media_group(ana.id, [InputMediaPhoto(png(2, 2), caption="two"), InputMediaPhoto(png(3, 3))])
    albums = {seen.message.album for seen in api.screen(ana).messages if seen.from_bot}

    assert (api.screen(ana).answers, len(albums)) == (["two", ""], 1)
    with pytest.raises(BadRequest, match="no messages"):
        await bot.send_media_group(ana.id, [InputMediaPhoto(png(2, 2))])
    with pytest.raises(BadRequest, match="Too many messages to send as an album"):
        await bot.send_media_group(ana.id, [InputMediaPhoto(png(2, 2))] * 11)


async def test_a_file_above_twenty_megabytes_cannot_be_fetched(api: FakeBotApi, bot: Bot, ana: Person) -> None:
    large = ana.sends_voice(seconds=900, size=25 * 1024 * 1024)
    assert large.media is not None
    with pytest.raises(BadRequest, match="File is too big"):
        await bot.get_file(large.media.file.id)
    with pytest.raises(BadRequest, match="Wrong file_id or the file is temporarily unavailable"):
        await bot.get_file("none")


async def test_reactions_of_the_bot_are_seen(api: FakeBotApi, bot: Bot, ana: Person) -> None:
    said = ana.says("thanks")
    await bot.set_message_reaction(ana.id, said.id, "👍")
    assert api.screen(ana).last.reactions == ("👍",)
    await bot.set_message_reaction(ana.id, said.id, [])
    assert api.screen(ana).last.reactions == ()


async def test_with_limits_on_a_chat_takes_one_message_a_second_and_a_group_twenty_a_minute(
    api: FakeBotApi, call: Call, ana: Person, clock: FakeClock
) -> None:
    group = api.group("Family", ana)
    api.world.limited = True
    for place in range(20):
        assert (await call("sendMessage", chat_id=group.id, text=str(place)))["ok"]
        clock.move(1)

    refused = await call("sendMessage", chat_id=group.id, text="b")
    assert refused["description"] == "Too Many Requests: retry after 40"
    assert refused["parameters"] == {"retry_after": 40}
    assert (await call("sendMessage", chat_id=ana.id, text="b"))["ok"]
    assert (await call("sendMessage", chat_id=ana.id, text="c"))["parameters"] == {"retry_after": 1}
