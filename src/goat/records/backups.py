"""A whole home in one file, and back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A backup that was written: how many messages its journal holds, and its own size in bytes."""

    messages: int
    size: int


@dataclass(frozen=True, slots=True)
class Restored:
    """A home that was restored: how many messages it holds, and the folder with what stood there before, if anything
    did. `secrets` says whether keys and tokens came with the backup, `unsent` how many replies waited in it to be sent:
    they are not sent any more."""

    messages: int
    kept: Path | None
    secrets: bool
    unsent: int = 0
