"""Notices when the process ends badly again and again, so that the next start leaves out what may be the reason."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from goat.ports.run import Clock

BREAKER: Final = 3
"""So many starts that ended badly within `WITHIN` make the next one a safe one."""

WITHIN: Final = timedelta(minutes=5)


class Boots:
    """The starts that did not end well yet, in a small file of the data folder.

    A file that cannot be read or written is as good as none: this must not keep anything from starting.
    """

    def __init__(self, home: Path, clock: Clock) -> None:
        self._path = home / "boots.json"
        self._clock = clock

    def begin(self) -> bool:
        """Note a start; whether it should be a safe one."""
        now = self._clock.now()
        recent = [one for one in self._read() if now - datetime.fromisoformat(one) < WITHIN]
        self._write([*recent, now.isoformat()])
        return len(recent) >= BREAKER

    def ended_well(self) -> None:
        """The start that `begin` noted came to an orderly end: the ones before it count no more."""
        self._write([])

    def _read(self) -> list[str]:
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            return [one for one in kept if datetime.fromisoformat(one).tzinfo is not None]
        except (OSError, ValueError, TypeError):
            return []

    def _write(self, starts: list[str]) -> None:
        partial = self._path.with_suffix(".part")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial.write_text(json.dumps(starts), encoding="utf-8")
            partial.replace(self._path)
        except OSError:
            return
