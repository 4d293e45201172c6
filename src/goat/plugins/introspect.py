"""What GOAT knows about its own work: figures, and the newest lines of its logs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from goat.plugins.registry import Registry
from goat.tools.tool import ToolContext, ToolDefinition, tool

MOST_CHARS = 12_000
MOST_BYTES = 1024 * 1024
RECORD_CHARS = 2000
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
STAMP = re.compile(r"^\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)")
LEVEL = re.compile(r"\b(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b")

Level = Literal["ALL", "DEBUG", "INFO", "WARNING", "ERROR"]


def build(registry: Registry) -> list[ToolDefinition]:
    """`get_memory_metrics` and `get_recent_logs`."""

    @tool
    async def get_memory_metrics(context: ToolContext) -> dict[str, Any]:
        """Give figures about memory: how much is kept, and how it is found."""
        return await registry.metrics(context.owner)

    @tool
    def get_recent_logs(
        context: ToolContext,
        minutes: Annotated[int, Field(ge=1, le=1440)] = 30,
        level: Level = "ALL",
        limit: Annotated[int, Field(ge=1, le=500)] = 100,
    ) -> str:
        """Give the newest records of GOAT's own logs.

        Args:
            minutes: How far back.
            level: The least important records to give.
            limit: How many records at most.
        """
        since = context.clock.now() - timedelta(minutes=minutes)
        return recent(registry.logs, since, level, limit, registry.redact)

    return [get_memory_metrics, get_recent_logs]


def recent(folder: Path, since: datetime, level: Level, limit: int, redact: Any) -> str:
    """The newest records since a moment, oldest first, cut to `MOST_CHARS`; a traceback stays with its record."""
    files = [file for file in sorted(folder.glob("*.log*")) + sorted(folder.glob("*.jsonl*")) if file.is_file()]
    found = sorted(
        (stamp, text)
        for file in files
        for stamp, text in records(_end_of(file))
        if stamp >= since and _counts(text, level)
    )
    lines: list[str] = []
    room = MOST_CHARS
    for _, text in reversed(found[-limit:]):
        shown = redact(text if len(text) <= RECORD_CHARS else f"{text[:RECORD_CHARS]} …")
        room -= len(shown) + 1
        if room < 0:
            lines.append("[older records left out]")
            break
        lines.append(shown)
    return "\n".join(reversed(lines)) or "(no records)"


def _end_of(file: Path) -> str:
    with file.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(0, size - MOST_BYTES))
        text = stream.read().decode("utf-8", errors="replace")
    return text if size <= MOST_BYTES else text.partition("\n")[2]


def records(text: str) -> Iterator[tuple[datetime, str]]:
    """Each record with its time: a line with a stamp, and the lines without one that follow it."""
    at: datetime | None = None
    lines: list[str] = []
    for line in text.splitlines():
        stamp = _stamp(line)
        if stamp is None:
            lines.append(line)
            continue
        if at is not None:
            yield at, "\n".join(lines)
        at, lines = stamp, [line]
    if at is not None:
        yield at, "\n".join(lines)


def _stamp(line: str) -> datetime | None:
    found = STAMP.match(line)
    written = found[1] if found else _json_stamp(line)
    if not written:
        return None
    try:
        at = datetime.fromisoformat(written.replace(",", "."))
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _json_stamp(line: str) -> str:
    if not line.startswith("{"):
        return ""
    try:
        value = json.loads(line)
    except ValueError:
        return ""
    return str(value.get("at") or value.get("time") or "") if isinstance(value, dict) else ""


def _counts(text: str, level: Level) -> bool:
    if level == "ALL":
        return True
    named = LEVEL.search(text.partition("\n")[0])
    found = named[1].replace("CRITICAL", "ERROR") if named else "INFO"
    return LEVELS.index(found) >= LEVELS.index(level)
