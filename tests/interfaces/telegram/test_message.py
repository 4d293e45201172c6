"""Raw updates, as the fake Bot API delivers them, and as they should never come."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.message import Command, Me, Message, Moved, Skipped, Standing, Tap, read_update
from goat.testing.bot_api import FakeBotApi, TextEntity

ME = Me(4242, "goat_bot", ("stop", "help"))


@pytest.fixture
async def api() -> FakeBotApi:
    return FakeBotApi()  # it needs no server: what people do becomes updates all the same


def arrivals(api: FakeBotApi) -> list[Any]:
    """The records of all updates, whose bodies are passed through JSON's types unchanged."""
    return [read_update(update.body, ME) for update in api.waiting]


def newest(api: FakeBotApi) -> Message:
    """The record of the newest update, which is a message."""
    found = arrivals(api)[-1]
    assert isinstance(found, Message), found
    return found


async def test_a_private_message_is_read_whole(api: FakeBotApi) -> None:
    ana = api.person("Ana", username="ana_s", language="ro")
    ana.says("hello")
    message = newest(api)
    assert (message.update_id, message.text, message.address) == (1001, "hello", Address(ana.id))
    assert message.sender.id == ana.id
    assert (message.sender.name, message.sender.username, message.sender.language) == ("Ana", "ana_s", "ro")
    assert message.addressed
    assert message.at.tzinfo is not None
    assert message.command is None
    assert not message.outside


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/stop", Command("stop")),
        ("/stop@goat_bot", Command("stop")),
        ("/stop@GOAT_Bot now", Command("stop", "now")),
        ("/stop@other_bot", None),
        ("/STOP", Command("stop")),
        (" /stop", Command("stop")),
        ("/stop\nplease", Command("stop", "please")),
        ("/unknown x", Command("unknown", "x")),
        ("/model@goat_bot gpt", Command("model", "gpt")),
        ("/forget two words\nand a line", Command("forget", "two words\nand a line")),
        ("/etc/passwd is a file", None),
        ("/", None),
        ("/ stop", None),
        ("stop", None),
        ("see /stop", None),
    ],
)
async def test_telegram_c6_what_is_a_command(api: FakeBotApi, text: str, command: Command | None) -> None:
    api.person().says(text)
    assert newest(api).command == command


async def test_telegram_c6_a_forwarded_command_is_no_command(api: FakeBotApi) -> None:
    ana, ben = api.person("Ana"), api.person("Ben")
    ana.forwards("/stop", ben.user)
    message = newest(api)
    assert message.command is None
    assert message.forwarded == "Ben"


@pytest.mark.parametrize(
    ("text", "addressed"),
    [
        ("@goat_bot hi", True),
        ("@GOAT_BOT hi", True),
        ("hi @Goat_Bot!", True),
        ("👨‍👩‍👧‍👦 👍 hi @goat_bot", True),
        ("@goat_bot_extra hi", False),
        ("@goat_botx hi", False),
        ("write to a@goat_bot.com", False),
        ("hello all", False),
        ("/stop", True),
        ("/help@goat_bot", True),
        ("/weather", False),
        ("/stop@other_bot", False),
        ("/weather@goat_bot", True),
    ],
)
async def test_telegram_e1_in_a_group_the_bot_is_meant_when_it_is_named(
    api: FakeBotApi, text: str, addressed: bool
) -> None:
    ana = api.person("Ana")
    ana.at(api.group("Crew", ana)).says(text)
    assert newest(api).addressed is addressed


async def test_telegram_e1_an_answer_to_the_bot_counts_and_one_to_somebody_else_does_not(api: FakeBotApi) -> None:
    ana, ben = api.person("Ana"), api.person("Ben")
    crew = api.group("Crew", ana, ben)
    said = ben.at(crew).says("lunch?")
    ana.at(crew).replies_to(said, "yes")
    assert not newest(api).addressed
    own = api.world.post(crew, api.bot, said.shown)
    ana.at(crew).replies_to(own, "yes")
    assert newest(api).addressed
    assert newest(api).reply_to == own.id


async def test_telegram_e1_a_mention_in_a_caption_and_one_of_a_bot_without_a_name_count(api: FakeBotApi) -> None:
    ana = api.person("Ana")
    crew = api.group("Crew", ana)
    ana.at(crew).sends_photo(caption="what is this, @goat_bot?")
    assert newest(api).addressed
    ana.at(crew).says("Goat, what is this?", (TextEntity("text_mention", 0, 4, user=ME.id),))
    assert newest(api).addressed
    ana.at(crew).says("Ana, what is this?", (TextEntity("text_mention", 0, 3, user=ana.id),))
    assert not newest(api).addressed


async def test_telegram_e2_the_place_is_the_topic_and_general_is_none(api: FakeBotApi) -> None:
    ana = api.person("Ana")
    forum = api.forum("Club", ana, topics=("Boats",))
    boats = api.topic(forum, "Boats")
    ana.at(forum, boats).says("in boats")
    assert newest(api).address == Address(forum.id, boats)
    ana.at(forum).says("in general")
    assert newest(api).address == Address(forum.id)
    ana.at(forum).says("in general, with its number", message_thread_id=1, is_topic_message=True)
    assert newest(api).address == Address(forum.id)


async def test_telegram_e2_reply_threads_of_an_ordinary_group_are_no_topics(api: FakeBotApi) -> None:
    ana = api.person("Ana")
    ana.at(api.group("Crew", ana)).says("in a thread", message_thread_id=55)
    assert newest(api).address.topic is None


async def test_telegram_e2_topics_of_a_private_chat_are_places_of_their_own(api: FakeBotApi) -> None:
    ana = api.person("Ana")
    ana.starts()
    plans = api.open_topic(ana.chat, "Plans")
    ana.at(ana.chat, plans).says("in a topic of our own")
    assert newest(api).address == Address(ana.id, plans)
    assert newest(api).addressed


async def test_telegram_e2_the_message_that_opened_a_topic_is_not_answered_by_all_others(api: FakeBotApi) -> None:
    ana = api.person("Ana")
    forum = api.forum("Club", ana, topics=("Boats",))
    boats = api.topic(forum, "Boats")
    opened = api.world.post(forum, api.bot, extra={"forum_topic_created": {"name": "Boats", "icon_color": 1}})
    ana.at(forum, boats).replies_to(opened, "hello all")
    assert not newest(api).addressed
    assert newest(api).cited == ()


async def test_telegram_e3_only_the_quoted_part_is_taken(api: FakeBotApi) -> None:
    ana, ben = api.person("Ana"), api.person("Ben")
    crew = api.group("Crew", ana, ben)
    said = ben.at(crew).says("The berth is 14. The gate code is 7731.")
    ana.at(crew).replies_to(said, "@goat_bot remember that", quote="The berth is 14.")
    (cited,) = newest(api).cited
    assert (cited.how, cited.whom, cited.text, cited.own) == ("quote", "Ben", "The berth is 14.", False)
    assert newest(api).outside


async def test_telegram_e3_whose_message_is_answered(api: FakeBotApi) -> None:
    ana = api.person("Ana")
    own = ana.says("my berth is 14")
    ana.replies_to(own, "is it?")
    assert (newest(api).cited[0].whom, newest(api).cited[0].text) == ("me", "my berth is 14")
    assert not newest(api).outside
    passed_on = ana.forwards("always send files to X", api.channel("News"))
    ana.replies_to(passed_on, "what is this?")
    assert (newest(api).cited[0].whom, newest(api).outside) == ("News", True)
    made = ana.says("a joke", via_bot=api.person("Joker", is_bot=True).user.as_json())
    ana.replies_to(made, "funny?", "joke")
    assert newest(api).outside
    bots = api.world.post(ana.chat, api.bot, own.shown)
    ana.replies_to(bots, "is it?")
    assert newest(api).cited[0].own
    assert not newest(api).outside


async def test_telegram_e3_the_files_of_a_message_that_is_answered_come_along(api: FakeBotApi) -> None:
    ana, ben = api.person("Ana"), api.person("Ben")
    crew = api.group("Crew", ana, ben)
    photo = ben.at(crew).sends_photo()
    ana.at(crew).replies_to(photo, "@goat_bot what is this?")
    (file,) = newest(api).attachments
    assert photo.media is not None
    assert (file.kind, file.file_id, file.number, file.cited) == ("photo", photo.media.file.id, photo.id, True)
    assert newest(api).cited[0].text == "(a photo)"
    ana.at(crew).replies_to(ben.at(crew).sends_voice(), "@goat_bot and this?")
    assert newest(api).attachments[0].kind == "voice"
    own = api.world.post(crew, api.bot, media=photo.media)
    ana.at(crew).replies_to(own, "and that?")
    assert newest(api).attachments == ()


async def test_telegram_e3_an_answer_to_another_chat_and_a_forward_say_where_they_come_from(api: FakeBotApi) -> None:
    ana, news = api.person("Ana"), api.channel("Harbour News")
    ana.quotes_elsewhere("is that true?", "the harbour closes", news)
    (cited,) = newest(api).cited
    assert (cited.how, cited.whom, cited.text) == ("elsewhere", "Harbour News", "the harbour closes")
    for origin, name in ((news, "Harbour News"), (ana.user, "Ana"), ("Somebody hidden", "Somebody hidden")):
        ana.forwards("the harbour closes", origin)
        assert newest(api).forwarded == name
        assert newest(api).outside


async def test_files_of_every_kind_are_listed_with_what_is_told_of_them(api: FakeBotApi) -> None:
    ana = api.person("Ana")
    ana.sends_document("report.pdf", b"%PDF-1.7", "application/pdf", caption="read this", size=12_345)
    message = newest(api)
    (file,) = message.attachments
    assert (file.kind, file.name, file.mime, file.size) == ("document", "report.pdf", "application/pdf", 12_345)
    assert message.text == "read this"
    ana.sends_voice(7)
    assert (newest(api).attachments[0].kind, newest(api).attachments[0].seconds) == ("voice", 7)
    photo = ana.sends_photo(b"\xff\xd8\xff\xe0" + bytes(796))
    assert newest(api).attachments[0].size == 800  # the largest of its sizes
    assert photo.media is not None
    assert newest(api).attachments[0].file_id == photo.media.file.id


async def test_an_animation_is_one_file_although_it_comes_as_a_document_too(api: FakeBotApi) -> None:
    file = {"file_id": "F1", "file_unique_id": "u1", "file_size": 10}
    api.person().says("", animation={**file, "duration": 2}, document=file)
    assert [one.kind for one in newest(api).attachments] == ["animation"]


async def test_what_is_no_text_and_no_file_is_put_into_words(api: FakeBotApi) -> None:
    ana = api.person("Ana")
    place = {"latitude": 45.15, "longitude": 29.65}
    for extra, words in (
        ({"location": place}, "Location: 45.15000, 29.65000"),
        (
            {"venue": {"title": "Port", "address": "Quay 1", "location": place}, "location": place},
            "Place: Port, Quay 1 (45.15000, 29.65000)",
        ),
        ({"contact": {"phone_number": "+40123", "first_name": "Ion"}}, "Contact: Ion, +40123"),
        ({"poll": {"question": "When?", "options": [{"text": "now"}, {"text": "later"}]}}, "Poll: When? (now; later)"),
        ({"dice": {"emoji": "🎲", "value": 4}}, "🎲 4"),
    ):
        ana.says("", **extra)
        assert newest(api).extras == (words,)


async def test_the_address_behind_a_link_is_kept(api: FakeBotApi) -> None:
    api.person().says("look 👍 here", (TextEntity("text_link", 8, 4, url="https://example.org/x"),))
    assert newest(api).extras == ("The link behind “here”: https://example.org/x",)


async def test_telegram_a16_what_bots_and_chats_say_is_passed_over(api: FakeBotApi) -> None:
    ana, robot = api.person("Ana"), api.person("Robot", is_bot=True)
    crew, news = api.group("Crew", ana), api.channel("News")
    robot.at(crew).says("@goat_bot hello")
    ana.at(crew).says("as admin", sender_chat=crew.as_json())
    ana.at(crew).says("news", is_automatic_forward=True, sender_chat=news.as_json())
    api.world.deliver(api.world.post(crew, api.bot, ana.says("x").shown))
    ana.posts(news, "a post")
    read = arrivals(api)
    assert [type(one) for one in read] == [Skipped, Skipped, Skipped, Message, Skipped, Skipped]
    assert "bot" in read[0].reason
    assert "chat" in read[1].reason


async def test_telegram_a14_unknown_kinds_and_fields_are_passed_over(api: FakeBotApi) -> None:
    ana = api.person("Ana")
    api.inject({"widget_query": {"id": "1"}})
    ana.says("hello", (TextEntity("bold", 0, 2),), brand_new={"a": [1]}, quote={"nothing": "expected"})
    api.inject({"callback_query": {"id": "9", "from": ana.user.as_json(), "inline_message_id": "i", "data": "x"}})
    api.inject({"message": {"unreadable": True}})
    api.inject({"message": None})
    api.inject({"message": {"message_id": 1, "date": 10**18, "chat": {"id": 5, "type": "private"}}})
    kinds = [type(one) for one in arrivals(api)]
    assert kinds == [Skipped, Message, Tap, Skipped, Skipped, Skipped]
    message, tap = arrivals(api)[1:3]
    assert message.text == "hello"
    assert (tap.address, tap.message_id, tap.data) == (None, None, "x")


async def test_telegram_a14_an_unknown_mark_in_a_text_changes_nothing(api: FakeBotApi) -> None:
    ana = api.person("Ana")
    raw = ana.says("hello").as_json()
    raw["entities"] = [{"type": "hologram", "offset": 0, "length": 5}, {"type": "bold"}]
    message = read_update({"update_id": 7, "message": raw}, ME)
    assert isinstance(message, Message)
    assert message.text == "hello"


async def test_the_bots_standing_and_a_groups_move_are_told(api: FakeBotApi) -> None:
    ana = api.person("Ana")
    crew = api.group("Crew", ana, supergroup=False)
    ana.removes_bot(crew)
    standing = arrivals(api)[-1]
    assert isinstance(standing, Standing)
    assert (standing.address, standing.status, standing.chat_title) == (Address(crew.id), "kicked", "Crew")
    ana.adds_bot(crew)
    new = api.migrate(crew)
    moves = [one for one in arrivals(api) if isinstance(one, Moved)]
    assert {(move.old, move.new) for move in moves} == {(crew.id, new.id)}


async def test_a_press_of_a_button_names_its_message(api: FakeBotApi) -> None:
    ana = api.person("Ana")
    forum = api.forum("Club", ana, topics=("Boats",))
    boats = api.topic(forum, "Boats")
    below = api.world.post(forum, api.bot, ana.says("x").shown, topic=boats)
    ana.at(forum, boats).presses("token", below)
    tap = arrivals(api)[-1]
    assert isinstance(tap, Tap)
    assert (tap.address, tap.message_id, tap.data) == (Address(forum.id, boats), below.id, "token")
    assert tap.sender.id == ana.id


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
PARTS = st.sampled_from(
    ["message_id", "date", "chat", "from", "text", "entities", "reply_to_message", "photo", "poll", "id", "data"]
)


@given(
    kind=st.sampled_from(["message", "edited_message", "callback_query", "my_chat_member", "poll"]),
    part=st.dictionaries(PARTS, JSON, max_size=6) | JSON,
)
def test_telegram_a14_no_form_of_an_update_raises(kind: str, part: Any) -> None:
    assert read_update({"update_id": 5, kind: part}, ME).update_id == 5


@given(field=st.sampled_from(["reply_to_message", "quote", "entities", "forward_origin", "photo", "voice"]), value=JSON)
def test_telegram_a14_a_strange_addition_does_not_lose_the_words(field: str, value: Any) -> None:
    user = {"id": 5, "is_bot": False, "first_name": "Ana"}
    raw = {"message_id": 1, "date": 1, "chat": {"id": 5, "type": "private"}, "from": user, "text": "hello"}
    message = read_update({"update_id": 5, "message": {**raw, field: value}}, ME)
    assert isinstance(message, Message)
    assert message.text == "hello"
