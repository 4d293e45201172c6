"""A home goes into one file and comes out of it equal, or nothing is touched."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.home_backup import MANIFEST, write_backup
from goat.adapters.home_folder import HomeFolder
from goat.adapters.home_restore import restore_backup
from goat.adapters.journal import SqlJournal, SqlOutbox, journal_database
from goat.errors import HomeError, HomeInUse, TransferError
from goat.records.backups import BackedUp, Restored
from goat.records.deliveries import Outcome, Part, PartState, Preview
from goat.records.episodes import NewEpisode, NewOutgoing, Role
from goat.settings.files import Files
from goat.testing.clock import FakeClock

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
TOML = '[model]\nbase_url = "https://ana:hunter2@models.example/v1"\n'
ENV = (
    "# old token 111:AAA\n"
    "MODEL_NAME=small\n"
    "export DEEPSEEK_API_KEY='sk-secret'\n"
    "TELEGRAM_BOT_TOKEN=222:BBB\n"
    "BASE_URL=https://ana:hunter2@models.example/v1\n"
    "SOMETHING_ELSE=sk-other\n"
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def lived_in(home: Path, clock: FakeClock, messages: int = 12, word: str = "message") -> Path:
    """A home with a journal, settings, keys, a plugin, and what GOAT makes by itself."""
    _write(home, {"goat2.toml": TOML, ".env": ENV, "plugins/weather.py": "X = 1\n", "logs/goat.jsonl": "{}\n"})
    async with journal_database(home, clock) as database:
        said = [
            NewEpisode("ana", "home", Role.USER, f"{word} {n}", NOON + timedelta(minutes=n), f"x{n}")
            for n in range(messages)
        ]
        for start in range(0, messages, 1000):
            await SqlJournal(database, clock).append(said[start : start + 1000])
    _write(home, {"vec-1-model.i8": "vectors", "backups/journal-0001.db": "older", ".env.backup": "TOKEN=old"})
    return home


def _write(home: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")


def back_up(home: Path, target: Path, with_secrets: bool = False, replace: bool = False) -> BackedUp:
    files = Files(home / "goat2.toml", home / ".env")
    return write_backup(home, files, target, with_secrets=with_secrets, replace=replace, at=NOON, made_by="goat test")


def texts(journal: Path) -> list[str]:
    with closing(sqlite3.connect(journal)) as opened:
        return [text for (text,) in opened.execute("SELECT text FROM episode ORDER BY id")]


def everything_in(folder: Path) -> dict[str, bytes]:
    found = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {path.relative_to(folder).as_posix(): data for path, data in found.items() if path.name != "goat.lock"}


# Writing


async def test_a_home_comes_back_equal(tmp_path: Path, clock: FakeClock) -> None:
    home = await lived_in(tmp_path / "home", clock)
    written = back_up(home, tmp_path / "b.zip", with_secrets=True)
    assert written == BackedUp(12, (tmp_path / "b.zip").stat().st_size)
    restored = await restore_backup(tmp_path / "b.zip", tmp_path / "new", force=False, clock=clock)
    assert restored == Restored(12, None, True)
    assert texts(tmp_path / "new" / "journal.db") == texts(home / "journal.db")
    assert everything_in(tmp_path / "new").keys() == {"journal.db", "goat2.toml", ".env", "plugins/weather.py"}
    for name in ("goat2.toml", ".env", "plugins/weather.py"):
        assert (tmp_path / "new" / name).read_bytes() == (home / name).read_bytes()


async def test_without_secrets_no_key_no_token_and_no_password_leaves_the_home(
    tmp_path: Path, clock: FakeClock
) -> None:
    home = await lived_in(tmp_path / "home", clock)
    back_up(home, tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        inside = {name: archive.read(name) for name in archive.namelist()}
    assert inside[".env"].decode() == "MODEL_NAME=small\nBASE_URL=https://models.example/v1\n"
    for word in (b"sk-secret", b"sk-other", b"222:BBB", b"111:AAA", b"hunter2"):
        assert not [name for name, data in inside.items() if word in data]
    assert json.loads(inside[MANIFEST])["secrets"] is False


async def test_memory_14_a_backup_of_more_than_ten_thousand_messages_holds_every_one(
    tmp_path: Path, clock: FakeClock
) -> None:
    home = await lived_in(tmp_path / "home", clock, messages=10_777)
    assert back_up(home, tmp_path / "b.zip").messages == 10_777
    await restore_backup(tmp_path / "b.zip", tmp_path / "new", force=False, clock=clock)
    assert texts(tmp_path / "new" / "journal.db") == [f"message {n}" for n in range(10_777)]


async def test_a_home_in_use_is_copied_as_it_stands_with_what_was_just_committed(
    tmp_path: Path, clock: FakeClock
) -> None:
    home = await lived_in(tmp_path / "home", clock)
    async with HomeFolder(home), journal_database(home, clock) as database:
        journal = SqlJournal(database, clock)
        await journal.append([NewEpisode("ana", "home", Role.USER, "just now", NOON, "x")])
        assert back_up(home, tmp_path / "b.zip").messages == 13
        await journal.append([NewEpisode("ana", "home", Role.USER, "later", NOON, "x")])
    await restore_backup(tmp_path / "b.zip", tmp_path / "new", force=False, clock=clock)
    assert texts(tmp_path / "new" / "journal.db")[-1] == "just now"


async def test_a_backup_inside_the_home_holds_neither_itself_nor_an_earlier_one(
    tmp_path: Path, clock: FakeClock
) -> None:
    home = await lived_in(tmp_path / "home", clock)
    back_up(home, home / "first.zip")
    back_up(home, home / "second.zip")
    with zipfile.ZipFile(home / "second.zip") as archive:
        assert not [name for name in archive.namelist() if name.endswith((".zip", ".part"))]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no such modes")
async def test_a_backup_and_what_is_restored_are_for_their_owners_eyes(tmp_path: Path, clock: FakeClock) -> None:
    home = await lived_in(tmp_path / "home", clock)
    back_up(home, tmp_path / "b.zip", with_secrets=True)
    await restore_backup(tmp_path / "b.zip", tmp_path / "new", force=False, clock=clock)
    for path in (tmp_path / "b.zip", tmp_path / "new" / ".env", tmp_path / "new" / "journal.db"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="Windows names are text")
async def test_links_are_not_followed(tmp_path: Path, clock: FakeClock) -> None:
    home = await lived_in(tmp_path / "home", clock)
    _write(tmp_path, {"outside/private.txt": "private"})
    (home / "link").symlink_to(tmp_path / "outside", target_is_directory=True)
    (home / "file").symlink_to(tmp_path / "outside/private.txt")
    back_up(home, tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert not [name for name in archive.namelist() if name.startswith(("link", "file"))]


async def test_an_existing_file_is_replaced_only_on_demand_and_whole(tmp_path: Path, clock: FakeClock) -> None:
    home = await lived_in(tmp_path / "home", clock)
    (tmp_path / "b.zip").write_text("precious", encoding="utf-8")
    with pytest.raises(TransferError, match="exists already"):
        back_up(home, tmp_path / "b.zip")
    (home / "journal.db").write_bytes(b"no database" * 1000)
    with pytest.raises(TransferError, match="cannot be copied"):
        back_up(home, tmp_path / "b.zip", replace=True)
    assert (tmp_path / "b.zip").read_text(encoding="utf-8") == "precious"
    assert not [name for name in everything_in(tmp_path) if name.endswith(".part")]


async def test_what_cannot_be_written_is_a_sentence(tmp_path: Path, clock: FakeClock) -> None:
    home = await lived_in(tmp_path / "home", clock)
    with pytest.raises(TransferError, match="cannot be written"):
        back_up(home, tmp_path / "missing" / "b.zip")
    with pytest.raises(TransferError, match="is a folder"):
        back_up(home, tmp_path)
    with pytest.raises(TransferError, match="nothing to back up"):
        back_up(tmp_path / "no-home", tmp_path / "b.zip")


# Restoring


async def test_a_home_in_which_something_stands_is_refused_and_with_force_put_aside(
    tmp_path: Path, clock: FakeClock
) -> None:
    back_up(await lived_in(tmp_path / "home", clock), tmp_path / "b.zip", with_secrets=True)
    other = await lived_in(tmp_path / "other", clock, messages=3, word="other")
    before = everything_in(other)
    with pytest.raises(HomeError, match="it is not empty") as refused:
        await restore_backup(tmp_path / "b.zip", other, force=False, clock=clock)
    assert "--force" in str(refused.value)
    assert everything_in(other) == before

    restored = await restore_backup(tmp_path / "b.zip", other, force=True, clock=clock)
    assert restored.kept is not None
    assert texts(other / "journal.db") == [f"message {n}" for n in range(12)]
    assert texts(restored.kept / "journal.db") == ["other 0", "other 1", "other 2"]
    assert (restored.kept / "goat2.toml").read_text(encoding="utf-8") == TOML
    assert not list(other.glob("vec-*"))
    assert not (other / "restore.part").exists()


async def test_keys_of_the_home_stay_when_the_backup_has_none(tmp_path: Path, clock: FakeClock) -> None:
    back_up(await lived_in(tmp_path / "home", clock), tmp_path / "b.zip")
    other = await lived_in(tmp_path / "other", clock)
    (other / ".env").write_text("DEEPSEEK_API_KEY=mine\n", encoding="utf-8")
    await restore_backup(tmp_path / "b.zip", other, force=True, clock=clock)
    assert (other / ".env").read_text(encoding="utf-8") == "DEEPSEEK_API_KEY=mine\n"
    new = tmp_path / "new"
    await restore_backup(tmp_path / "b.zip", new, force=False, clock=clock)
    assert (new / ".env").read_text(encoding="utf-8").startswith("MODEL_NAME=small")


async def test_settings_that_the_backup_does_not_have_do_not_stay_in_force(tmp_path: Path, clock: FakeClock) -> None:
    home = await lived_in(tmp_path / "home", clock)
    (home / "goat2.toml").unlink()
    back_up(home, tmp_path / "b.zip")
    other = await lived_in(tmp_path / "other", clock)
    restored = await restore_backup(tmp_path / "b.zip", other, force=True, clock=clock)
    assert not (other / "goat2.toml").exists()
    assert restored.kept is not None
    assert (restored.kept / "goat2.toml").exists()


async def test_the_log_of_a_killed_journal_is_not_applied_to_the_restored_one(tmp_path: Path, clock: FakeClock) -> None:
    back_up(await lived_in(tmp_path / "home", clock), tmp_path / "b.zip")
    other = await lived_in(tmp_path / "other", clock, messages=2, word="other")
    async with journal_database(other, clock) as database:
        await SqlJournal(database, clock).append([NewEpisode("ana", "home", Role.USER, "in the log", NOON, "x")])
        killed = {path.name: path.read_bytes() for path in other.glob("journal.db*")}
    for name, data in killed.items():
        (other / name).write_bytes(data)
    restored = await restore_backup(tmp_path / "b.zip", other, force=True, clock=clock)
    assert texts(other / "journal.db") == [f"message {n}" for n in range(12)]
    assert restored.kept is not None
    assert texts(restored.kept / "journal.db") == ["other 0", "other 1", "in the log"]


async def test_a_damaged_home_can_be_restored(tmp_path: Path, clock: FakeClock) -> None:
    back_up(await lived_in(tmp_path / "home", clock), tmp_path / "b.zip")
    other = await lived_in(tmp_path / "other", clock)
    for name in ("journal.db", "journal.db-wal"):
        (other / name).write_bytes(b"damaged" * 999)
    restored = await restore_backup(tmp_path / "b.zip", other, force=True, clock=clock)
    assert texts(other / "journal.db") == [f"message {n}" for n in range(12)]
    assert restored.kept is not None
    for name in ("journal.db", "journal.db-wal"):
        assert (restored.kept / name).read_bytes() == b"damaged" * 999


async def test_replies_that_waited_in_the_backup_are_counted_and_never_sent(tmp_path: Path, clock: FakeClock) -> None:
    home = await lived_in(tmp_path / "home", clock)
    async with journal_database(home, clock) as database:
        answer = NewEpisode("ana", "home", Role.ASSISTANT, "an answer", NOON, "x")
        await SqlJournal(database, clock).append([answer], [NewOutgoing("ana", "home", "telegram", "an answer")])
        outbox = SqlOutbox(database, clock)
        notice = await outbox.put(NewOutgoing("bob", "away", "telegram", "a notice"))
        await outbox.mark(notice.id, Part(0, PartState.SENDING, 7))
        sent = await outbox.put(NewOutgoing("bob", "away", "telegram", "long delivered"))
        await outbox.done([sent.id])
        await outbox.keep_preview("telegram", "ana", "home", Preview("turn", 8))
    back_up(home, tmp_path / "b.zip")
    began, new = clock.now() - timedelta(seconds=1), tmp_path / "new"
    restored = await restore_backup(tmp_path / "b.zip", new, force=False, clock=clock)
    assert (restored.messages, restored.unsent) == (13, 2)
    assert texts(new / "journal.db")[-1] == "an answer"
    async with journal_database(new, clock) as database:
        outbox = SqlOutbox(database, clock)
        assert await outbox.waiting("telegram") == []
        ended = await outbox.undelivered("telegram", began)
        assert [(one.owner, one.outcome) for one in ended] == [("bob", Outcome.UNKNOWN), ("ana", Outcome.UNKNOWN)]
        assert {one.reason for one in ended} == {
            "it waited in a backup that was restored, and may have been sent after that was made"
        }
        assert await outbox.preview("telegram", "ana", "home") is None
    async with journal_database(home, clock) as database:
        assert len(await SqlOutbox(database, clock).waiting("telegram")) == 2


async def test_a_home_in_use_is_not_restored(tmp_path: Path, clock: FakeClock) -> None:
    home = await lived_in(tmp_path / "home", clock)
    back_up(home, tmp_path / "b.zip")
    async with HomeFolder(home):
        with pytest.raises(HomeInUse):
            await restore_backup(tmp_path / "b.zip", home, force=True, clock=clock)


def rewritten(backup: Path, change: Callable[[dict[str, Any]], None], members: dict[str, bytes | None]) -> None:
    """The backup with another list of contents, and with members replaced or (None) left out."""
    with zipfile.ZipFile(backup) as archive:
        inside: dict[str, bytes | None] = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(inside.pop(MANIFEST) or b"")
    change(manifest)
    inside |= members
    with zipfile.ZipFile(backup, "w") as archive:
        for name, data in inside.items():
            if data is not None:
                archive.writestr(name, data)
        archive.writestr(MANIFEST, json.dumps(manifest))


def _name_outside(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda manifest: manifest["files"].append({"name": name, "size": 1, "sha256": ""})


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-400]), "no whole backup"),
    "flipped": (lambda path: path.write_bytes(_flipped(path.read_bytes())), "no whole backup|cannot be used"),
    "no archive": (lambda path: path.write_bytes(b"hello"), "no whole backup"),
    "empty": (lambda path: path.write_bytes(b""), "no whole backup"),
    "missing": (lambda path: path.unlink(), "no such file"),
    "another archive": (lambda path: zipfile.ZipFile(path, "w").close(), "no backup of GOAT"),
    "newer": (lambda path: rewritten(path, lambda m: m.update(version=2), {}), "a newer GOAT wrote it"),
    "no list": (lambda path: rewritten(path, lambda m: m.pop("files"), {}), "list of contents"),
    "a member is gone": (lambda path: rewritten(path, dict, {"goat2.toml": None}), "goat2.toml is missing"),
    "a member is another": (lambda path: rewritten(path, dict, {"goat2.toml": b"x"}), "is not what was backed up"),
    "no journal": (lambda path: rewritten(path, lambda m: m.update(files=[]), {}), "holds no journal"),
    "fewer messages": (lambda path: rewritten(path, lambda m: m.update(messages=13), {}), "should hold 13"),
    "outside": (lambda path: rewritten(path, _name_outside("../evil"), {"../evil": b"x"}), "no name for a file"),
    "absolute": (lambda path: rewritten(path, _name_outside("/evil"), {"/evil": b"x"}), "no name for a file"),
    "windows": (lambda path: rewritten(path, _name_outside("..\\evil"), {"..\\evil": b"x"}), "no name for a file"),
    "the lock": (lambda path: rewritten(path, _name_outside("goat.lock"), {"goat.lock": b"x"}), "no name for a file"),
}


def _flipped(data: bytes) -> bytes:
    place = data.index(b"journal.db") + 3000
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]


@pytest.mark.parametrize(("damage", "told"), DAMAGE.values(), ids=DAMAGE.keys())
async def test_memory_30_a_backup_that_is_not_whole_touches_nothing(
    tmp_path: Path, clock: FakeClock, damage: Callable[[Path], object], told: str
) -> None:
    back_up(await lived_in(tmp_path / "home", clock), tmp_path / "b.zip")
    other = await lived_in(tmp_path / "other", clock, messages=3, word="other")
    before = everything_in(other)
    damage(tmp_path / "b.zip")
    with pytest.raises(TransferError, match=told):
        await restore_backup(tmp_path / "b.zip", other, force=True, clock=clock)
    assert everything_in(other) == before
    assert not (tmp_path / "evil").exists()


async def test_a_journal_of_an_unknown_revision_is_refused_with_the_way_out(tmp_path: Path, clock: FakeClock) -> None:
    home = await lived_in(tmp_path / "home", clock)
    with closing(sqlite3.connect(home / "journal.db")) as journal, journal:
        journal.execute("UPDATE alembic_version SET version_num = '9999'")
    back_up(home, tmp_path / "b.zip")
    with pytest.raises(TransferError, match="Update GOAT"):
        await restore_backup(tmp_path / "b.zip", tmp_path / "new", force=False, clock=clock)


async def test_a_restore_that_was_killed_while_unpacking_is_begun_anew(tmp_path: Path, clock: FakeClock) -> None:
    back_up(await lived_in(tmp_path / "home", clock), tmp_path / "b.zip")
    new = tmp_path / "new"
    _write(new, {"restore.part/journal.db": "half"})
    os.utime(new)
    assert (await restore_backup(tmp_path / "b.zip", new, force=False, clock=clock)).messages == 12
    assert not (new / "restore.part").exists()
