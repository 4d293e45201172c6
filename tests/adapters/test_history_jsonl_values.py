"""Our own export beyond the words: facts, identities, whose it is, and what no search is to find."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.adapters.history import open_history
from goat.adapters.history_jsonl import JsonLinesWriter, episode_line, header_line, value_line
from goat.errors import HistoryError
from goat.records.episodes import Episode, Role
from goat.records.history import ArchivedFact, ArchivedIdentity, BadRecord

NOON = datetime(2024, 5, 8, 12, tzinfo=UTC)
TYPES = ("episode", "fact", "identity")

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)
moments = st.integers(0, 10**15).map(lambda count: NOON + timedelta(microseconds=count))
values = st.builds(
    ArchivedFact,
    key=texts.filter(bool),
    value=texts,
    since=moments,
    until=st.none() | moments,
    source_uid=texts,
    owner=texts,
) | st.builds(ArchivedIdentity, text=texts, since=moments, until=st.none() | moments, owner=texts)


def episode(**fields: Any) -> Episode:
    plain = {"id": 1, "uid": "u1", "owner": "ana", "chat": "home", "role": Role.USER, "text": "Hello", "at": NOON}
    return Episode(**{**plain, "exchange_id": "x1", **fields})


def written(folder: Path, text: str) -> Path:
    path = folder / "export.jsonl"
    path.write_text(text, encoding="utf-8", newline="")
    return path


@given(st.lists(values, max_size=5))
def test_facts_and_identities_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, brought: list[ArchivedFact | ArchivedIdentity]
) -> None:
    out = io.StringIO()
    writer = JsonLinesWriter(out)
    writer.begin({"made_by": "goat"})
    writer.episode(episode(), indexed=True, owner="")
    for value in brought:
        writer.value(value)
    source = open_history(written(tmp_path_factory.mktemp("jsonl"), out.getvalue()))
    assert list(source.values(None)) == brought
    assert [record.text for record in source.read()] == ["Hello"]


@pytest.mark.parametrize(("indexed", "owner"), [(True, ""), (False, ""), (True, "ana"), (False, "語")])
def test_a_line_tells_whose_it_was_and_whether_a_search_may_find_it(tmp_path: Path, indexed: bool, owner: str) -> None:
    path = written(tmp_path, header_line(TYPES) + episode_line(episode(), indexed, owner))
    [record] = open_history(path).read()
    assert record.archived is not None
    assert (record.archived.indexed, record.archived.owner) == (indexed, owner)


def test_an_empty_chat_of_our_own_export_stays_empty(tmp_path: Path) -> None:
    [record] = open_history(written(tmp_path, header_line(TYPES) + episode_line(episode(chat="")))).read()
    assert record.chat == ""


@pytest.mark.parametrize(
    ("fields", "own", "role"),
    [
        ({}, None, Role.USER),
        ({"role": "user"}, True, Role.USER),
        ({"role": "user", "speaker": "Ana"}, None, Role.USER),
        ({"role": "assistant"}, False, Role.ASSISTANT),
        ({"role": "assistant", "speaker": "Bot"}, False, Role.ASSISTANT),
    ],
)
def test_a_line_by_hand_says_what_it_knows_about_the_speaker(
    tmp_path: Path, fields: dict[str, str], own: bool | None, role: Role
) -> None:
    line = json.dumps({"text": "Hello", "at": NOON.isoformat(), **fields})
    [record] = open_history(written(tmp_path, line)).read()
    assert (record.own, record.role) == (own, role)


def test_lines_of_values_that_the_header_does_not_announce_are_bad(tmp_path: Path) -> None:
    fact = value_line(ArchivedFact("city", "Iași", NOON))
    path = written(tmp_path, header_line() + episode_line(episode()) + fact)
    assert list(open_history(path).values(None)) == []
    with pytest.raises(HistoryError, match="its type 'fact' is none of episode"):
        list(open_history(path).read())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"type": "fact", "key": "city", "value": 7, "since": 1}', "its value is 7"),
        ('{"type": "fact", "value": "x", "since": 1}', "its key is None"),
        ('{"type": "fact", "key": "", "value": "x", "since": 1}', "its key is empty"),
        ('{"type": "fact", "key": "city", "value": "x"}', "its date None"),
        ('{"type": "identity", "text": "x", "since": 1, "until": "soon"}', "its date 'soon'"),
        ('{"type": "identity", "since": 1}', "its text is None"),
    ],
)
def test_a_bad_value_is_named_with_its_line_and_the_others_are_read(tmp_path: Path, line: str, reason: str) -> None:
    good = value_line(ArchivedIdentity("You are kind.", NOON))
    source = open_history(written(tmp_path, f"{header_line(TYPES)}{episode_line(episode())}{line}\n{good}"))
    with pytest.raises(HistoryError, match="line 3: ") as caught:
        list(source.values(None))
    assert reason in caught.value.problem
    bad: list[BadRecord] = []
    assert len(list(source.values(bad.append))) == 1
    assert [report.number for report in bad] == [3]


def test_a_line_that_is_no_line_is_told_once_by_the_reading_of_the_episodes(tmp_path: Path) -> None:
    source = open_history(written(tmp_path, f"{header_line(TYPES)}{episode_line(episode())}{{broken\n"))
    bad: list[BadRecord] = []
    list(source.read(bad.append))
    list(source.values(bad.append))
    assert [report.number for report in bad] == [3]
