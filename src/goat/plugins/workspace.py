"""The one rule for paths: what a tool touches lies inside the owner's workspace, links followed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from goat.errors import ToolError


def inside(tool: str, workspace: Path, path: str) -> Path:
    """The real place of a path, which may be relative to the workspace or absolute.

    Raises `ToolError` for one that leads out of the workspace by `..`, a link or an absolute path.
    """
    root = workspace.resolve()
    try:
        real = (root / path).resolve()
    except (OSError, ValueError, RuntimeError) as unusable:
        raise ToolError(tool, f"the path {path!r} cannot be used: {unusable}") from unusable
    if not real.is_relative_to(root):
        raise ToolError(tool, f"the path {path!r} lies outside the workspace; use a path relative to it")
    return real


def shown(workspace: Path, path: Path) -> str:
    """The path as the model names it."""
    return path.relative_to(workspace.resolve()).as_posix() or "."


def files_below(workspace: Path, folder: Path) -> Iterator[Path]:
    """All plain files below a folder, in order; links and special files are left out."""
    for place, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if name not in {".git", "node_modules", "__pycache__", ".venv"})
        for name in sorted(names):
            file = Path(place, name)
            if not file.is_symlink() and file.is_file():
                yield file
