from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.adapters.history import open_history
from goat.adapters.history_file import HistoryLimits
from goat.adapters.history_telegram import TelegramHistory, mend_escapes
from goat.errors import HistoryError
from goat.records.history import BadRecord, HistoryKind, HistoryRecord
from goat.testing.telegram_export import write_telegram_export

Json = dict[str, Any]


def message(number: int = 1, **fields: Any) -> Json:
    base: Json = {"id": number, "type": "message", "date": "2024-05-08T15:56:00", "date_unixtime": "1715176560"}
    return {**base, "from": "Ana Pop", "from_id": "user7", "text": "Hello", **fields}


def chat(*messages: Any, **head: Any) -> Json:
    return {"name": "Ana Pop", "type": "personal_chat", "id": 7, **head, "messages": list(messages)}


def written(folder: Path, document: Any) -> Path:
    path = folder / "result.json"
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path


def records(folder: Path, document: Any) -> list[HistoryRecord]:
    return list(open_history(written(folder, document)).read())


def only(folder: Path, **fields: Any) -> HistoryRecord:
    [record] = records(folder, chat(message(**fields)))
    return record


def test_a_message_keeps_sender_time_chat_and_key(tmp_path: Path) -> None:
    record = only(tmp_path)
    assert (record.key, record.chat, record.chat_title) == ("telegram:user7/1", "telegram:user7", "Ana Pop")
    assert (record.sender_id, record.sender_name, record.text) == ("user7", "Ana Pop", "Hello")
    assert record.at == datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    assert (record.kind, record.number, record.source) == (HistoryKind.MESSAGE, 1, "telegram")


def test_words_of_every_script_come_out_as_they_went_in(tmp_path: Path) -> None:
    text = "שלום עולם — مرحبا 👨‍👩‍👧‍👦 e\u0301\u2028 end"
    assert only(tmp_path, text=text).text == text


def test_what_no_database_takes_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(chat(message(text="nul\x00and \ud83d alone"))))
    [record] = open_history(path).read()
    assert record.text in ("nul\ufffdand ? alone", "nul\ufffdand \ufffd alone")  # the parser may answer for one of them


def test_media_without_words_leave_their_line_as_the_text(tmp_path: Path) -> None:
    voice = {"file": "v.ogg", "media_type": "voice_message", "duration_seconds": 12}
    record = only(tmp_path, text="", **voice)
    assert (record.text, record.media, record.kind) == (*["[voice message 0:12]"] * 2, HistoryKind.MEDIA)


@pytest.mark.parametrize("text", ["", "  \n", [], None])
def test_a_message_that_holds_nothing_we_know_still_leaves_a_line(tmp_path: Path, text: Any) -> None:
    record = only(tmp_path, text=text, something_of_next_year={})
    assert (record.text, record.kind) == ("[message without text]", HistoryKind.MEDIA)


def test_a_caption_is_the_text_and_the_photo_is_noted(tmp_path: Path) -> None:
    record = only(tmp_path, text="The new kitchen", photo="p.jpg")
    assert (record.text, record.media, record.kind) == ("The new kitchen", "[photo]", HistoryKind.MESSAGE)


def test_a_service_message_is_told_as_a_line_by_its_actor(tmp_path: Path) -> None:
    event = {"id": 4, "type": "service", "date_unixtime": "1715176560", "actor": "Ana Pop", "actor_id": "user7"}
    [record] = records(tmp_path, chat({**event, "action": "phone_call", "duration_seconds": 62, "text": ""}))
    assert (record.text, record.kind, record.sender_name) == ("[phone call 1:02]", HistoryKind.SERVICE, "Ana Pop")


def test_an_unsupported_message_says_nothing_and_is_passed_over(tmp_path: Path) -> None:
    found = records(tmp_path, chat({"id": 1, "type": "unsupported"}, message(2)))
    assert [(record.key, record.number) for record in found] == [("telegram:user7/2", 2)]


def test_a_deleted_account_keeps_its_id(tmp_path: Path) -> None:
    fields = message()
    fields["from"] = None
    [record] = records(tmp_path, chat(fields, name=None))
    assert (record.sender_id, record.sender_name, record.chat_title) == ("user7", "Deleted Account", "Deleted Account")


def test_a_channel_post_without_a_sender_is_the_channels_own(tmp_path: Path) -> None:
    fields = message()
    del fields["from"], fields["from_id"]
    [record] = records(tmp_path, chat(fields, type="public_channel", name="News", id=9))
    assert (record.sender_id, record.sender_name, record.chat) == ("channel9", "News", "telegram:channel9")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(7, "user7"), ("7", "user7"), ((1 << 32) + 5, "chat5"), ((2 << 32) + 5, "channel5"), ("user7", "user7")],
)
def test_sender_ids_of_old_exports_read_like_those_of_new_ones(tmp_path: Path, value: Any, expected: str) -> None:
    assert only(tmp_path, from_id=value).sender_id == expected


def test_an_old_date_is_read_in_the_zone_of_the_export(tmp_path: Path) -> None:
    fields = message(date="2018-07-01T12:00:00")
    del fields["date_unixtime"]
    path = written(tmp_path, chat(fields))
    [there] = open_history(path, ZoneInfo("Europe/Bucharest")).read()
    [utc] = open_history(path).read()
    assert there.at == datetime(2018, 7, 1, 9, tzinfo=UTC)
    assert utc.at == datetime(2018, 7, 1, 12, tzinfo=UTC)


def test_seconds_since_1970_win_over_the_local_date(tmp_path: Path) -> None:
    [record] = open_history(written(tmp_path, chat(message())), ZoneInfo("Asia/Tokyo")).read()
    assert record.at == datetime(2024, 5, 8, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    ("fields", "edited"),
    [({}, False), ({"edited": "2024-05-08T16:00:00"}, True), ({"edited": "1970-01-01T02:00:00"}, False)],
)
def test_an_edit_shows_and_the_old_never_does_not(tmp_path: Path, fields: Json, edited: bool) -> None:
    assert only(tmp_path, **fields).edited is edited


def test_a_forward_names_whose_words_it_holds(tmp_path: Path) -> None:
    assert only(tmp_path, forwarded_from="Radio").forwarded_from == "Radio"
    assert only(tmp_path, forwarded_from=None).forwarded_from == "Deleted Account"
    assert only(tmp_path).forwarded_from == ""


def test_a_reply_names_the_key_of_its_target_here_and_in_another_chat(tmp_path: Path) -> None:
    assert only(tmp_path, reply_to_message_id=-999_999_990).reply_to == "telegram:user7/-999999990"
    there = only(tmp_path, reply_to_message_id=4, reply_to_peer_id="channel12")
    assert there.reply_to == "telegram:channel12/4"


def test_in_a_private_chat_the_other_one_is_known_by_the_chats_id(tmp_path: Path) -> None:
    found = records(tmp_path, chat(message(1), message(2, from_id="user99", **{"from": "Dana"})))
    assert [record.own for record in found] == [False, True]


def test_a_group_alone_does_not_tell_who_exported_it(tmp_path: Path) -> None:
    [record] = records(tmp_path, chat(message(), type="private_supergroup"))
    assert record.own is None


def archive(*chats: Json, left: tuple[Json, ...] = ()) -> Json:
    return {
        "about": "Here is the data you requested.",
        "personal_information": {"user_id": 99, "first_name": "Dana"},
        "contacts": {"about": "…", "list": [{"user_id": 7, "first_name": "Ana", "date": "2019-01-01T00:00:00"}]},
        "frequent_contacts": {"list": [{"id": 7, "type": "user", "name": "Ana"}]},
        "chats": {"about": "…", "list": list(chats)},
        "left_chats": {"about": "…", "list": list(left)},
    }


def test_an_archive_gives_every_chat_and_knows_its_owner(tmp_path: Path) -> None:
    group = chat(message(5), message(6, from_id="user99"), type="private_supergroup", id=12, name="Trip")
    saved = chat(message(7, from_id="user99"), type="saved_messages", id=99)
    del saved["name"]
    gone = chat(message(8), type="private_group", id=3, name="Old")
    found = records(tmp_path, archive(chat(message(1)), group, saved, left=(gone,)))
    assert [(record.chat, record.chat_title, record.own) for record in found] == [
        ("telegram:user7", "Ana Pop", False),
        ("telegram:channel12", "Trip", False),
        ("telegram:channel12", "Trip", True),
        ("telegram:user99", "Saved Messages", True),
        ("telegram:chat3", "Old", False),
    ]
    assert [record.number for record in found] == [1, 2, 3, 4, 5]


def test_a_message_has_one_key_in_the_single_chat_and_in_the_archive(tmp_path: Path) -> None:
    [single] = records(tmp_path, chat(message()))
    [whole] = records(tmp_path, archive(chat(message())))
    assert single.key == whole.key


def test_keys_in_alphabetical_order_put_the_head_behind_and_are_read(tmp_path: Path) -> None:
    document = archive(
        chat(message(1)), chat(message(2), type="private_supergroup", id=12, name="Trip"), {"type": "bot_chat", "id": 1}
    )
    path = tmp_path / "result.json"
    path.write_text(json.dumps(document, sort_keys=True))
    assert [(r.chat, r.chat_title) for r in open_history(path).read()] == [
        ("telegram:user7", "Ana Pop"),
        ("telegram:channel12", "Trip"),
    ]


def test_forum_messages_find_their_topic_through_the_replies(tmp_path: Path) -> None:
    opened = {**message(10, text=""), "type": "service", "action": "topic_created", "title": "Garden"}
    found = records(
        tmp_path,
        chat(
            message(1),
            opened,
            message(11, reply_to_message_id=10),
            message(12, reply_to_message_id=11),
            message(13, reply_to_message_id=1),
            message(14, reply_to_message_id=12),
            type="private_supergroup",
        ),
    )
    assert [record.topic for record in found] == ["", "Garden", "Garden", "Garden", "", "Garden"]
    assert [record.reply_to and record.reply_to.rpartition("/")[2] for record in found] == [
        *(None, None, None, "11", "1", "12")
    ]


def test_a_control_character_in_the_exporters_own_escape_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, chat(message(text=r"one@B two \\x41 \x0B")))
    path.write_bytes(path.read_bytes().replace(b"@B", rb"\x0B").replace(rb"\\x0B", rb"\x0B"))
    [record] = open_history(path).read()
    assert record.text == "one\x0b two \\\\x41 \x0b"


@given(st.lists(st.sampled_from([b"\\", b"\\x", b"0", b"B", b"\\n", b'"', b"xyz", b"\\x1F", b"\\\\"])), st.data())
def test_mending_does_not_depend_on_where_the_chunks_are_cut(pieces: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    chunks = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert b"".join(mend_escapes(iter(chunks))) == b"".join(mend_escapes(iter([whole])))


def test_a_byte_order_mark_is_no_part_of_the_document(tmp_path: Path) -> None:
    path = written(tmp_path, chat(message()))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert [record.text for record in open_history(path).read()] == ["Hello"]


BAD = [
    (message(2, date_unixtime="yesterday"), "its date 'yesterday' is no time in seconds"),
    (message(2, date_unixtime="99999999999999"), "is no time in seconds"),
    ({**message(2), "date_unixtime": None, "date": "08.05.2024"}, "its date '08.05.2024' is no date and time"),
    ({**message(2), "date_unixtime": None, "date": None}, "its date None is no date and time"),
    (message(2, id=None), "its id is None"),
    (message(2, id=True), "its id is True"),
    (None, "is not a JSON object"),
    ("text", "is not a JSON object"),
    ([message(9)], "is not a JSON object"),
]


@pytest.mark.parametrize(("item", "reason"), BAD)
def test_a_bad_record_is_named_with_file_number_and_reason(tmp_path: Path, item: Any, reason: str) -> None:
    path = written(tmp_path, chat(message(1), item, message(3)))
    source = open_history(path)
    with pytest.raises(HistoryError, match="--skip-bad") as caught:
        list(source.read())
    assert (caught.value.path, caught.value.record) == (path, 2)
    assert reason in caught.value.problem

    bad: list[BadRecord] = []
    assert [record.key for record in source.read(bad.append)] == ["telegram:user7/1", "telegram:user7/3"]
    assert [(report.path, report.number) for report in bad] == [(path, 2)]
    assert reason in bad[0].reason


@pytest.mark.parametrize("cut", [b'"telegram-cut"', b"\xff\xfe", b"]", b""])
def test_a_broken_export_gives_what_stands_before_the_break(tmp_path: Path, cut: bytes) -> None:
    path = written(tmp_path, chat(message(1), message(2), message(3)))
    data = path.read_bytes()
    at = data.index(b'"id": 3')
    path.write_bytes(data[:at] + cut)
    source = open_history(path)
    with pytest.raises(HistoryError, match="Export it again") as caught:
        list(source.read())
    assert caught.value.record == 3

    bad: list[BadRecord] = []
    assert [record.number for record in source.read(bad.append)] == [1, 2]
    assert [report.number for report in bad] == [3]
    assert "the JSON breaks near byte" in bad[0].reason


def test_a_chat_without_an_id_cannot_be_told_apart(tmp_path: Path) -> None:
    document = chat(message())
    del document["id"]
    with pytest.raises(HistoryError, match="the chat 'Ana Pop' has no id"):
        records(tmp_path, document)


@pytest.mark.parametrize("grow", ["one string", "many fields"])
def test_a_record_beyond_the_limit_breaks_the_reading(tmp_path: Path, grow: str) -> None:
    size = 3_000_000
    fields: Json = {"text": "x" * size} if grow == "one string" else {f"f{n}": n for n in range(size // 20)}
    path = written(tmp_path, chat(message(1), message(2, **fields), message(3)))
    source = open_history(path, limits=HistoryLimits(record_bytes=1_000_000))
    bad: list[BadRecord] = []
    assert [record.number for record in source.read(bad.append)] == [1]
    assert [report.number for report in bad] == [2]
    assert "is longer than 977 KB" in bad[0].reason


def test_much_that_is_no_message_is_no_record_beyond_the_limit(tmp_path: Path) -> None:
    document = {**archive(), "other_data": [{"n": n} for n in range(200_000)], "chats": {"list": [chat(message())]}}
    source = open_history(written(tmp_path, document), limits=HistoryLimits(record_bytes=500_000))
    assert source.size > 2_000_000
    assert len(list(source.read())) == 1


def test_positions_never_fall_and_end_at_the_size(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_telegram_export(path, 2000, seed=3)
    source = open_history(path)
    positions = [record.position for record in source.read()]
    assert positions == sorted(positions)
    assert positions[0] < source.size / 2
    assert positions[-1] == source.size


def test_a_reading_that_is_given_up_closes_the_file_and_a_new_one_starts_over(tmp_path: Path) -> None:
    source = open_history(written(tmp_path, chat(message(1), message(2))))
    first = source.read()
    assert next(first).number == 1
    first.close()  # type: ignore[attr-defined]
    assert [record.number for record in source.read()] == [1, 2]


def test_an_export_that_vanished_is_an_error_even_when_bad_records_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, chat(message()))
    source = open_history(path)
    path.unlink()
    with pytest.raises(HistoryError, match="there is no such file"):
        list(source.read([].append))


@pytest.mark.parametrize("shape", [{}, {"archive": True}, {"old_schema": True}, {"archive": True, "old_schema": True}])
def test_a_generated_export_is_read_whole(tmp_path: Path, shape: dict[str, bool]) -> None:
    path = tmp_path / "result.json"
    facts = write_telegram_export(path, 3000, seed=11, **shape)
    found = {record.key: record for record in open_history(path).read()}
    assert len(found) == facts.records
    assert len({record.chat for record in found.values()}) == facts.chats
    assert facts.planted
    assert all(found[planted.key].text == planted.text for planted in facts.planted)
    assert sum(record.edited for record in found.values()) == facts.oddities["edited"]
    assert any("\x0b" in record.text for record in found.values())


@pytest.mark.long
def test_memory_does_not_grow_with_the_export(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_telegram_export(path, 190_000, seed=5, archive=True)
    source = open_history(path)
    assert isinstance(source, TelegramHistory)
    assert source.size > 50_000_000
    tracemalloc.start()
    try:
        count = sum(1 for _ in source.read())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count > 180_000
    assert peak < 12_000_000
