"""Remembers how other programs described their tools, so that a change is seen before it counts."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from goat.records.tools import OfferedTool


def fingerprint(tool: OfferedTool) -> str:
    """SHA-256 of everything that a model reads of the tool, hexadecimal."""
    whole = json.dumps([tool.name, tool.description, tool.parameters], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(whole.encode("utf-8", errors="surrogatepass")).hexdigest()


class Pins:
    """The fingerprints of tools by source, in a file of the home. Another process may write it meanwhile.

    A file that cannot be read is no empty one: then nothing is known and nothing is accepted.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stamp: tuple[int, int] | None = None
        self._known: dict[str, dict[str, str]] = {}
        self.fault = ""

    def of(self, source: str) -> Mapping[str, str] | None:
        """The fingerprints of a source by the names of its tools; None when it was never seen."""
        self._read()
        return self._known.get(source)

    def accept(self, source: str, tools: Iterable[OfferedTool]) -> None:
        """From now on the tools of a source are as they are. Raises `OSError`."""
        self._read()
        self._known[source] = {tool.name: fingerprint(tool) for tool in tools}
        _write(self._file, self._known)
        self._stamp = None

    @property
    def state(self) -> tuple[int, int] | None:
        """Changes whenever the file does."""
        self._read()
        return self._stamp

    def _read(self) -> None:
        try:
            stat = self._file.stat()
        except FileNotFoundError:
            self._stamp, self._known, self.fault = None, {}, ""
            return
        except OSError as closed:
            self.fault = f"{self._file} cannot be read: {closed.strerror}"
            return
        stamp = (stat.st_mtime_ns, stat.st_size)
        if stamp == self._stamp:
            return
        self._stamp, self._known = stamp, {}
        try:
            self._known = _checked(json.loads(self._file.read_text(encoding="utf-8")))
            self.fault = ""
        except (OSError, ValueError) as broken:
            self.fault = f"{self._file} cannot be read ({broken}); delete it to see all tools as new"


def _checked(document: Any) -> dict[str, dict[str, str]]:
    if not isinstance(document, dict) or not all(isinstance(one, dict) for one in document.values()):
        raise ValueError("it is no table of fingerprints")
    return document


def _write(file: Path, known: Mapping[str, Mapping[str, str]]) -> None:
    """Put the whole file in its place at once."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(known, stream, indent=1, sort_keys=True)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(file)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink(missing_ok=True)
        raise
