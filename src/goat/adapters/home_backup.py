"""A whole home in one file: a zip archive with a sound copy of the journal, the settings, and what stands beside them.

`goat-backup.json` in the archive lists the other members with their sizes and SHA-256 digests. The journal is copied
with SQLite's backup API (https://www.sqlite.org/backup.html), so the home may be in use meanwhile. What GOAT makes anew
by itself (the vector index, logs, earlier backups) is left out.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime
from io import BytesIO, StringIO
from pathlib import Path
from typing import IO, Final

from dotenv.parser import parse_stream

from goat.adapters.new_file import new_file, removed_after
from goat.errors import TransferError
from goat.records.backups import BackedUp
from goat.settings.catalogue import catalogue
from goat.settings.files import ENV_NAME, TOML_NAME, Files

FORMAT: Final = "goat-backup"
VERSION: Final = 1
MANIFEST: Final = "goat-backup.json"
JOURNAL: Final = "journal.db"

_PIECE: Final = 1024 * 1024
_SEPARATE: Final = frozenset((JOURNAL, TOML_NAME, ENV_NAME, "goat.lock"))
_MADE_ANEW: Final = ("logs", "backups")
_NOT_KEPT: Final = re.compile(r"journal\.db-.*|vec-.*|\..*|.*\.(?:backup|broken|part|tmp)")
_USER_IN_URL: Final = re.compile(r"(?<=://)[^/\s\"'@]+@")


@dataclass(frozen=True, slots=True)
class Member:
    """A file in a backup: its name with `/`, its size in bytes and the SHA-256 digest of its content."""

    name: str
    size: int
    sha256: str


def write_backup(
    home: Path, files: Files, target: Path, *, with_secrets: bool, replace: bool, at: datetime, made_by: str
) -> BackedUp:
    """Write a backup of a home to `target`, readable by its owner only; nothing stands there before it is whole.

    `files` are the settings files that count for this home. Keys and tokens are left out unless `with_secrets`. An
    existing target is kept unless `replace`. Raises `TransferError`.
    """
    journal = home / JOURNAL
    if not journal.is_file():
        raise TransferError(target, f"{home} holds no journal, so there is nothing to back up", "Check --home.")
    copy = target.with_name(f"{target.name}.journal.part")
    with new_file(target, replace) as unfinished, removed_after(copy):
        messages = _copy_journal(journal, copy, target)
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            with copy.open("rb") as raw:
                members = [_add(archive, JOURNAL, raw)]
            for name, text in _settings(files, with_secrets):
                members.append(_add(archive, name, BytesIO(text.encode())))
            for path in _others(home, (target, unfinished, copy)):
                with path.open("rb") as raw:
                    members.append(_add(archive, path.relative_to(home).as_posix(), raw))
            about = {"format": FORMAT, "version": VERSION, "made_by": made_by, "at": at.isoformat()}
            listed = {"messages": messages, "secrets": with_secrets, "files": [asdict(member) for member in members]}
            archive.writestr(MANIFEST, json.dumps({**about, **listed}, ensure_ascii=False, indent=2))
    return BackedUp(messages, target.stat().st_size)


def _copy_journal(source: Path, copy: Path, target: Path) -> int:
    """Copy the journal as it stands at this moment; return how many messages it holds."""
    copy.unlink(missing_ok=True)
    copy.touch(mode=0o600)
    try:
        with closing(_existing(source)) as from_home, closing(sqlite3.connect(copy)) as to_copy:
            from_home.backup(to_copy)
            to_copy.execute("PRAGMA journal_mode = DELETE").fetchone()
            return sound_messages(to_copy)
    except sqlite3.Error as problem:
        remedy = "Put a sound copy in its place: an earlier backup with `goat restore`, or one of the folder backups."
        raise TransferError(target, f"the journal {source} cannot be copied ({problem})", remedy) from problem


def _existing(path: Path) -> sqlite3.Connection:
    """A database that is there; nothing is made in its place. Raises `sqlite3.Error`."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)


def sound_messages(connection: sqlite3.Connection) -> int:
    """How many messages a journal holds, after every page of it was checked. Raises `sqlite3.Error`."""
    (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(str(found))
    (messages,) = connection.execute("SELECT count(*) FROM episode").fetchone()
    return int(messages)


def _settings(files: Files, with_secrets: bool) -> Iterator[tuple[str, str]]:
    """The texts of the settings files that there are."""
    if files.toml.is_file():
        text = files.toml.read_text(encoding="utf-8", errors="replace")
        yield TOML_NAME, text if with_secrets else _USER_IN_URL.sub("", text)
    if files.env.is_file():
        text = files.env.read_text(encoding="utf-8-sig", errors="replace")
        yield ENV_NAME, text if with_secrets else _without_secrets(text)


def _without_secrets(text: str) -> str:
    """The assignments of a `.env` that are known to hold no secret."""
    harmless = {name for key in catalogue().values() if not key.secret for name in key.environment}
    kept = [b.original.string.strip() for b in parse_stream(StringIO(text)) if b.key in harmless and not b.error]
    return _USER_IN_URL.sub("", "".join(f"{line}\n" for line in kept))


def _others(home: Path, own: tuple[Path, ...]) -> Iterator[Path]:
    """The files that a person put into the home. Links are not followed, and backups not backed up again."""
    written = {path.absolute() for path in own}
    for folder, folders, names in os.walk(home):
        here = Path(folder)
        top = here == home
        folders[:] = sorted(n for n in folders if not _NOT_KEPT.fullmatch(n) and not (top and n in _MADE_ANEW))
        for name in sorted(names):
            path = here / name
            separate = _NOT_KEPT.fullmatch(name) or (top and name in _SEPARATE) or path.absolute() in written
            if not separate and path.is_file() and not path.is_symlink() and not is_backup(path):
                yield path


def is_backup(path: Path) -> bool:
    """Whether a file is a backup, by its content."""
    try:
        with zipfile.ZipFile(path) as archive:
            return MANIFEST in archive.namelist()
    except (zipfile.BadZipFile, OSError, NotImplementedError):
        return False


def _add(archive: zipfile.ZipFile, name: str, raw: IO[bytes]) -> Member:
    digest, size = hashlib.sha256(), 0
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(info, "w", force_zip64=True) as out:
        while piece := raw.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            out.write(piece)
    return Member(name, size, digest.hexdigest())
