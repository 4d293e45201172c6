"""Logs for the model: only what is new, bounded, without secrets, tracebacks with their record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from goat.plugins.introspect import MOST_CHARS, recent
from goat.tools.redact import Redactor

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
LOG = """2026-03-01 08:00:00 ERROR old trouble
Traceback (most recent call last):
  File "old.py", line 1, in f
ValueError: ancient
2026-03-02 11:50:00 INFO all well
2026-03-02 11:55:00 ERROR new trouble
Traceback (most recent call last):
  File "new.py", line 2, in g
KeyError: fresh
"""


def logs(tmp_path: Path, text: str = LOG, name: str = "goat.log") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path


def read(folder: Path, level: str = "ALL", limit: int = 100, minutes: int = 30) -> str:
    return recent(folder, NOON - timedelta(minutes=minutes), level, limit, Redactor(["hunter2hunter2"]))  # type: ignore[arg-type]


def test_f_b49_old_tracebacks_stay_with_their_old_record(tmp_path: Path) -> None:
    text = read(logs(tmp_path))
    assert "ancient" not in text
    assert "all well" in text
    assert "KeyError: fresh" in text


def test_f_b49_a_level_keeps_the_traceback_of_its_record(tmp_path: Path) -> None:
    text = read(logs(tmp_path), level="ERROR")
    assert text.startswith("2026-03-02 11:55:00 ERROR new trouble\nTraceback")
    assert text.endswith("KeyError: fresh")
    assert "all well" not in text


def test_a64_characters_are_bounded_not_only_records(tmp_path: Path) -> None:
    lines = "".join(f"2026-03-02 11:59:{n % 60:02} INFO {'x' * 5000}\n" for n in range(100))
    text = read(logs(tmp_path, lines))
    assert len(text) <= MOST_CHARS + 100
    assert text.startswith("[older records left out]")


def test_telegram_i8_secrets_are_blacked_out(tmp_path: Path) -> None:
    text = read(
        logs(tmp_path, "2026-03-02 11:59:00 INFO GET /bot123456789:AAabcdefghijklmnopqrstuvwxyz01/x hunter2hunter2\n")
    )
    assert "AAabc" not in text
    assert "hunter2" not in text


def test_records_as_json_lines_are_read_by_their_time(tmp_path: Path) -> None:
    line = '{{"kind": "turn", "at": "2026-03-02T{}:00+00:00"}}\n'
    text = read(logs(tmp_path, line.format("11:59") + line.format("09:00"), "turns.jsonl"))
    assert text == line.format("11:59").strip()


def test_nothing_is_said_so(tmp_path: Path) -> None:
    assert read(tmp_path) == "(no records)"
