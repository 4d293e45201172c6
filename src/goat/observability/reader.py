"""Reads the JSON lines of a home again, those of rotated files included, oldest first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAME = "turns.jsonl"


def read_lines(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines as objects. A line that is not whole, as a killed process leaves it, is passed over."""
    for path in _files(folder):
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    found = json.loads(line)
                except ValueError:
                    continue
                if isinstance(found, dict):
                    yield found


def _files(folder: Path) -> list[Path]:
    """`turns.jsonl.5` is older than `turns.jsonl.1`, which is older than `turns.jsonl`."""
    rotated = [path for path in folder.glob(f"{NAME}.*") if path.suffix[1:].isdecimal()]
    rotated.sort(key=lambda path: -int(path.suffix[1:]))
    newest = folder / NAME
    return [*rotated, *([newest] if newest.exists() else [])]
