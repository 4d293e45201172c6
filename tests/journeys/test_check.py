"""A home that is damaged in one way or another: `goat check` names it, and with --fix it is mended."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from goat.app import open_app
from goat.cli.main import run
from goat.settings import Settings
from goat.testing.app import say

SAID = ("the blue boat lies in Sulina", "Pisica mea se numește Zmeura", "妹の誕生日は九月十二日です")


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def goat(home: Path, *arguments: str) -> Done:
    """A command, run in this process."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = run([*arguments, "--home", str(home)])
    return Done(code, out.getvalue(), err.getvalue())


async def lived(home: Path) -> None:
    async with open_app(Settings(), home, lambda _notice: None) as app:
        for text in SAID:
            await say(app, text)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("whole") / "home"
    asyncio.run(lived(home))
    return home


def sql(*statements: str) -> Callable[[Path], None]:
    def damage(home: Path) -> None:
        with closing(sqlite3.connect(home / "journal.db", isolation_level=None)) as journal:
            for statement in statements:
                journal.execute(statement)

    return damage


def vector_file(home: Path) -> Path:
    [path] = home.glob("vec-*.i8")
    return path


def change_a_code(home: Path) -> None:
    data = bytearray(vector_file(home).read_bytes())
    data[:200] = bytes(200)
    vector_file(home).write_bytes(data)


def garbage(home: Path) -> None:
    vector_file(home).write_bytes(bytes([7]) * 1000)


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "postings are lost": (sql("DELETE FROM post"), "word index"),
    "passages are not filed": (sql("DELETE FROM docmeta", "DELETE FROM label"), "word index"),
    "a term is lost": (
        sql("DELETE FROM term WHERE id IN (SELECT id FROM term ORDER BY length(t) DESC LIMIT 6)"),
        "word index",
    ),
    "passages are filed under another chat": (sql("UPDATE label SET t = t || 'x' WHERE t <> ''"), "word index"),
    "a use of no message": (
        sql("INSERT INTO recalled (owner_id, episode_id, count, last) VALUES (1, 777, 1, 0)"),
        "uses",
    ),
    "a message to enrich that is none": (sql("INSERT INTO to_enrich (episode_id) VALUES (777)"), "enrichment"),
    "a kept vector is lost": (sql("DELETE FROM emb WHERE ord = 0"), "kept vectors"),
    "a vector without a passage": (
        sql("INSERT INTO emb SELECT owner_id, model_id, 999, v FROM emb WHERE ord = 0"),
        "vectors",
    ),
    "the change counter is low": (sql("UPDATE counter SET value = 1"), "changes counter"),
    "the passage counter is low": (sql("UPDATE owner SET next_ord = 0"), "passage counter"),
    "a passage without a message": (
        sql('INSERT INTO passage (owner_id, ord, episode_id, part, start, "end") VALUES (1, 500, 777, 0, 0, 1)'),
        "passages",
    ),
    "a span beyond its text": (sql('UPDATE passage SET "end" = 9999 WHERE ord = 0'), "passage spans"),
    "an index ahead of the journal": (sql("UPDATE follower SET cursor = 9999"), "index cursors"),
    "vectors ahead of the journal": (sql("UPDATE emb_model SET cursor = 9999"), "vector cursors"),
    "a thread that cannot be read": (sql("UPDATE kv SET body = '{' WHERE key LIKE 'activation:%'"), "working store"),
    "a conversation that cannot be read": (sql("UPDATE listing SET body = 'x'"), "working store"),
    "a fact that ends before it begins": (
        sql("INSERT INTO fact (owner_id, key, value, since, \"until\") VALUES (1, 'a', 'b', 100, 1)"),
        "fact times",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a40_a_damaged_home_is_named_and_mended(damage: str, whole: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(whole, home)
    hurt, where = DAMAGES[damage]
    hurt(home)
    checked = goat(home, "check", "--fix", "--json")
    report = json.loads(checked.out)
    assert where in {fault["where"] for fault in report["found"]}, report
    assert report["left"] == []
    assert checked.code == 0
    assert json.loads(goat(home, "search", SAID[1], "--json").out)["results"][0]["text"] == SAID[1]


@pytest.mark.parametrize("damage", [change_a_code, garbage, lambda home: vector_file(home).unlink()])
def test_a_damaged_vector_file_is_made_anew_when_it_is_opened(
    damage: Callable[[Path], None], whole: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(whole, home)
    before = vector_file(home).read_bytes()
    damage(home)
    assert goat(home, "check").code == 0
    assert vector_file(home).read_bytes().rstrip(bytes(1)) == before.rstrip(bytes(1))


def test_a_damaged_database_is_named_with_the_way_out(whole: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(whole, home)
    data = bytearray((home / "journal.db").read_bytes())
    data[-4096 * 3 :] = bytes([3]) * 4096 * 3
    (home / "journal.db").write_bytes(data)
    checked = goat(home, "check", "--fix")
    assert checked.code != 0
    assert "Traceback" not in checked.err
    assert "backups" in checked.out + checked.err


def test_a_whole_home_has_no_fault(whole: Path) -> None:
    checked = goat(whole, "check")
    assert (checked.code, checked.out) == (
        0,
        "Everything is as it must be: the indexes hold what the journal holds.\n",
    )
