"""What people do in their app reaches the bot in the form that the client library understands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from telegram import Bot, Message, Update

from goat.testing.bot_api import FakeBotApi, Person, TextEntity
from goat.testing.clock import FakeClock

Call = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


async def updates(bot: Bot) -> list[Update]:
    """What came since the last look, without the first /start."""
    got = await bot.get_updates()
    if got:
        await bot.get_updates(offset=got[-1].update_id + 1)
    return [update for update in got if not (update.message and update.message.text == "/start")]


async def messages(bot: Bot) -> list[Message]:
    """The messages of the new updates."""
    return [update.effective_message for update in await updates(bot) if isinstance(update.effective_message, Message)]


async def test_a_text_carries_its_sender_time_language_and_marks(api: FakeBotApi, bot: Bot) -> None:
    ana = api.person("Ana", username="ana_pop", language="ro")
    ana.says("/remind@goat_bot me", (TextEntity("bold", 17, 2),))
    [message] = await messages(bot)

    assert message.from_user is not None
    assert (message.from_user.username, message.from_user.language_code) == ("ana_pop", "ro")
    assert (message.chat.id, message.chat.type, message.date) == (ana.id, "private", api.world.clock.now())
    assert {kind.type: text for kind, text in message.parse_entities().items()} == {
        "bot_command": "/remind@goat_bot",
        "bold": "me",
    }


async def test_a_long_paste_arrives_in_full_messages(bot: Bot, ana: Person) -> None:
    ana.pastes("x" * 4095 + "👍" + "y" * 4000)
    assert [len(message.text or "") for message in await messages(bot)] == [4095, 4001]


async def test_replies_quotes_and_edits_refer_to_what_they_mean(
    api: FakeBotApi, bot: Bot, ana: Person, clock: FakeClock
) -> None:
    await bot.send_message(ana.id, "one two three")
    ana.replies_to(api.screen(ana).last, "which?", quote="two")
    said = ana.says("frist")
    clock.move(5)
    ana.edits(said, "first")
    reply, _, edited = await updates(bot)

    assert reply.message is not None
    assert reply.message.reply_to_message is not None
    assert reply.message.reply_to_message.text == "one two three"
    assert reply.message.quote is not None
    assert (reply.message.quote.text, reply.message.quote.position) == ("two", 4)
    assert edited.edited_message is not None
    assert (edited.edited_message.text, edited.edited_message.message_id) == ("first", said.id)
    assert api.screen(ana).last.text == "first"


async def test_forwards_name_their_origin(api: FakeBotApi, bot: Bot, ana: Person) -> None:
    ana.forwards("from bob", api.person("Bob").user)
    ana.forwards("from news", api.channel("News"))
    ana.forwards("from a shy one", "Shy")
    ana.quotes_elsewhere("look", "what they said", api.channel("Other"))
    *forwards, external = await messages(bot)

    assert [type(one.forward_origin).__name__ for one in forwards] == [
        "MessageOriginUser",
        "MessageOriginChannel",
        "MessageOriginHiddenUser",
    ]
    assert external.external_reply is not None
    assert external.quote is not None
    assert external.quote.text == "what they said"


async def test_files_arrive_with_their_kind_size_and_caption(bot: Bot, ana: Person) -> None:
    ana.sends_photo(b"\xff\xd8" * 40, caption="the *garden*")
    ana.sends_document("../../etc/x", b"1,2", "text/csv")
    ana.sends_document(None, b"", size=25_000_000)
    ana.sends_voice(seconds=7)
    ana.sends_audio("song.mp3", b"ID3")
    photo, csv, nameless, voice, audio = await messages(bot)

    assert [size.file_size for size in photo.photo] == [10, 40, 80]
    assert photo.caption == "the *garden*"
    assert csv.document is not None
    assert (csv.document.file_name, csv.document.mime_type) == ("../../etc/x", "text/csv")
    assert nameless.document is not None
    assert (nameless.document.file_name, nameless.document.file_size) == (None, 25_000_000)
    assert voice.voice is not None
    assert voice.voice.mime_type == "audio/ogg"
    assert audio.audio is not None
    assert audio.audio.file_name == "song.mp3"
    file = await bot.get_file(csv.document.file_id)
    assert bytes(await file.download_as_bytearray()) == b"1,2"


async def test_an_album_is_several_messages_with_one_id_and_one_caption(bot: Bot, ana: Person) -> None:
    ana.sends_album([b"\xff\xd8a", b"\xff\xd8b", b"\xff\xd8c"], caption="holiday")
    album = await messages(bot)

    assert len({message.media_group_id for message in album}) == 1
    assert [message.caption for message in album] == ["holiday", None, None]


async def test_a_pressed_button_waits_for_its_answer_fifteen_seconds(
    api: FakeBotApi, bot: Bot, call: Call, ana: Person, clock: FakeClock
) -> None:
    markup = {"inline_keyboard": [[{"text": "Yes", "callback_data": "y:1"}]]}
    await call("sendMessage", chat_id=ana.id, text="sure?", reply_markup=markup)
    tap = ana.taps(api.screen(ana).last, "Yes")
    late = ana.presses("y:1", inline_message_id="far")
    first, second = await updates(bot)

    assert first.callback_query is not None
    assert first.callback_query.message is not None
    assert second.callback_query is not None
    assert (first.callback_query.data, second.callback_query.message) == ("y:1", None)
    await bot.answer_callback_query(tap.id, "noted")
    assert tap.answer == {"text": "noted", "show_alert": False}
    clock.move(16)
    old = "Bad Request: query is too old and response timeout expired or query ID is invalid"
    assert (await call("answerCallbackQuery", callback_query_id=late.id))["description"] == old
    assert (await call("answerCallbackQuery", callback_query_id=tap.id))["description"] == old
    with pytest.raises(LookupError, match="no button 'No' below 'sure\\?'"):
        ana.taps(api.screen(ana).last, "No")


async def test_in_a_forum_messages_carry_their_topic_except_in_general(api: FakeBotApi, bot: Bot, ana: Person) -> None:
    forum = api.forum("Team", ana, topics=("Plans",))
    plans = api.topic(forum, "Plans")
    ana.at(forum, plans).says("here")
    ana.at(forum).says("there")
    ana.at(api.group("Plain", ana)).says("reply thread", message_thread_id=77)
    here, there, elsewhere = await messages(bot)

    assert (here.message_thread_id, here.is_topic_message, here.chat.is_forum) == (plans, True, True)
    assert (there.message_thread_id, there.is_topic_message) == (None, None)
    assert (elsewhere.message_thread_id, elsewhere.is_topic_message) == (77, None)
    with pytest.raises(LookupError, match="no topic 'Lunch'; there are \\['Plans'\\]"):
        api.topic(forum, "Lunch")


async def test_coming_and_going_is_told(api: FakeBotApi, bot: Bot, ana: Person) -> None:
    group = api.group("Family")
    ana.joins(group)
    ana.leaves(group)
    ana.removes_bot(group)
    ana.at(group).says("nobody hears this")
    ana.adds_bot(group)
    joined, left, removed, stood, added = await updates(bot)

    assert joined.message is not None
    assert [user.id for user in joined.message.new_chat_members] == [ana.id]
    assert left.message is not None
    assert left.message.left_chat_member is not None
    assert removed.my_chat_member is not None
    assert removed.my_chat_member.new_chat_member.status == "kicked"
    assert stood.my_chat_member is not None
    assert added.message is not None
    assert [user.id for user in added.message.new_chat_members] == [api.bot.id]


async def test_with_privacy_a_group_bot_hears_commands_mentions_and_replies_alone(clock: FakeClock) -> None:
    async with FakeBotApi(clock=clock, privacy=True) as api:
        ana = api.person("Ana")
        there = ana.at(api.group("Family", ana))
        async with Bot(api.token, base_url=api.base_url) as bot:
            said = await bot.send_message(there.chat.id, "hello all")
            for text in ("just talking", "@Goat_Bot hi", "@goat_bot_extra hi", "/status", "/status@other_bot"):
                there.says(text)
            there.replies_to(there.chat.messages[said.message_id], "you too")
            there.replies_to(there.says("x"), "not you")
            ana.says("in private")
            heard = [message.text for message in await messages(bot)]

    assert heard == ["@Goat_Bot hi", "/status", "you too", "in private"]


async def test_several_people_write_in_one_group_under_their_names(api: FakeBotApi, bot: Bot, ana: Person) -> None:
    bob = api.person("Bob")
    group = api.group("Family", ana, bob)
    ana.at(group).says("I am Ana")
    bob.at(group).says("I am Bob")
    await bot.send_message(group.id, "I am GOAT")

    assert api.screen(group).drawing().splitlines() == [
        "── Family ──",
        "Ana 09:00",
        "  I am Ana",
        "Bob 09:00",
        "  I am Bob",
        "GOAT 09:00",
        "  I am GOAT",
    ]
    member = await bot.get_chat_member(group.id, bob.id)
    assert (member.status, (await bot.get_chat(group.id)).title) == ("member", "Family")


async def test_channels_and_other_bots_are_told_from_people(api: FakeBotApi, bot: Bot, ana: Person) -> None:
    news, group = api.channel("News", username="news"), api.group("Family", ana)
    ana.posts(news, "headline")
    api.person("Other", is_bot=True).at(group).says("beep")
    ana.at(group).says("as the group", sender_chat=group.as_json())
    post, beep, anonymous = await updates(bot)

    assert post.channel_post is not None
    assert post.channel_post.sender_chat is not None
    assert (post.channel_post.text, post.channel_post.sender_chat.id) == ("headline", news.id)
    assert beep.effective_user is not None
    assert beep.effective_user.is_bot
    assert anonymous.message is not None
    assert anonymous.message.sender_chat is not None
    assert (await bot.send_message("@news", "by name")).chat.id == news.id


async def test_the_stop_button_of_a_draft_is_an_update_of_its_own(api: FakeBotApi, call: Call, ana: Person) -> None:
    ana.presses_stop(7)
    update = (await call("getUpdates"))["result"][-1]
    assert update["stopped_message_generation"]["draft_id"] == 7


async def test_a_test_can_wait_for_answers(api: FakeBotApi, bot: Bot, ana: Person) -> None:
    async def answer() -> None:
        await asyncio.sleep(0.05)
        await bot.send_message(ana.id, "now")

    task = asyncio.create_task(answer())
    assert await api.answers(ana) == ["now"]
    await task
