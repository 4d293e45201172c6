"""A home from a backup: unpacked beside what is there, checked, and put in place piece by piece.

What stood in the home is kept in `backups/before-restore-<UTC time>`. Nothing is replaced before the backup was found
whole, and at every moment after that a journal stands in the home, the old one or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from goat.adapters.database import BEFORE_RESTORE
from goat.adapters.home_backup import FORMAT, JOURNAL, MANIFEST, VERSION, Member, sound_messages
from goat.adapters.home_folder import HomeFolder
from goat.adapters.journal import SqlOutbox, journal_database
from goat.errors import GoatError, HomeError, TransferError
from goat.ports.run import Clock
from goat.records.backups import Restored
from goat.settings.files import ENV_NAME, TOML_NAME

_STAGE: Final = "restore.part"
_PIECE: Final = 1024 * 1024
_NO_MATTER: Final = frozenset(("goat.lock", "logs", _STAGE))
"""What may stand in a home that counts as empty."""

_UNSENT: Final = "it waited in a backup that was restored, and may have been sent after that was made"
_AGAIN: Final = "Use another backup; the home was not touched."


@dataclass(frozen=True, slots=True)
class _Manifest:
    messages: int
    secrets: bool
    members: tuple[Member, ...]


async def restore_backup(backup: Path, home: Path, *, force: bool, clock: Clock) -> Restored:
    """Make a home what the backup holds.

    A home in which something stands is refused, unless `force`: then that is put aside. Keys and tokens of the home
    stay in place when the backup has none. Replies that waited to be sent when the backup was made are not sent: the
    home that it was made of has sent them since, for all that is known. Raises `TransferError` for a backup that is not
    whole, `HomeError` for a home that cannot be used, `HomeInUse` when another process works in it.
    """
    with _damage_told(backup):
        manifest = _manifest(backup)
    async with HomeFolder(home):
        standing = _standing(home)
        if standing and not force:
            listed = ", ".join(standing[:5]) + (", …" if len(standing) > 5 else "")
            remedy = "Name an empty one with --home, or use --force: what is there is then kept in its folder backups."
            raise HomeError(home, f"it is not empty ({listed})", remedy)
        stage = home / _STAGE
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir(mode=0o700)
        try:
            with _damage_told(backup):
                _unpack(backup, manifest, stage)
            unsent = await _check(backup, manifest, stage, clock)
            with _damage_told(backup):
                kept = home / "backups" / f"{BEFORE_RESTORE}{clock.now():%Y%m%dT%H%M%S%fZ}" if standing else None
                _put_in_place(home, stage, manifest, kept)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    return Restored(manifest.messages, kept, manifest.secrets, unsent)


def _standing(home: Path) -> list[str]:
    """What stands in a home, by name."""
    return sorted(path.name for path in home.iterdir() if path.name not in _NO_MATTER)


@contextmanager
def _damage_told(backup: Path) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as damage:
        raise TransferError(backup, f"it is no whole backup ({damage})", _AGAIN) from damage
    except FileNotFoundError as missing:
        raise TransferError(backup, f"there is no such file ({missing.filename})", "Check the path.") from missing
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise TransferError(
            backup, f"it cannot be restored ({reason})", "Check the file, the home and the disk."
        ) from (problem)


def _manifest(backup: Path) -> _Manifest:
    with zipfile.ZipFile(backup) as archive:
        if MANIFEST not in archive.namelist():
            raise TransferError(backup, "it is no backup of GOAT", "`goat backup FILE` makes one.")
        told = archive.read(MANIFEST)
    try:
        fields: dict[str, Any] = json.loads(told)
        if fields["format"] != FORMAT or int(fields["version"]) > VERSION:
            raise TransferError(backup, f"a newer GOAT wrote it (version {fields['version']})", "Update GOAT first.")
        members = tuple(Member(_safe(one["name"]), int(one["size"]), one["sha256"]) for one in fields["files"])
        return _Manifest(int(fields["messages"]), bool(fields["secrets"]), members)
    except (ValueError, KeyError, TypeError) as problem:
        raise TransferError(backup, f"its list of contents cannot be read ({problem})", _AGAIN) from problem


def _safe(name: str) -> str:
    """The name of a member that stays inside the home. Raises `ValueError`."""
    path = PurePosixPath(name)
    outside = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name
    if outside or not path.parts or path.parts[0] in (*_NO_MATTER, "backups"):
        raise ValueError(f"{name!r} is no name for a file of a home")
    return name


def _unpack(backup: Path, manifest: _Manifest, stage: Path) -> None:
    with zipfile.ZipFile(backup) as archive:
        held = set(archive.namelist())
        for member in manifest.members:
            if member.name not in held:
                raise zipfile.BadZipFile(f"{member.name} is missing")
            place = stage / member.name
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.touch(mode=0o600)
            _extract(archive, member, place)


def _extract(archive: zipfile.ZipFile, member: Member, place: Path) -> None:
    digest, size = hashlib.sha256(), 0
    with archive.open(member.name) as packed, place.open("wb") as out:
        while size <= member.size and (piece := packed.read(_PIECE)):
            digest.update(piece)
            size += len(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    if (size, digest.hexdigest()) != (member.size, member.sha256):
        raise zipfile.BadZipFile(f"{member.name} is not what was backed up")


async def _check(backup: Path, manifest: _Manifest, stage: Path, clock: Clock) -> int:
    """Open the journal as a start would, which brings an older one up to date, and read every page of it.

    Replies that wait in it are ended; how many those were.
    """
    if not (stage / JOURNAL).is_file():
        raise TransferError(backup, "it holds no journal", _AGAIN)
    try:
        async with journal_database(stage, clock) as database:
            unsent = await SqlOutbox(database, clock).end_all(_UNSENT)
        with closing(sqlite3.connect(stage / JOURNAL)) as journal:
            messages = sound_messages(journal)
    except (GoatError, sqlite3.Error) as problem:
        raise TransferError(backup, f"its journal cannot be used ({problem})", _AGAIN) from problem
    if messages != manifest.messages:
        problem_told = f"its journal holds {messages:,} messages and should hold {manifest.messages:,}"
        raise TransferError(backup, problem_told, _AGAIN)
    return unsent


def _put_in_place(home: Path, stage: Path, manifest: _Manifest, kept: Path | None) -> None:
    """Replace file by file. The old journal and its log are linked into the folder of what is kept before the new one
    takes its name. The log must not stay beside the new one, which it does not belong to."""
    names = [member.name for member in manifest.members if member.name != JOURNAL]
    if not manifest.secrets and (home / ENV_NAME).exists():
        names = [name for name in names if name != ENV_NAME]
    replaced = {*names, TOML_NAME, *((ENV_NAME,) if manifest.secrets else ())}
    log = f"{JOURNAL}-wal"
    if kept is not None:
        for name in (JOURNAL, log, *sorted(replaced)):
            _keep(home / name, kept / name)
    for name in (log, f"{JOURNAL}-shm"):
        (home / name).unlink(missing_ok=True)
    for vectors in home.glob("vec-*"):
        vectors.unlink()
    (stage / JOURNAL).replace(home / JOURNAL)
    for name in sorted(replaced - set(names)):
        (home / name).unlink(missing_ok=True)
    for name in names:
        (home / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (stage / name).replace(home / name)


def _keep(path: Path, place: Path) -> None:
    """Give a file a second name, or copy it where the disk knows no links."""
    if not path.is_file():
        return
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        place.hardlink_to(path)
    except OSError:
        shutil.copy2(path, place)
