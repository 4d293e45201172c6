"""One process for each bot on this machine, whatever data folders they work in."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from goat.errors import BotInUse, BotUnusable


@contextmanager
def bot_lock(bot: int, folder: Path | None = None) -> Iterator[None]:
    """Hold the bot with this id. The lock ends with the process, however it ends.

    It stands in `folder`, by default one of the person's own among the temporary files.

    Raises `BotInUse` when another process holds it, and `BotUnusable` when the lock cannot be made.
    """
    own = os.getuid() if hasattr(os, "getuid") else 0
    folder = folder or Path(tempfile.gettempdir(), f"goat-{own}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        lock = FileLock(folder / f"bot-{bot}.lock")
        lock.acquire(timeout=0)
    except Timeout:
        raise BotInUse(bot) from None
    except OSError as failure:
        raise BotUnusable(
            f"its lock cannot be made in {folder} ({failure.strerror or failure})", "Make that folder writable for you."
        ) from failure
    try:
        yield
    finally:
        lock.release()
