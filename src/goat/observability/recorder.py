"""One JSON line for each turn and each background search, in files that rotate. Never the words that were said."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from goat.observability.analytics import MemoryAnalytics
from goat.observability.reader import NAME
from goat.records.turns import Notice, PrefetchRecord, TurnRecord

MAX_BYTES = 10 * 1024 * 1024
BACKUPS = 5

REPORT_EVERY = 100


class Recorder:
    """An observer that writes `turns.jsonl` in a folder and hands notices on to `show`."""

    def __init__(self, folder: Path, show: Callable[[Notice], None]) -> None:
        self._folder = folder
        self._show = show
        self._handler: RotatingFileHandler | None = None
        self._analytics = MemoryAnalytics()

    def turn(self, record: TurnRecord) -> None:
        """Write a turn, and after each hundred of this process a report on them."""
        self._write("turn", asdict(record))
        if self._analytics.turns % REPORT_EVERY == 0:
            self._write("report", {"at": record.at, **self._analytics.report()})
            self._analytics = MemoryAnalytics()

    def prefetch(self, record: PrefetchRecord) -> None:
        """Write a background search."""
        self._write("prefetch", asdict(record))

    def notice(self, notice: Notice) -> None:
        """Write a notice and show it."""
        self._write("notice", asdict(notice))
        self._show(notice)

    def close(self) -> None:
        """Close the file."""
        if self._handler is not None:
            self._handler.close()

    def _write(self, kind: str, fields: dict[str, Any]) -> None:
        line = json.dumps({"kind": kind, **fields}, default=_plain, ensure_ascii=False)
        self._analytics.add({"kind": kind, **fields})
        try:
            if self._handler is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._handler = RotatingFileHandler(
                    self._folder / NAME, maxBytes=MAX_BYTES, backupCount=BACKUPS, encoding="utf-8"
                )
            self._handler.emit(logging.makeLogRecord({"msg": line}))
        except OSError as failure:
            self._show(Notice("the turn record", f"it cannot be written: {failure.strerror}"))


class Teller:
    """An observer that hands notices on to `show` and writes nothing: the files belong to another process."""

    def __init__(self, show: Callable[[Notice], None]) -> None:
        self._show = show

    def turn(self, record: TurnRecord) -> None:
        """Pass over a turn."""

    def prefetch(self, record: PrefetchRecord) -> None:
        """Pass over a background search."""

    def notice(self, notice: Notice) -> None:
        """Show a notice."""
        self._show(notice)


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
