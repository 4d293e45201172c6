"""`goat memory show`: a message with all that is kept beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SAID = "Yesterday I met Ana Popescu in Cluj about ticket TKT-4711"


def goat(home: Path, *arguments: str) -> str:
    """What a whole process prints, without a language model and in UTC."""
    unset = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    ended = subprocess.run(
        [sys.executable, "-m", "goat", *arguments, "--home", str(home)],
        capture_output=True,
        env={**unset, "GOAT_TURN__ZONE": "UTC", "GOAT_MODEL__PROVIDER": "offline", "COLUMNS": "200"},
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.decode()


def test_a_message_is_shown_with_what_it_names_the_times_it_speaks_of_and_its_uses(tmp_path: Path) -> None:
    goat(tmp_path, "ask", SAID, "--chat", "one")
    before = json.loads(goat(tmp_path, "memory", "show", "1", "--json"))
    assert before["uses"] == {"count": 0, "last": None}
    for chat in ("two", "three"):
        assert "TKT-4711" in goat(tmp_path, "ask", "where did I meet Ana Popescu?", "--chat", chat)
    lines = goat(tmp_path, "memory", "show", "1").splitlines()
    assert "kind: statement" in lines
    assert "names: Ana Popescu (name); Cluj (place); tkt-4711 (code)" in lines
    assert any(line.startswith("speaks of: 2") for line in lines)
    assert any(line.startswith("recalled: 2 times, last 2") for line in lines)
    after = json.loads(goat(tmp_path, "memory", "show", "1", "--json"))
    assert {(entity["kind"], entity["text"]) for entity in after["entities"]} == {
        ("name", "Ana Popescu"),
        ("place", "Cluj"),
        ("code", "tkt-4711"),
    }
    assert after["uses"]["count"] == 2
