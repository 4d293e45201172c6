"""`goat import` in a terminal: a bar with rate and time left, and the question which sender the owner is."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from goat.cli import exits
from goat.testing.telegram_export import write_telegram_export

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")

GROUP = {
    "name": "Family",
    "type": "private_group",
    "id": 15,
    "messages": [
        {"id": n, "type": "message", "date": "2020-01-01T09:00:00", "from": who, "from_id": f"user{who}", "text": text}
        for n, (who, text) in enumerate([("Ana", "the boat is blue"), ("Bob", "the car is red"), ("Ana", "yes")])
    ],
}


class Terminal:
    """A goat command in a pseudo-terminal of 80 columns."""

    def __init__(self, *arguments: str) -> None:
        import pty

        self._fd, theirs = pty.openpty()
        env = {**os.environ, "COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color"}
        command = [sys.executable, "-m", "goat", *arguments]
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
        os.close(theirs)
        self.shown = ""

    def until(self, seen: Callable[[str], bool]) -> None:
        """Read until the text without colours satisfies `seen`, or the command ends."""
        deadline = time.monotonic() + 60
        while not seen(self.shown) and time.monotonic() < deadline:
            if not select.select([self._fd], [], [], 0.5)[0]:
                continue
            try:
                read = os.read(self._fd, 65536)
            except OSError:
                return  # the command has ended
            if b"\x1b[6n" in read:
                self.type("\x1b[1;1R")  # where the cursor is
            self.shown += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", read.decode("utf-8", "replace"))

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._fd, keys.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        self.until(lambda _: False)
        os.close(self._fd)
        return self.process.wait(timeout=30)


def speakers(home: Path) -> list[str]:
    with closing(sqlite3.connect(home / "journal.db")) as journal:
        return [speaker for (speaker,) in journal.execute("SELECT speaker FROM episode ORDER BY id")]


def asked(folder: Path) -> Terminal:
    (folder / "group.json").write_text(json.dumps(GROUP), encoding="utf-8")
    terminal = Terminal("import", str(folder / "group.json"), "--home", str(folder / "home"))
    terminal.until(lambda shown: "none of them" in shown)
    assert "Which of them are you?" in terminal.shown
    assert "Ana (2 messages)" in terminal.shown
    return terminal


def test_a_long_import_shows_how_far_it_is_its_rate_and_the_time_left(tmp_path: Path) -> None:
    write_telegram_export(tmp_path / "result.json", 3_000, seed=1)
    terminal = Terminal("import", str(tmp_path / "result.json"), "--home", str(tmp_path / "home"))
    assert terminal.end() == exits.OK
    assert re.search(r"importing .* \d+% [\d,]+ messages [\d,]+/s \d:\d\d:\d\d", terminal.shown)
    assert "checking" in terminal.shown
    assert "passages get their vectors while GOAT runs" in " ".join(terminal.shown.split())
    lines = terminal.shown.replace("\r", "\n").split("\n")
    assert all(len(line) <= 80 for line in lines if "messages" in line and "/s" in line)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [("\r", ["", "Bob", ""]), ("\x1b[B\r", ["Ana", "", "Ana"]), ("\x1b[B\x1b[B\r", ["Ana", "Bob", "Ana"])],
)
def test_memory_11_the_person_says_which_sender_they_are(tmp_path: Path, keys: str, expected: list[str]) -> None:
    terminal = asked(tmp_path)
    terminal.type(keys)
    assert terminal.end() == exits.OK
    assert speakers(tmp_path / "home") == expected


def test_breaking_off_the_question_imports_nothing(tmp_path: Path) -> None:
    terminal = asked(tmp_path)
    terminal.type("\x03")
    assert terminal.end() == exits.INTERRUPTED
    assert speakers(tmp_path / "home") == []


def test_ctrl_c_in_an_import_ends_it_in_order(tmp_path: Path) -> None:
    write_telegram_export(tmp_path / "result.json", 6_000, seed=1)
    terminal = Terminal("import", str(tmp_path / "result.json"), "--home", str(tmp_path / "home"))
    terminal.until(lambda shown: "importing" in shown)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() in (exits.INTERRUPTED, exits.OK)  # it may have been done just before
    assert "Traceback" not in terminal.shown
