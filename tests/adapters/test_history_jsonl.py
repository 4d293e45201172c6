from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.adapters.history import open_history
from goat.adapters.history_file import HistoryFile, HistoryLimits
from goat.adapters.history_jsonl import JsonLinesHistory, episode_line, header_line
from goat.errors import HistoryError
from goat.records.episodes import Episode, Role
from goat.records.history import ArchivedEpisode, BadRecord, HistoryRecord

NOON = datetime(2024, 5, 8, 12, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=2)))
LINE = '{"text": "Hello", "at": "2024-05-08T12:00:00Z"}'


def written(folder: Path, *lines: str) -> Path:
    path = folder / "history.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def only(folder: Path, **fields: Any) -> HistoryRecord:
    line = json.dumps({"text": "Hello", "at": "2024-05-08T12:00:00+00:00", **fields})
    [record] = open_history(written(folder, header_line().strip(), line)).read()
    return record


def test_a_line_written_by_hand_needs_words_and_a_time_only(tmp_path: Path) -> None:
    [record] = open_history(written(tmp_path, LINE)).read()
    assert (record.text, record.at, record.chat, record.own, record.archived) == ("Hello", NOON, "history", None, None)
    assert (record.source, record.number) == ("goat", 1)


def test_a_line_says_as_much_as_it_likes(tmp_path: Path) -> None:
    record = only(tmp_path, chat="trip", chat_title="Trip", speaker="Ana", sender_id="7", reply_to="k", edited=True)
    assert (record.chat, record.chat_title, record.sender_name, record.sender_id) == ("trip", "Trip", "Ana", "7")
    assert (record.reply_to, record.edited) == ("k", True)


def test_times_may_be_iso_or_seconds_and_without_an_offset_lie_in_the_given_zone(tmp_path: Path) -> None:
    lines = [
        json.dumps({"text": "x", "at": at})
        for at in ("2024-05-08T15:00:00+03:00", 1715169600, 1715169600.0, "2024-05-08T15:00:00")
    ]
    found = open_history(written(tmp_path, *lines), ZoneInfo("Europe/Bucharest")).read()
    assert [record.at for record in found] == [NOON] * 4


def test_the_same_line_has_the_same_key_wherever_it_stands(tmp_path: Path) -> None:
    other = '{"text": "Bye", "at": "2024-05-08T12:00:00Z"}'
    moved = '{"at": "2024-05-08T14:00:00+02:00", "text": "Hello"}'
    keys = [record.key for record in open_history(written(tmp_path, LINE, other, moved)).read()]
    assert keys[0] == keys[2] != keys[1]


def test_blank_lines_and_a_header_in_the_middle_are_no_records(tmp_path: Path) -> None:
    path = written(tmp_path, header_line().strip(), LINE, "", "   ", header_line().strip(), LINE, "")
    assert [record.number for record in open_history(path).read()] == [2, 6]


def test_lines_of_other_announced_types_are_no_history(tmp_path: Path) -> None:
    path = written(tmp_path, header_line(("episode", "fact")).strip(), '{"type": "fact", "key": "city"}', LINE)
    assert [record.number for record in open_history(path).read()] == [3]


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)


@given(
    st.builds(
        Episode,
        id=st.integers(1, 10**9),
        uid=st.uuids().map(str),
        owner=texts,
        chat=texts.filter(bool),
        role=st.sampled_from(Role),
        text=texts,
        at=st.integers(0, 4 * 10**15).map(lambda count: EPOCH + timedelta(microseconds=count)),
        exchange_id=texts,
        speaker=texts,
        topic_id=texts,
        tags=st.lists(texts, max_size=3).map(tuple),
        source=texts.filter(bool),
        key=st.none() | texts.filter(bool),
        meta=st.dictionaries(texts, texts, max_size=2),
    )
)
def test_an_exported_episode_comes_back_with_everything_but_its_owner(
    tmp_path_factory: pytest.TempPathFactory, episode: Episode
) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "history.jsonl"
    path.write_text(header_line(made_by="goat") + episode_line(episode), encoding="utf-8", newline="")
    [record] = open_history(path).read()
    assert (record.text, record.at, record.chat, record.sender_name) == (
        *(episode.text, episode.at, episode.chat, episode.speaker),
    )
    assert record.key == f"goat:{episode.uid}"
    assert record.own is (episode.role is Role.USER)
    assert record.archived == ArchivedEpisode(
        uid=episode.uid,
        role=episode.role,
        exchange_id=episode.exchange_id,
        topic_id=episode.topic_id,
        tags=episode.tags,
        source=episode.source,
        key=episode.key,
        meta=episode.meta,
    )


BAD = [
    ('{"text": "x", "at": "yesterday"}', "its date 'yesterday' is no date and time"),
    ('{"text": "x", "at": 1e300}', "is no time in seconds"),
    ('{"text": "x", "at": NaN}', "is no time in seconds"),
    ('{"text": "x"}', "its date None is no time in seconds"),
    ('{"text": null, "at": 1}', "its text is None"),
    ('{"text": "x", "at": 1, "role": "robot"}', "its role 'robot' is none of user, assistant"),
    ('{"text": "x", "at": 1, "type": "fact"}', "its type 'fact' is none of episode"),
    ('{"text": "x", "at": 1, "role": "user", "uid": "u", "tags": "t"}', "its tags are no list"),
    ("[1]", "it is not a JSON object"),
    ('{"text": "cut', "it is not JSON"),
    ("[" * 100_000, "it is not JSON"),
]


@pytest.mark.parametrize(("line", "reason"), BAD)
def test_a_bad_line_is_named_with_its_number_and_the_rest_is_read(tmp_path: Path, line: str, reason: str) -> None:
    path = written(tmp_path, LINE, line, LINE)
    source = open_history(path)
    with pytest.raises(HistoryError, match="--skip-bad") as caught:
        list(source.read())
    assert (caught.value.path, caught.value.record) == (path, 2)
    assert caught.value.problem.startswith("line 2: ")
    assert reason in caught.value.problem

    bad: list[BadRecord] = []
    assert [record.number for record in source.read(bad.append)] == [1, 3]
    assert [(report.path, report.number) for report in bad] == [(path, 2)]


def test_bytes_that_are_no_text_are_a_bad_line(tmp_path: Path) -> None:
    path = written(tmp_path, LINE, LINE)
    path.write_bytes(path.read_bytes() + b'\n{"text": "\xff", "at": 1}\n')
    bad: list[BadRecord] = []
    assert len(list(open_history(path).read(bad.append))) == 2
    assert [report.number for report in bad] == [3]


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ('{"format": "goat-history", "version": 2}', "a newer GOAT wrote it (version 2)"),
        ('{"format": "goat-history"}', "its header names the format 'goat-history', version None"),
        ('{"format": "other", "version": 1}', "its header names the format 'other', version 1"),
    ],
)
def test_a_foreign_or_newer_header_ends_it_at_once(tmp_path: Path, header: str, problem: str) -> None:
    with pytest.raises(HistoryError) as caught:
        list(open_history(written(tmp_path, header, LINE)).read([].append))
    assert problem in caught.value.problem


def test_a_line_beyond_the_limit_is_passed_over_without_being_held(tmp_path: Path) -> None:
    path = written(tmp_path, LINE, json.dumps({"text": "x" * 5_000_000, "at": 1}), LINE)
    source = open_history(path, limits=HistoryLimits(record_bytes=200_000))
    bad: list[BadRecord] = []
    found = list(source.read(bad.append))
    assert [record.number for record in found] == [1, 3]
    assert [report.reason for report in bad] == ["line 2: it is longer than 195 KB"]
    assert found[-1].position == source.size
    with pytest.raises(HistoryError, match="line 2: it is longer than 195 KB"):
        list(source.read())


def test_a_line_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, LINE, LINE)
    limits = HistoryLimits(record_bytes=len(LINE) + 1)
    source = JsonLinesHistory(HistoryFile(path, path.stat().st_size, limits))
    assert len(list(source.read())) == 2


@pytest.mark.long
def test_a_line_of_two_gigabytes_costs_no_memory(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = written(tmp_path, LINE, '{"text": "')
    with path.open("r+b") as out:
        out.seek(2**31)  # a hole: the file takes no space
        out.write(b'"}\n' + LINE.encode())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bad: list[BadRecord] = []
    assert len(list(open_history(path).read(bad.append))) == 2
    assert [report.number for report in bad] == [2]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024
