"""The data folder: private, writable, and used by one process at a time."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout

from goat.errors import HomeError, HomeInUse


class HomeFolder:
    """Holds the folder's lock from `open` to `close`. The lock ends with the process, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path / "goat.lock")

    async def __aenter__(self) -> HomeFolder:
        """Make the folder where it is missing (mode 0700) and lock it. Raises `HomeError`, `HomeInUse`."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if os.name == "posix":
                self.path.chmod(0o700)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise HomeInUse(self.path) from None
        except (FileExistsError, NotADirectoryError) as failure:
            raise HomeError(self.path, "it is not a folder", "Name another one with --home.") from failure
        except OSError as failure:
            raise HomeError(self.path, failure.strerror or str(failure), _remedy(failure)) from failure
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


def _remedy(failure: OSError) -> str:
    if isinstance(failure, PermissionError):
        return "Make it writable for you, or name another one with --home."
    return "Free some space or name another one with --home."
