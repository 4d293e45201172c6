from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from goat.testing.telegram_export import write_telegram_export


def test_the_same_seed_writes_the_same_bytes_and_another_does_not(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path, seed in zip(paths, (4, 4, 5), strict=True):
        write_telegram_export(path, 800, seed=seed, archive=True)
    first, second, other = (path.read_bytes() for path in paths)
    assert first == second != other


def test_a_large_export_holds_every_oddity(tmp_path: Path) -> None:
    facts = write_telegram_export(tmp_path / "x", 5000, seed=2, archive=True)
    assert set(facts.oddities) == {
        *("plain", "entities", "media", "caption", "edited", "forwarded", "service", "long", "control character"),
        *("unsupported", "reply", "topic", "deleted account"),
    }
    assert facts.messages == 5000
    assert facts.records == 5000 - facts.oddities["unsupported"]
    assert len({planted.text for planted in facts.planted}) == len(facts.planted) == 10


def test_it_runs_from_a_shell(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    command = [sys.executable, "-m", "goat.testing.telegram_export", str(path), "--messages", "50", "--old-schema"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "50 messages in 1 chats" in done.stdout
    assert b"date_unixtime" not in path.read_bytes()
