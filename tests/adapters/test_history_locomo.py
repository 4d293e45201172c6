from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.history import open_history
from goat.adapters.history_file import BadValue
from goat.adapters.history_locomo import session_moment
from goat.errors import HistoryError
from goat.records.history import BadRecord, HistoryKind, HistoryRecord

Json = dict[str, Any]


def turn(name: str, text: str, speaker: str = "Nora", **fields: Any) -> Json:
    return {"speaker": speaker, "dia_id": name, "text": text, **fields}


def sample(**conversation: Any) -> Json:
    talk = {
        "speaker_a": "Nora",
        "speaker_b": "Ivo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [turn("D1:1", "Hi"), turn("D1:2", "Hello", "Ivo")],
        **conversation,
    }
    return {"qa": [{"question": "Who?", "evidence": ["D1:1"]}], "conversation": talk, "sample_id": "conv-1"}


def written(folder: Path, document: Any) -> Path:
    path = folder / "samples.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def records(folder: Path, document: Any) -> list[HistoryRecord]:
    return list(open_history(written(folder, document)).read())


def test_a_turn_keeps_its_speaker_beside_its_text_and_its_id_in_the_key(tmp_path: Path) -> None:
    first, second = records(tmp_path, [sample()])
    assert (first.text, first.sender_name, first.sender_id) == ("Hi", "Nora", "Nora")
    assert (second.key, second.chat, second.chat_title) == ("locomo:conv-1/D1:2", "locomo:conv-1", "Nora and Ivo")
    assert first.own is None


def test_turns_of_a_session_are_a_minute_apart(tmp_path: Path) -> None:
    assert [record.at for record in records(tmp_path, [sample()])] == [
        datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
        datetime(2023, 5, 8, 13, 57, tzinfo=UTC),
    ]


def test_sessions_come_by_number_not_by_name(tmp_path: Path) -> None:
    document = sample(
        session_10=[turn("D10:1", "ten")],
        session_10_date_time="12:09 am on 13 September, 2023",
        session_2=[turn("D2:1", "two")],
        session_2_date_time="12:00 pm on 9 June, 2023",
    )
    found = records(tmp_path, [document])
    assert [record.key.rpartition("/")[2] for record in found] == ["D1:1", "D1:2", "D2:1", "D10:1"]
    assert [record.at.hour for record in found] == [13, 13, 12, 0]


def test_what_a_picture_shows_stands_behind_the_words(tmp_path: Path) -> None:
    turns = [turn("D1:1", "Look", blip_caption="a cat on a sofa"), turn("D1:2", "", blip_caption="a dog")]
    shown, alone = records(tmp_path, [sample(session_1=turns)])
    assert (shown.text, shown.media, shown.kind) == (
        *("Look [image: a cat on a sofa]", "[image: a cat on a sofa]", HistoryKind.MESSAGE),
    )
    assert (alone.text, alone.kind) == ("[image: a dog]", HistoryKind.MEDIA)


def test_one_sample_alone_and_many_are_read(tmp_path: Path) -> None:
    second = {**sample(), "sample_id": "conv-2"}
    assert len(records(tmp_path, sample())) == 2
    assert {record.chat for record in records(tmp_path, [sample(), second])} == {"locomo:conv-1", "locomo:conv-2"}


def test_questions_before_the_conversation_do_not_hide_the_format(tmp_path: Path) -> None:
    many = {"qa": [{"question": "Why? " * 20, "evidence": ["D1:1"]}] * 20_000, **sample()}
    assert open_history(written(tmp_path, [many])).format == "LoCoMo sample"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1:56 pm on 8 May, 2023", (2023, 5, 8, 13, 56)),
        ("12:09 am on 13 September, 2023", (2023, 9, 13, 0, 9)),
        ("12:30 PM on 29 february 2024", (2024, 2, 29, 12, 30)),
    ],
)
def test_a_session_time_is_read(text: str, moment: tuple[int, ...]) -> None:
    assert session_moment(text) == datetime(*moment, tzinfo=UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize("text", [None, "", "8 May, 2023", "1:56 pm on 31 February, 2023", "1:56 pm on 8 Mai, 2023"])
def test_a_session_time_that_is_none_is_refused(text: Any) -> None:
    with pytest.raises(BadValue, match="is not like"):
        session_moment(text)


@pytest.mark.parametrize(
    ("broken", "reason", "numbers"),
    [
        (sample(session_1_date_time="soon"), "session 1 of conv-1: its time 'soon'", [3]),
        (sample(session_1="gone"), "session 1 of conv-1: it is not a list", [3]),
        (sample(session_1=[turn("", "x")]), "it has no dia_id or no speaker", [3]),
        (sample(session_1=["x"]), "it is not a JSON object", [3]),
        ({"sample_id": "c"}, "sample 2: its conversation is not a JSON object", [3]),
        (7, "sample 2: it is not a JSON object", [3]),
    ],
)
def test_a_bad_turn_session_or_sample_is_named_and_the_rest_is_read(
    tmp_path: Path, broken: Any, reason: str, numbers: list[int]
) -> None:
    path = written(tmp_path, [sample(), broken, {**sample(), "sample_id": "conv-3"}])
    source = open_history(path)
    with pytest.raises(HistoryError) as caught:
        list(source.read())
    assert caught.value.record == 3
    assert reason in caught.value.problem

    bad: list[BadRecord] = []
    assert len(list(source.read(bad.append))) == 4
    assert [report.number for report in bad] == numbers
