"""The files that histories come in: opened with care, read in pieces, and with a word for what is wrong.

Whatever a person hands over is bounded here: what an archive may unpack to, and what a record or a line may hold.
"""

from __future__ import annotations

import codecs
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path
from typing import IO, Final

from goat.errors import HistoryError
from goat.records.history import BadRecord

CHUNK: Final = 64 * 1024
"""Bytes that are read at once."""

_MEMBERS: Final = (re.compile(r"(?:^|/)conversations[^/]*\.json$"), re.compile(r"(?:^|/)result\.json$"))
_ZIP_MAGIC: Final = (b"PK\x03\x04", b"PK\x05\x06")
_SKIP: Final = "Import the rest with --skip-bad."


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """What a file may ask of us: bytes of one record or line, bytes unpacked, and unpacked bytes per packed byte.

    A chat compresses about ten times and never a hundred; the ratio counts only above `ratio_from` unpacked bytes.
    """

    record_bytes: int = 32 * 1024 * 1024
    unpacked_bytes: int = 64 * 1024**3
    ratio: int = 200
    ratio_from: int = 16 * 1024 * 1024


class BrokenHistory(Exception):
    """The bytes of a history break off or are not what they claim to be; nothing after this point can be read."""


class BadValue(ValueError):
    """A record holds a value that cannot be used; the records around it are fine."""


class HistoryFile:
    """One stream of bytes to import from: a file, or a member of a zip archive. `size` is its length unpacked."""

    def __init__(self, path: Path, size: int, limits: HistoryLimits, member: str | None = None) -> None:
        self.path = path
        self.size = size
        self.limits = limits
        self.member = member

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The bytes from the beginning. Raises `HistoryError` when they cannot be opened."""
        with ExitStack() as stack:
            try:
                raw = self._enter(stack)
            except OSError as problem:
                raise unreadable(self.path, problem) from problem
            except (zipfile.BadZipFile, NotImplementedError, RuntimeError, KeyError) as problem:
                raise unreadable_archive(self.path, problem) from problem
            yield raw

    def _enter(self, stack: ExitStack) -> IO[bytes]:
        if self.member is None:
            return stack.enter_context(self.path.open("rb"))
        return stack.enter_context(stack.enter_context(zipfile.ZipFile(self.path)).open(self.member))

    def chunks(self, raw: IO[bytes]) -> Iterator[bytes]:
        """The bytes in pieces of `CHUNK`, without a byte order mark.

        Raises `BrokenHistory` where an archive's data is damaged and `HistoryError` where the disk fails.
        """
        try:
            chunk = raw.read(CHUNK).removeprefix(codecs.BOM_UTF8)
            while chunk:
                yield chunk
                chunk = raw.read(CHUNK)
        except (zipfile.BadZipFile, zlib.error, LZMAError, EOFError) as problem:
            raise BrokenHistory(f"the archive is damaged ({problem})") from problem
        except OSError as problem:
            raise unreadable(self.path, problem) from problem


class Reading:
    """One pass over a history: counts the records, and passes on or raises what is wrong with them."""

    def __init__(self, path: Path, on_bad: Callable[[BadRecord], None] | None) -> None:
        self.path = path
        self.number = 0
        self.position = 0
        self._on_bad = on_bad

    def next(self) -> int:
        """Begin a record; returns its number."""
        self.number += 1
        return self.number

    def bad(self, reason: str, remedy: str = _SKIP) -> None:
        """The record under way cannot be imported. Raises `HistoryError` unless somebody takes the report."""
        if self._on_bad is None:
            raise HistoryError(self.path, self.number, reason, remedy)
        self._on_bad(BadRecord(self.path, self.number, self.position, reason))

    @contextmanager
    def until_broken(self) -> Iterator[None]:
        """A body that ends early where the file breaks; the break is reported as a bad record."""
        try:
            yield
        except BrokenHistory as broken:
            self.next()
            self.bad(str(broken), f"Export it again, or take what is there. {_SKIP}")


def find_files(path: Path, limits: HistoryLimits) -> list[HistoryFile]:
    """What there is to import at the path: the file, or the members of a zip archive that hold chats.

    Raises `HistoryError` for what is not a readable file, for an empty one, and for an archive that is damaged, locked,
    or unpacks to more than the limits allow.
    """
    size = _size_of_file(path)
    try:
        with path.open("rb") as raw:
            magic = raw.read(4)
    except OSError as problem:
        raise unreadable(path, problem) from problem
    if magic not in _ZIP_MAGIC:
        return [HistoryFile(path, size, limits)]
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, OSError) as problem:
        raise unreadable_archive(path, problem) from problem
    return _chat_members(path, members, limits)


def _size_of_file(path: Path) -> int:
    try:
        status = path.stat()
    except (OSError, ValueError) as problem:
        raise unreadable(path, problem) from problem
    if stat.S_ISDIR(status.st_mode):
        inside = path / "result.json"
        remedy = f"Name the file inside: {inside}" if inside.is_file() else "Name the file inside that holds the chats."
        raise HistoryError(path, None, "it is a folder", remedy)
    if not stat.S_ISREG(status.st_mode):
        raise HistoryError(path, None, "it is not a plain file", "Copy it to a file first.")
    if status.st_size == 0:
        raise HistoryError(path, None, "it is empty", "Export the chats again.")
    return status.st_size


def _chat_members(path: Path, members: list[zipfile.ZipInfo], limits: HistoryLimits) -> list[HistoryFile]:
    for pattern in _MEMBERS:
        chosen = sorted((m for m in members if pattern.search(m.filename)), key=lambda m: m.filename)
        if chosen:
            break
    else:
        raise HistoryError(
            path,
            None,
            "the archive has no conversations.json and no result.json",
            "Name the export's archive as it was downloaded, or the JSON file itself.",
        )
    _refuse_bomb(path, chosen, limits)
    if any(member.flag_bits & 1 for member in chosen):
        raise HistoryError(path, None, "the archive is locked with a password", "Unpack it first.")
    return [HistoryFile(path, member.file_size, limits, member.filename) for member in chosen]


def _refuse_bomb(path: Path, members: list[zipfile.ZipInfo], limits: HistoryLimits) -> None:
    unpacked = sum(member.file_size for member in members)
    packed = max(1, sum(member.compress_size for member in members))
    dense = unpacked > limits.ratio_from and unpacked > limits.ratio * packed
    if dense or unpacked > limits.unpacked_bytes:
        raise HistoryError(
            path,
            None,
            f"the archive would unpack {in_bytes(packed)} to {in_bytes(unpacked)}, which no chat does",
            "If you trust it, unpack it yourself and name the JSON file.",
        )


def unreadable(path: Path, problem: OSError | ValueError) -> HistoryError:
    """What is said of a file that the system does not give us."""
    if isinstance(problem, FileNotFoundError):
        return HistoryError(path, None, "there is no such file", "Check the path.")
    reason = (getattr(problem, "strerror", None) or str(problem)).lower()
    return HistoryError(path, None, reason, "Check the path, who may read it, and the disk.")


def unreadable_archive(path: Path, problem: Exception) -> HistoryError:
    """What is said of an archive that the zip library refuses."""
    return HistoryError(path, None, f"the archive cannot be opened ({problem})", "Download or pack it again.")


def in_bytes(count: int) -> str:
    """A number of bytes as a person reads it."""
    if count < 1024:
        return f"{count} bytes"
    power = min((count.bit_length() - 1) // 10, 4)
    size = count / 1024**power
    return f"{size:.{0 if size >= 10 else 1}f} {('KB', 'MB', 'GB', 'TB')[power - 1]}"
