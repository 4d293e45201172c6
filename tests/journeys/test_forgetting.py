"""Forgetting as a person meets it: the words are in no file afterwards, also after kill -9 in the middle."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import string
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from goat.cli.main import run

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


def told(home: Path, word: str) -> None:
    """A home in which a word was told, asked for, quoted, kept as a fact and as an identity, and stands in the log."""
    chat = f"my word is {word} and nobody else knows it\nthe harbour is small\nwhat is my word?\n"
    assert goat(home, "chat", text=chat).returncode == 0
    assert goat(home, "memory", "set", "word", word).returncode == 0
    assert goat(home, "memory", "set", "word", "another").returncode == 0
    copy_before_an_upgrade(home)
    goat(home, "chat", text=f"did I tell you that {word} is my word?\n", failpoint="followers_written")


def test_memory_22_a_forgotten_word_stood_in_three_files_and_stands_in_none(tmp_path: Path) -> None:
    word = canary(1)
    told(tmp_path, word)
    before = files_with(tmp_path, word)
    assert {"journal.db", "journal.db-wal", "backups/journal-0001-20260101T000000Z.db"} <= before
    found = json.loads(goat(tmp_path, "search", word, "--json").stdout)["results"]
    assert len(found) >= 2

    done = goat(tmp_path, "memory", "forget", word, "--yes")
    assert done.returncode == 0, done.stderr
    assert files_with(tmp_path, word) == set()
    assert word.encode() not in goat(tmp_path, "search", word, "--json").stdout.replace(
        b'"query": "%b"' % word.encode(), b""
    )
    assert word.encode() not in goat(tmp_path, "memory", "facts", "--json").stdout
    assert word.encode() not in goat(tmp_path, "ask", "what is my word?").stdout
    assert b"the harbour is small" in goat(tmp_path, "search", "harbour").stdout


@pytest.mark.parametrize("point", POINTS)
def test_memory_22_a_kill_while_it_is_forgotten_brings_nothing_back(point: str, tmp_path: Path) -> None:
    word = canary(POINTS.index(point) + 10)
    told(tmp_path, word)
    killed = goat(tmp_path, "memory", "forget", word, "--yes", failpoint=point)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    again = goat(tmp_path, "memory", "recent", "--json")
    assert again.returncode == 0, again.stderr
    assert files_with(tmp_path, word) == set()
    texts = [message["text"] for message in json.loads(again.stdout)["messages"]]
    assert "the harbour is small" in texts
    assert not any(word in text for text in texts)


def test_a_kill_before_anything_was_forgotten_leaves_all_of_it(tmp_path: Path) -> None:
    word = canary(3)
    told(tmp_path, word)
    refused = goat(tmp_path, "memory", "forget", word, text="n\n")
    assert refused.returncode != 0
    assert b"Nothing was forgotten." in refused.stderr
    unasked = goat(tmp_path, "memory", "forget", word)
    assert unasked.returncode != 0
    assert b"--yes" in unasked.stderr
    assert word.encode() in goat(tmp_path, "search", word).stdout


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
