"""Files in the workspace: read, write, list, find by name, find by content."""

from __future__ import annotations

import os
import re
import tempfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from goat.errors import ToolError
from goat.plugins.registry import Registry
from goat.plugins.workspace import files_below, inside, shown
from goat.tools.tool import ToolContext, ToolDefinition, tool

MOST_BYTES = 2 * 1024 * 1024
MOST_LINES = 100
MOST_NAMES = 200
LINE_CHARS = 300
GUARDED_BYTES = 1000
"""A file from this size on is not replaced by one of less than half its size without a word."""

Chars = Annotated[int, Field(ge=100, le=100_000)]


def build(registry: Registry) -> list[ToolDefinition]:
    """The five file tools."""
    return [read_file, write_file, list_files, search_files, grep_files]


def _text(name: str, path: Path, written: str) -> str:
    if not path.exists():
        raise ToolError(name, f"there is no file {written!r}; list_files shows what there is")
    if not path.is_file():
        raise ToolError(name, f"{written!r} is no plain file")
    if path.stat().st_size > MOST_BYTES:
        raise ToolError(name, f"{written!r} has {path.stat().st_size:,} bytes; at most {MOST_BYTES:,} are read")
    data = path.read_bytes()
    if b"\0" in data[:8192]:
        raise ToolError(name, f"{written!r} is no text file")
    return data.decode("utf-8", errors="replace")


@tool(outside=True)
def read_file(
    context: ToolContext, path: str, first_line: Annotated[int, Field(ge=1)] = 1, max_chars: Chars = 8000
) -> str:
    """Read a text file of the workspace.

    Args:
        path: Relative to the workspace.
        first_line: The line to begin with, from 1.
        max_chars: How much is read at most.
    """
    text = _text("read_file", inside("read_file", context.workspace, path), path)
    rest = "".join(text.splitlines(keepends=True)[first_line - 1 :])
    if len(rest) <= max_chars:
        return rest or "(empty)"
    lines = rest[:max_chars].count("\n")
    return f"{rest[:max_chars]}\n[cut here; go on with first_line={first_line + lines}]"


@tool(parallel=False)
def write_file(
    context: ToolContext,
    path: str,
    content: Annotated[str, Field(max_length=200_000)],
    mode: Literal["overwrite", "append"] = "overwrite",
    may_shrink: bool = False,
) -> str:
    """Write a text file in the workspace; folders are made as needed.

    Args:
        path: Relative to the workspace.
        content: The whole new text, or what is appended.
        mode: Whether the text replaces the file or goes to its end.
        may_shrink: Set it when a file shall really become less than half as long.
    """
    target = inside("write_file", context.workspace, path)
    if target.exists() and not target.is_file():
        raise ToolError("write_file", f"{path!r} is no plain file")
    before = target.stat().st_size if target.exists() else 0
    new = content.encode("utf-8", errors="replace")
    if mode == "append" and before:
        new = target.read_bytes() + new
    if mode == "overwrite" and before >= GUARDED_BYTES and len(new) < before / 2 and not may_shrink:
        raise ToolError(
            "write_file",
            f"{path!r} has {before:,} bytes and the new text only {len(new):,}; nothing was written. Send the whole "
            "text, or set may_shrink when that is meant",
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    _replace(target, new)
    return f"{shown(context.workspace, target)}: {len(new):,} bytes written"


def _replace(target: Path, data: bytes) -> None:
    """Put the bytes in place at once: a reader sees the old file or the new one."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".goat-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@tool(outside=True)
def list_files(context: ToolContext, folder: str = ".") -> str:
    """List a folder of the workspace.

    Args:
        folder: Relative to the workspace.
    """
    place = inside("list_files", context.workspace, folder)
    if not place.is_dir():
        raise ToolError("list_files", f"there is no folder {folder!r}")
    entries = sorted(place.iterdir(), key=lambda one: (one.is_file(), one.name))
    lines = [f"{_kind(one)}{one.name}{'/' if one.is_dir() else ''}" for one in entries[:MOST_NAMES]]
    return _listed(lines, len(entries), "(an empty folder)")


def _kind(path: Path) -> str:
    if path.is_symlink():
        return "link  "
    return "" if path.is_dir() else f"{path.stat().st_size:>9,}  "


@tool(outside=True)
def search_files(context: ToolContext, pattern: str, folder: str = ".") -> str:
    """Find files by name in the workspace.

    Args:
        pattern: As in a shell, for example *.md or notes/*.txt.
        folder: Where to begin, relative to the workspace.
    """
    place = inside("search_files", context.workspace, folder)
    names = [shown(context.workspace, file) for file in files_below(context.workspace, place)]
    found = [name for name in names if fnmatch(name, pattern) or fnmatch(name.rpartition("/")[2], pattern)]
    return _listed(found[:MOST_NAMES], len(found), f"no file matches {pattern!r}")


@tool(outside=True)
def grep_files(context: ToolContext, pattern: str, folder: str = ".", names: str = "*") -> str:
    """Find lines by a regular expression in the text files of the workspace; case does not matter.

    Args:
        pattern: A regular expression.
        folder: Where to begin, relative to the workspace.
        names: Only files with such names, for example *.py.
    """
    place = inside("grep_files", context.workspace, folder)
    try:
        wanted = re.compile(pattern, re.IGNORECASE)
    except re.error as wrong:
        raise ToolError("grep_files", f"{pattern!r} is no regular expression: {wrong}") from wrong
    found: list[str] = []
    for file in files_below(context.workspace, place):
        if fnmatch(file.name, names) and file.stat().st_size <= MOST_BYTES:
            data = file.read_bytes()
            lines = [] if b"\0" in data[:8192] else data.decode("utf-8", errors="replace").splitlines()
            name = shown(context.workspace, file)
            found += [
                f"{name}:{n}: {line[:LINE_CHARS]}" for n, line in enumerate(lines, 1) if wanted.search(line[:10_000])
            ]
        if len(found) > MOST_LINES:
            break
    return _listed(found[:MOST_LINES], len(found), f"nothing matches {pattern!r}")


def _listed(lines: list[str], total: int, nothing: str) -> str:
    if not lines:
        return nothing
    more = [f"[more than {len(lines)}; narrow it down]"] if total > len(lines) else []
    return "\n".join([*lines, *more])
