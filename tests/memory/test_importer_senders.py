"""Whose words are whose: the owner's own, other people's, an assistant's."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.history import open_history
from goat.errors import HistoryError
from goat.memory.importer import Aim, survey
from goat.memory.senders import LISTED, MOST, Senders, choose_sides
from goat.records.episodes import Role
from goat.records.history import HistoryKind, HistoryRecord
from goat.testing.app import memory_app

NOON = datetime(2024, 5, 8, 12, tzinfo=UTC)
PATH = Path("history.json")


def record(sender: str = "Ana", **fields: Any) -> HistoryRecord:
    plain = {"source": "telegram", "key": "k", "chat": "c", "text": "hello", "at": NOON, "number": 1, "position": 1}
    return HistoryRecord(**{**plain, "sender_id": sender.lower(), "sender_name": sender, "chat_title": "Us", **fields})


def senders(*records: HistoryRecord) -> Senders:
    counted = Senders()
    for one in records:
        counted.note(one)
    return counted


def speakers(counted: Senders, me: str | None, *records: HistoryRecord) -> list[str]:
    sides = choose_sides(counted, PATH, me)
    return [sides.speaker(one) for one in records]


def test_memory_11_other_peoples_words_stay_theirs() -> None:
    chat = [record("Dana", own=True), record("Ana", own=False), record("Bob", own=False)]
    assert speakers(senders(*chat), None, *chat) == ["", "Ana", "Bob"]


def test_memory_11_an_assistants_answers_are_neither_the_owners_nor_a_persons() -> None:
    chat = [record("user", own=True), record("ChatGPT", own=False, role=Role.ASSISTANT)]
    counted = senders(*chat)
    assert speakers(counted, None, *chat) == ["", "ChatGPT"]
    assert speakers(counted, "", *chat) == ["user", "ChatGPT"]
    assert [sender.name for sender in counted.all] == ["user"]


def test_memory_11_a_forwarded_message_holds_the_words_of_the_one_who_wrote_it() -> None:
    sent = [
        record("Dana", own=True),
        record("Dana", own=True, forwarded_from="News of the day"),
        record("Ana", own=False, forwarded_from="Dana"),
        record("Ana", own=False, forwarded_from="Bob"),
    ]
    assert speakers(senders(*sent), None, *sent) == ["", "News of the day", "", "Bob"]


def test_the_owner_known_from_one_chat_is_known_in_those_that_do_not_say() -> None:
    chats = [record("Dana", own=True, chat="private"), record("Ana", own=False), record("Dana"), record("Bob")]
    assert speakers(senders(*chats), None, *chats) == ["", "Ana", "", "Bob"]


def test_two_own_ids_tell_nothing_about_chats_that_do_not_say() -> None:
    chats = [record("Dana", own=True), record("Ana", own=True), record("Dana"), record("Ana")]
    assert speakers(senders(*chats), None, *chats) == ["", "", "Dana", "Ana"]


def test_an_event_that_nobody_is_named_for_is_the_chats() -> None:
    event = record("", kind=HistoryKind.SERVICE)
    assert speakers(senders(record("Ana"), event), None, event) == ["Us"]


def test_a_line_without_a_speaker_is_the_owners_and_one_of_an_assistant_is_nobodys() -> None:
    note = record("", chat_title="")
    answer = record("", chat_title="", role=Role.ASSISTANT, own=False)
    assert speakers(senders(note), None, note) == [""]
    assert speakers(senders(note, answer), None, note, answer) == ["", ""]
    titled = replace(note, chat_title="Diary")
    assert speakers(senders(titled), None, titled) == [""]


def test_one_sender_of_whom_nothing_is_said_keeps_their_words() -> None:
    channel = record("News", own=None)
    assert speakers(senders(channel), None, channel) == ["News"]
    assert speakers(senders(channel), "News", channel) == [""]


def test_several_senders_of_whom_nothing_is_said_are_asked_about() -> None:
    group = [record("Ana"), record("Bob"), record("Bob")]
    with pytest.raises(HistoryError) as caught:
        choose_sides(senders(*group), PATH, None)
    assert "does not tell which of its senders you are" in str(caught.value)
    assert "--me NAME" in str(caught.value)
    assert "Bob (2 messages), Ana (1 message)" in str(caught.value)


@pytest.mark.parametrize("me", ["Bob", "bob", "BOB"])
def test_the_owner_is_named_by_name_or_id(me: str) -> None:
    group = [record("Ana"), record("Bob"), record("Ana", forwarded_from="Bob")]
    assert speakers(senders(*group), me, *group) == ["Ana", "", ""]


def test_a_name_outranks_what_the_export_says() -> None:
    chat = [record("Dana", own=True), record("Ana", own=False)]
    assert speakers(senders(*chat), "Ana", *chat) == ["Dana", ""]
    assert speakers(senders(*chat), "", *chat) == ["Dana", "Ana"]


def test_a_name_that_nobody_bears_is_told_with_those_that_there_are() -> None:
    group = [record(f"Person {number}") for number in range(LISTED + 3)]
    with pytest.raises(HistoryError) as caught:
        choose_sides(senders(*group), PATH, "Zoë")
    assert "nobody in it is called Zoë" in caught.value.problem
    assert caught.value.remedy.count("Person") == LISTED
    assert "and 3 more" in caught.value.remedy


def test_a_name_that_two_bear_asks_for_an_id() -> None:
    group = [record("Ana", sender_id="user1"), record("Ana", sender_id="user2"), record("Ana", sender_id="user2")]
    with pytest.raises(HistoryError, match=r"user2 \(2 messages\), user1 \(1 message\)"):
        choose_sides(senders(*group), PATH, "ana")
    assert speakers(senders(*group), "user1", *group) == ["", "Ana", "Ana"]


def test_names_that_would_spoil_a_terminal_are_written_as_escapes() -> None:
    group = [record("A\x1b[31mna"), record("B\nob")]
    with pytest.raises(HistoryError) as caught:
        choose_sides(senders(*group), PATH, None)
    assert str(caught.value).isprintable()


def test_more_senders_than_can_be_told_apart_cost_no_more_memory() -> None:
    counted = senders(*(record(f"s{number}") for number in range(MOST + 50)))
    assert len(counted.all) == MOST


async def test_memory_11_a_search_shows_who_said_it(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    talk = {
        "name": "Ana",
        "type": "personal_chat",
        "id": 2,
        "messages": [
            _message(1, "user1", "Dana", "My blood type is zero negative."),
            _message(2, "user2", "Ana", "My blood type is AB positive."),
        ],
    }
    path.write_text(json.dumps(talk), encoding="utf-8")
    async with memory_app() as app:
        source = open_history(path)
        sides = choose_sides((await survey(source, False)).senders, path, None)
        await app.importer.run(source, Aim("admin", sides), False)
        recall = await app.memory.search("admin", "What is the blood type?", NOON, 5)
        said = {result.episode.text: (result.episode.role, result.episode.speaker) for result in recall.results}
        assert said == {
            "My blood type is zero negative.": (Role.USER, ""),
            "My blood type is AB positive.": (Role.USER, "Ana"),
        }
        assert await app.backends.permanent.facts("admin") == []


def _message(number: int, sender: str, name: str, text: str) -> dict[str, Any]:
    head = {"id": number, "type": "message", "date": "2020-01-01T09:00:00", "date_unixtime": "1577869200"}
    return {**head, "from": name, "from_id": sender, "text": text}
