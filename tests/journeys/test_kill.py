"""kill -9 at the seams of a turn: every committed word is there once and findable, and the work goes on."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from goat.cli.main import run

POINTS = (
    "journal_committed",
    "words_step",
    "words_followed",
    "classified",
    "model_call",
    "before_reply",
    "reply_committed",
    "followers_written",
    "vectors_kept",
    "prefetch_found",
)
SEEDS = range(20)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")


def messages(seed: int) -> list[str]:
    source = random.Random(seed)
    return [" ".join(source.choices("abcdefghij", k=6)) + f" word{seed}x{number}" for number in range(4)]


def goat(home: Path, *arguments: str, text: str = "", failpoint: str = "") -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, **({"GOAT_FAILPOINT": failpoint} if failpoint else {})}
    command = [sys.executable, "-m", "goat", *arguments, "--home", str(home)]
    return subprocess.run(command, input=text.encode(), capture_output=True, env=env, timeout=90, check=False)


def searched(home: Path, text: str) -> list[dict[str, Any]]:
    """What `goat search` finds, run in this process."""
    with redirect_stdout(io.StringIO()) as out:
        assert run(["search", text, "--json", "--home", str(home)]) == 0
    found: list[dict[str, Any]] = json.loads(out.getvalue())["results"]
    return found


def spoken(home: Path) -> list[str]:
    """What the person said, from the file itself."""
    with sqlite3.connect(home / "journal.db") as journal:
        return [text for (text,) in journal.execute("SELECT text FROM episode WHERE role = 'user' ORDER BY id")]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_kill_in_a_turn_loses_and_doubles_nothing(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    point, arrival = POINTS[seed % len(POINTS)], source.randint(1, 3)
    sent = messages(seed)
    killed = goat(tmp_path, "chat", text="\n".join(sent) + "\n", failpoint=f"{point}:{arrival}")
    assert killed.returncode in {-signal.SIGKILL, 0}, killed.stderr
    kept = spoken(tmp_path)
    assert kept == sent[: len(kept)], f"seed {seed}, {point}:{arrival}"
    assert kept, f"seed {seed}, {point}:{arrival}"

    again = goat(tmp_path, "chat", text="after the kill word99\n")
    assert again.returncode == 0, again.stderr
    assert b"Traceback" not in again.stderr
    assert spoken(tmp_path) == [*kept, "after the kill word99"]
    for text in kept:
        found = searched(tmp_path, text)
        assert found[0]["text"] == text, f"seed {seed}, {point}:{arrival}"
        assert sum(result["text"] == text for result in found) == 1


def test_a_reply_that_was_committed_but_not_shown_is_shown_at_the_next_start(tmp_path: Path) -> None:
    killed = goat(tmp_path, "chat", text="hello there\n", failpoint="reply_committed")
    assert killed.returncode == -signal.SIGKILL
    assert killed.stdout == b""
    again = goat(tmp_path, "chat")
    assert b"Kept, word for word." in again.stdout
    assert goat(tmp_path, "chat").stdout == b""


@pytest.mark.parametrize("point", ["words_step", "words_rebuilt", "vectors_kept"])
def test_a_kill_in_reindex_is_caught_up_by_the_next_command(point: str, tmp_path: Path) -> None:
    sent = messages(99)
    assert goat(tmp_path, "chat", text="\n".join(sent) + "\n").returncode == 0
    goat(tmp_path, "reindex", failpoint=point)
    for text in sent:
        found = searched(tmp_path, text)
        assert [result["text"] for result in found].count(text) == 1
        assert found[0]["text"] == text
