"""What goes into a home and out of it by files: histories, exports, backups. Each is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from goat import __version__
from goat.adapters.clock_system import SystemClock
from goat.ports.edges import HistorySource, HistoryWriter
from goat.records.backups import BackedUp, Restored
from goat.settings import Files, Settings


def open_history(path: Path, settings: Settings) -> HistorySource:
    """The history in a file that a person brings; its times without a zone are read in the owner's.

    Raises `HistoryError`.
    """
    from goat.adapters.history import open_history

    return open_history(path, SystemClock(settings.turn.zone).zone())


def history_writer(out: TextIO) -> HistoryWriter:
    """What writes our own export to an open text file."""
    from goat.adapters.history_jsonl import JsonLinesWriter

    return JsonLinesWriter(out)


@contextmanager
def export_file(target: Path, replace: bool) -> Iterator[HistoryWriter]:
    """A file for our own export, which is there when it is whole. Raises `TransferError`."""
    from goat.adapters.new_file import new_file

    with new_file(target, replace) as unfinished, unfinished.open("w", encoding="utf-8", newline="\n") as out:
        yield history_writer(out)


def back_up(home: Path, files: Files, target: Path, *, with_secrets: bool, replace: bool) -> BackedUp:
    """Write a whole home into one file; GOAT may run in it meanwhile. Raises `TransferError`."""
    from goat.adapters.home_backup import write_backup

    at, made_by = SystemClock().now(), f"goat {__version__}"
    return write_backup(home, files, target, with_secrets=with_secrets, replace=replace, at=at, made_by=made_by)


async def restore(backup: Path, home: Path, *, force: bool) -> Restored:
    """Make a home what a backup holds. Raises `TransferError`, `HomeError`, `HomeInUse`."""
    from goat.adapters.home_restore import restore_backup

    return await restore_backup(backup, home, force=force, clock=SystemClock())
