"""What commands say to a person beside their results."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from goat.app import open_app
from goat.cli import exits
from goat.cli.main import run
from goat.settings import Settings
from goat.testing.app import say

SAID = ("the blue boat lies in Sulina", "my sister plays the oboe", "the boat needs paint")


async def lived(home: Path) -> None:
    async with open_app(Settings(), home, lambda _notice: None) as app:
        for text in SAID:
            await say(app, text)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("told")
    asyncio.run(lived(made))
    return made


def goat(capsys: pytest.CaptureFixture[str], home: Path, *arguments: str, code: int = exits.OK) -> tuple[str, str]:
    capsys.readouterr()
    assert run([*arguments, "--home", str(home)]) == code
    told = capsys.readouterr()
    return told.out, told.err


def test_the_state_is_told_in_words(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = " ".join(goat(capsys, home, "status")[0].split())
    assert "of admin: messages 6, conversations 1, facts 0" in told
    assert "found by words everything" in told
    assert "found by meaning everything" in told
    assert "offline, answers by quoting memory" in told


def test_results_show_their_relevance_only_where_the_scores_are_explained(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "%" not in goat(capsys, home, "search", "where is the boat?")[0]
    assert "relevance" in goat(capsys, home, "search", "where is the boat?", "--explain")[0]


def test_memory_search_is_the_search(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert goat(capsys, home, "memory", "search", "boat") == goat(capsys, home, "search", "boat")


@pytest.mark.parametrize("command", [("when", "yesterday"), ("status",), ("search", "boat"), ("memory", "facts")])
def test_every_command_tells_once_what_is_wrong_with_the_environment(
    command: tuple[str, ...], home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOAT_AITS__BUDGET_BAS", "1")
    told = goat(capsys, home, *command)[1]
    assert told.count("GOAT_AITS__BUDGET_BAS in the environment is not a name that GOAT reads") == 1


def test_a_phrase_that_may_lie_ahead_is_shown_with_both_readings(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--at", "2026-03-04T12:00", "--zone", "UTC")
    both = goat(capsys, home, "when", "on friday", *at)[0]
    assert "2026-02-27" in both
    assert "With --future 'friday' is Fri 2026-03-06" in both.replace("'on friday'", "'friday'")
    assert "--future" not in goat(capsys, home, "when", "yesterday", *at)[0]


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs" / "turns.jsonl").mkdir(parents=True)
    told = goat(capsys, tmp_path, "stats", code=exits.FAILED)[1]
    assert "turns.jsonl cannot be used" in told
    assert "Traceback" not in told


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
@pytest.mark.parametrize("command", ["export", "backup"])
def test_a_device_or_a_pipe_is_never_replaced_by_a_file(
    command: str, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    _, told = goat(capsys, home, command, str(pipe), "--force", code=exits.FAILED)
    assert "not a file" in told
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_help_groups_the_commands_by_what_one_wants(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == exits.OK
    shown = capsys.readouterr().out
    places = [shown.index(f"│ {name} ") for name in ("chat", "memory", "reindex", "calibrate")]
    assert places == sorted(places)
