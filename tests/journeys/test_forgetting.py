"""Forgetting as a person meets it: the words are in no file afterwards, also after kill -9 in the middle."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sqlite3
import string
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from goat.app import open_app
from goat.cli.main import run
from goat.settings import Settings
from goat.testing.app import say

POINTS = ("forgotten_in_journal", "forgotten_in_working_store", "forgotten_in_indexes", "forgotten_scrubbed")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")


def canary(seed: int) -> str:
    return "".join(random.Random(seed).choices(string.ascii_lowercase, k=20))


def goat(home: Path, *arguments: str, text: str = "", failpoint: str = "") -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, **({"GOAT_FAILPOINT": failpoint} if failpoint else {})}
    command = [sys.executable, "-m", "goat", *arguments, "--home", str(home)]
    return subprocess.run(command, input=text.encode(), capture_output=True, env=env, timeout=90, check=False)


def files_with(home: Path, word: str) -> set[str]:
    """The files of the home that hold the word, in UTF-8 or UTF-16 of either order."""
    forms = [word.encode(coding) for coding in ("utf-8", "utf-16-le", "utf-16-be")]
    held = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    return {str(path.relative_to(home)) for path, data in held.items() if any(form in data for form in forms)}


def copy_before_an_upgrade(home: Path) -> None:
    """What an upgrade leaves in the home: the older file, whole."""
    (home / "backups").mkdir()
    with (
        closing(sqlite3.connect(home / "journal.db")) as source,
        closing(sqlite3.connect(home / "backups" / "journal-0001-20260101T000000Z.db")) as target,
    ):
        source.backup(target)


async def lived(home: Path, word: str) -> None:
    async with open_app(Settings(), home, lambda _notice: None) as app:
        for text in (f"my word is {word} and nobody else knows it", "the harbour is small", "what is my word?"):
            await say(app, text)
        await app.facts.promote("admin", "word", word)
        await app.facts.promote("admin", "word", "another")


def told(home: Path, word: str) -> None:
    """A home in which a word was told, asked for, quoted, kept as a fact, and stands in the log."""
    asyncio.run(lived(home, word))
    copy_before_an_upgrade(home)
    goat(home, "chat", text=f"did I tell you that {word} is my word?\n", failpoint="followers_written")


@pytest.fixture
def shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command prints on standard output, run in this process."""

    def out(*arguments: str) -> str:
        capsys.readouterr()
        assert run([*arguments, "--home", str(tmp_path)]) == 0
        return capsys.readouterr().out

    return out


def test_memory_22_a_forgotten_word_stood_in_three_files_and_stands_in_none(
    tmp_path: Path, shown: Callable[..., str]
) -> None:
    word = canary(1)
    told(tmp_path, word)
    before = files_with(tmp_path, word)
    assert {"journal.db", "journal.db-wal", "backups/journal-0001-20260101T000000Z.db"} <= before
    assert len(json.loads(shown("search", word, "--json"))["results"]) >= 2

    assert "No file of the data folder" in shown("memory", "forget", word, "--yes")
    assert files_with(tmp_path, word) == set()
    assert word not in shown("search", word, "--json").replace(f'"query": "{word}"', "")
    assert word not in shown("memory", "facts", "--json")
    assert word not in shown("ask", "what is my word?")
    assert "the harbour is small" in shown("search", "harbour")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("point", POINTS)
def test_memory_22_a_kill_while_it_is_forgotten_brings_nothing_back(
    point: str, tmp_path: Path, shown: Callable[..., str]
) -> None:
    word = canary(POINTS.index(point) + 10)
    told(tmp_path, word)
    killed = goat(tmp_path, "memory", "forget", word, "--yes", failpoint=point)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    texts = [message["text"] for message in json.loads(shown("memory", "recent", "--json"))["messages"]]
    assert files_with(tmp_path, word) == set()
    assert "the harbour is small" in texts
    assert not any(word in text for text in texts)


def test_a_kill_before_anything_was_forgotten_leaves_all_of_it(tmp_path: Path, shown: Callable[..., str]) -> None:
    word = canary(3)
    asyncio.run(lived(tmp_path, word))
    refused = goat(tmp_path, "memory", "forget", word, text="n\n")
    assert refused.returncode != 0
    assert b"Nothing was forgotten." in refused.stderr
    unasked = goat(tmp_path, "memory", "forget", word)
    assert unasked.returncode != 0
    assert b"--yes" in unasked.stderr
    assert word in shown("search", word)


def test_what_a_restore_put_aside_is_named_when_something_is_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    word, home, copy = canary(4), tmp_path / "home", tmp_path / "backup"
    for command in (["ask", f"my word is {word}"], ["backup", str(copy)], ["restore", str(copy), "--force"]):
        assert run([*command, "--home", str(home)]) == 0
    [aside] = (home / "backups").glob("before-restore-*")
    capsys.readouterr()
    assert run(["memory", "forget", word, "--yes", "--home", str(home)]) == 0
    assert str(aside) in capsys.readouterr().out
    assert {Path(name).parts[:2] for name in files_with(home, word)} == {("backups", aside.name)}
