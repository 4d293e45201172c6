"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from goat.errors import TransferError


@contextmanager
def new_file(target: Path, replace: bool) -> Iterator[Path]:
    """A file beside `target` to be written, with mode 0600; it takes the target's name when all went well.

    Raises `TransferError` when the target exists and `replace` is false or it is no file, and for what the system
    refuses meanwhile.
    """
    if target.is_dir():
        raise TransferError(target, "it is a folder", "Name a file in it.")
    if target.exists() and not target.is_file():
        raise TransferError(target, "it is a device or a pipe, not a file", "Name a file.")
    if target.exists() and not replace:
        raise TransferError(target, "it exists already", "Name another file, or use --force to replace it.")
    unfinished = target.with_name(f"{target.name}.part")
    with refusals_told(target), removed_after(unfinished):
        unfinished.unlink(missing_ok=True)
        unfinished.touch(mode=0o600)
        yield unfinished
        with unfinished.open("rb+") as written:
            os.fsync(written.fileno())
        unfinished.replace(target)


@contextmanager
def removed_after(path: Path) -> Iterator[None]:
    """Leave no such file behind."""
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def refusals_told(target: Path) -> Iterator[None]:
    """Tell what the system refuses while a file is written. Raises `TransferError`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, UnicodeError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        remedy = "Check that its folder exists and may be written, and that the disk has room."
        raise TransferError(target, f"it cannot be written ({reason})", remedy) from problem
