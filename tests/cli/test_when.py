"""`goat when`: the phrase table through the command line, and what it says to a person."""

from __future__ import annotations

import json
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from goat.cli import exits
from goat.cli.main import run
from goat.retrieval.when import LANGUAGES, find_windows

PHRASES = Path(__file__).parents[1] / "retrieval" / "when_phrases.toml"
TABLE: dict[str, Any] = tomllib.loads(PHRASES.read_text(encoding="utf-8"))
ZONE = ZoneInfo(TABLE["zone"])
AT = datetime.fromisoformat(TABLE["at"]).replace(tzinfo=ZONE)
SAMPLE = [(text, named) for code in LANGUAGES for text, named in TABLE[code]["found"][::12]]
NAMELESS = [text for code in LANGUAGES for text in TABLE[code]["none"][::12]]


def shown(text: str, home: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    arguments = ["when", text, "--at", TABLE["at"], "--zone", TABLE["zone"], "--home", str(home), *more]
    assert run(arguments) == exits.OK
    return capsys.readouterr().out


@pytest.mark.parametrize(("text", "named"), SAMPLE)
def test_the_json_holds_the_windows_of_the_phrase_table(
    text: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    windows = json.loads(shown(text, tmp_path, capsys, "--json"))["windows"]
    assert len(windows) == len(named.split(" + "))
    for window, expected in zip(windows, find_windows(text, AT, ZONE), strict=True):
        assert set(window) == {"after", "before", "text", "kind"}
        assert datetime.fromisoformat(window["after"]) == expected.after
        assert datetime.fromisoformat(window["before"]).utcoffset() == expected.before.utcoffset()
        assert window["text"] in text


@pytest.mark.parametrize("text", NAMELESS)
def test_the_json_of_a_text_without_a_time_is_an_empty_list(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert json.loads(shown(text, tmp_path, capsys, "--json")) == {"windows": []}


def test_a_person_reads_what_was_understood_and_what_is_only_a_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Tue 2026-07-14 14:00 – Tue 2026-07-14 16:00" in shown("yesterday at 3pm", tmp_path, capsys)
    assert "(a hint only)" in shown("it was on a Monday", tmp_path, capsys)
    assert shown("Ce mai faci?", tmp_path, capsys).strip() == "No time is named."


@pytest.mark.parametrize(("option", "value"), [("--zone", "Mars/Olympus"), ("--at", "half past")])
def test_a_zone_or_a_moment_that_is_none_is_refused_with_the_way_out(
    option: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["when", "yesterday", option, value, "--home", str(tmp_path)]) != exits.OK
    told = capsys.readouterr().err
    assert value in told
    assert "Write one such as" in told.replace("\n", " ")
