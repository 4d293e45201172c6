"""The phrase table: what is understood of each text, and what is no time."""

from __future__ import annotations

import tomllib
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pytest

from goat.retrieval.when import LANGUAGES, find_windows

TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_name("when_phrases.toml").read_text(encoding="utf-8"))
ZONE = ZoneInfo(TABLE["zone"])
AT = datetime.fromisoformat(TABLE["at"]).replace(tzinfo=ZONE)

Expected = list[tuple[datetime, datetime, bool]]


def moment(written: str, *, end: bool = False) -> datetime:
    """A moment of the table; a day begins at its midnight and ends at the next one."""
    if written == "now":
        return AT
    if "T" in written:
        return datetime.fromisoformat(written).replace(tzinfo=ZONE)
    day = datetime.fromisoformat(written).date() + timedelta(end)
    return datetime.combine(day, time(), tzinfo=ZONE)


def expected(written: str) -> Expected:
    windows: Expected = []
    for window in written.split(" + "):
        first, dots, last = window.removeprefix("~").partition("..")
        if dots or "T" not in first:
            after, before = moment(first), moment(last or first, end=True)
        else:
            after, before = moment(first) - timedelta(hours=1), moment(first) + timedelta(hours=1)
        windows.append((after, before, not window.startswith("~")))
    return windows


def found(text: str, prefer: Literal["past", "future"] = "past") -> Expected:
    return [(window.after, window.before, window.explicit) for window in find_windows(text, AT, ZONE, prefer)]


def pairs(name: str) -> list[Any]:
    return [
        pytest.param(text, windows, id=f"{language}: {text}")
        for language in LANGUAGES
        for text, windows in TABLE[language][name]
    ]


@pytest.mark.parametrize(("text", "windows"), pairs("found"))
def test_a_named_time_is_understood(text: str, windows: str) -> None:
    assert found(text) == expected(windows)


@pytest.mark.parametrize(("text", "windows"), pairs("ahead"))
def test_a_time_that_is_to_come_is_understood_where_dates_point_ahead(text: str, windows: str) -> None:
    assert found(text, prefer="future") == expected(windows)


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=f"{language}: {text}") for language in LANGUAGES for text in TABLE[language]["none"]]
)
def test_everyday_words_are_no_time(text: str) -> None:
    assert found(text) == []


def test_the_table_is_large_and_half_of_it_is_negative() -> None:
    positive = sum(len(TABLE[language]["found"]) + len(TABLE[language]["ahead"]) for language in LANGUAGES)
    negative = sum(len(TABLE[language]["none"]) for language in LANGUAGES)
    assert positive + negative >= 1000
    assert negative >= positive
