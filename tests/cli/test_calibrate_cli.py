"""`goat calibrate threads` as a person runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def test_the_command_prints_the_row_the_confusion_and_the_enriching_check_as_json(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "goat", "calibrate", "threads", "--json", "--home", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, env=dict(os.environ), timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert set(shown["bands"]) == {
        "drift_warm",
        "drift_cold",
        "lexical_low",
        "enriching_sim",
        "topic_return_threshold",
    }
    assert sum(count for _, _, count in shown["confusion"]) == 216
    right, checked = shown["enriching_check"]
    assert checked == 48
    assert right >= 36
    assert list(tmp_path.iterdir()) == []
