"""kill -9 in the middle of an import: the next call goes on, and in the end the journal equals an unbroken import."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from goat.testing.telegram_export import ExportFacts, write_telegram_export

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")

TOLD = "owner.name, chat.name, role, speaker, text, at, exchange_id, topic_id, tags, source, key, meta"
"""What makes an episode, but for the numbers and names that each home gives out by itself."""


def goat(home: Path, *arguments: str, failpoint: str = "") -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, **({"GOAT_FAILPOINT": failpoint} if failpoint else {})}
    command = [sys.executable, "-m", "goat", *arguments, "--home", str(home)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=env, timeout=110, check=False)


def journal(home: Path) -> tuple[int, str]:
    """The number of messages and a digest over all of them in the order of their keys."""
    digest, count = hashlib.sha256(), 0
    with closing(sqlite3.connect(home / "journal.db")) as opened:
        rows = opened.execute(
            f"SELECT {TOLD} FROM episode JOIN chat ON chat.id = chat_id JOIN owner ON owner.id = episode.owner_id "
            "ORDER BY source, key"
        )
        for row in rows:
            digest.update(json.dumps(row).encode())
            count += 1
    return count, digest.hexdigest()


def passages(home: Path) -> list[tuple[str, int, int]]:
    """What the indexes hold a message by, in the order of arrival."""
    with closing(sqlite3.connect(home / "journal.db")) as opened:
        return opened.execute(
            'SELECT key, start, "end" FROM passage JOIN episode ON episode.id = episode_id ORDER BY ord'
        ).fetchall()


def assert_found(home: Path, facts: ExportFacts, some: int) -> None:
    """A question about one message finds it."""
    for planted in facts.planted[:: max(1, len(facts.planted) // some)]:
        found = json.loads(goat(home, "search", f"What is the code of {planted.ask}?", "--json").stdout)["results"]
        assert found[0]["text"] == planted.text


def killed_and_resumed(export: Path, home: Path, facts: ExportFacts, points: list[str]) -> None:
    """Import with a kill at each of the points, then to the end."""
    before = 0
    for point in points:
        killed = goat(home, "import", str(export), failpoint=point)
        assert killed.returncode == -signal.SIGKILL, (point, killed.stderr)
        count, _ = journal(home)
        assert before <= count <= facts.records, point
        before = count
    done = goat(home, "import", str(export))
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


def unbroken(export: Path, home: Path) -> None:
    done = goat(home, "import", str(export))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("seed", range(2))
def test_an_import_that_is_killed_at_seeded_records_ends_equal_to_an_unbroken_one(seed: int, tmp_path: Path) -> None:
    facts = write_telegram_export(tmp_path / "result.json", 2_400, seed=seed, archive=True)
    unbroken(tmp_path / "result.json", tmp_path / "whole")
    source = random.Random(seed)
    records = sorted(source.sample(range(1, facts.records), 3))
    points = [f"import_record:{record}" for record in records]
    points.append(source.choice(["journal_committed:1", "words_step:2", "words_followed:1"]))
    killed_and_resumed(tmp_path / "result.json", tmp_path / "killed", facts, points)
    assert journal(tmp_path / "killed") == journal(tmp_path / "whole")
    assert journal(tmp_path / "whole")[0] == facts.records
    assert passages(tmp_path / "killed") == passages(tmp_path / "whole")
    assert_found(tmp_path / "killed", facts, 1)


@pytest.mark.long
def test_twenty_thousand_messages_killed_at_five_seeded_records_are_there_once_and_whole(tmp_path: Path) -> None:
    facts = write_telegram_export(tmp_path / "result.json", 20_000, seed=20, archive=True)
    unbroken(tmp_path / "result.json", tmp_path / "whole")
    records = sorted(random.Random(20).sample(range(1, facts.records), 5))
    points = [f"import_record:{record}" for record in records]
    killed_and_resumed(tmp_path / "result.json", tmp_path / "killed", facts, points)
    assert journal(tmp_path / "killed") == journal(tmp_path / "whole")
    again = goat(tmp_path / "killed", "import", str(tmp_path / "result.json"))
    assert f"Nothing new from the Telegram export result.json for admin ({facts.records:,}".encode() in again.stdout
    assert_found(tmp_path / "killed", facts, 5)


def test_an_import_that_is_killed_while_it_makes_vectors_goes_on_there(tmp_path: Path) -> None:
    facts = write_telegram_export(tmp_path / "result.json", 60, seed=1)
    killed = goat(tmp_path / "home", "import", str(tmp_path / "result.json"), "--wait", failpoint="vectors_kept:2")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert journal(tmp_path / "home")[0] == facts.records
    done = goat(tmp_path / "home", "import", str(tmp_path / "result.json"), "--wait")
    assert done.returncode == 0, done.stderr
    state = json.loads(goat(tmp_path / "home", "status", "--json").stdout)
    assert state["passages_with_vectors"] == state["passages"] > 0
    assert state["meaning_index_behind"] == 0


def test_a_terminated_import_ends_in_order_and_the_next_one_goes_on(tmp_path: Path) -> None:
    facts = write_telegram_export(tmp_path / "result.json", 4_000, seed=1)
    home = tmp_path / "home"
    command = [sys.executable, "-m", "goat", "import", str(tmp_path / "result.json"), "--home", str(home)]
    running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _wait_for_a_message(home / "journal.db", running)
    running.terminate()
    _, err = running.communicate(timeout=60)
    assert running.returncode in (143, 0), err  # it may have been done just before
    assert b"Traceback" not in err
    unbroken(tmp_path / "result.json", home)
    unbroken(tmp_path / "result.json", tmp_path / "whole")
    assert journal(home) == journal(tmp_path / "whole")
    assert journal(home)[0] == facts.records


def _wait_for_a_message(path: Path, running: subprocess.Popen[bytes]) -> None:
    import time

    for _ in range(1200):
        assert running.poll() is None
        try:
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as opened:
                if opened.execute("SELECT count(*) FROM episode").fetchone()[0]:
                    return
        except sqlite3.OperationalError:
            pass
        time.sleep(0.02)
    raise AssertionError("no message reached the journal")
