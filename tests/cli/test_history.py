"""`goat import`, `export`, `backup` and `restore` as a person and a script meet them."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.history_file import HistoryLimits
from goat.adapters.journal import SqlOutbox, journal_database
from goat.cli import exits
from goat.cli.main import run
from goat.records.episodes import NewOutgoing
from goat.testing.clock import FakeClock
from goat.testing.telegram_export import write_telegram_export

Captured = pytest.CaptureFixture[str]

GROUP = {
    "name": "Family",
    "type": "private_group",
    "id": 15,
    "messages": [
        {"id": n, "type": "message", "date": "2020-01-01T09:00:00", "from": who, "from_id": f"user{who}", "text": text}
        for n, (who, text) in enumerate([("Ana", "the boat is blue"), ("Bob", "the car is red"), ("Ana", "yes")])
    ],
}


@pytest.fixture
def home(tmp_path: Path) -> tuple[str, str]:
    return ("--home", str(tmp_path / "home"))


def write(path: Path, content: object) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def episodes(home: tuple[str, str], columns: str = "text, speaker") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(Path(home[1]) / "journal.db")) as journal:
        return journal.execute(f"SELECT {columns} FROM episode ORDER BY id").fetchall()


def goat(*arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """A whole process; its standard streams are pipes."""
    environ = {**os.environ, **(env or {})}
    command = [sys.executable, "-m", "goat", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, env=environ, timeout=90, check=False)


# Importing


def test_an_import_in_a_pipe_says_one_line_and_its_repetition_says_that_nothing_is_new(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    facts = write_telegram_export(tmp_path / "result.json", 700, seed=1, archive=True)
    assert run(["import", str(tmp_path / "result.json"), *home]) == exits.OK
    told = capsys.readouterr()
    start = f"Imported {facts.records} messages of 4 chats from the Telegram export result.json for admin, "
    assert told.out.startswith(start)
    assert (told.out.count("\n"), told.err) == (1, "")
    assert run(["import", str(tmp_path / "result.json"), *home]) == exits.OK
    nothing = f"Nothing new from the Telegram export result.json for admin ({facts.records} were there already).\n"
    assert capsys.readouterr().out == nothing
    assert len(episodes(home)) == facts.records


def test_an_imported_message_is_found_by_a_question_while_no_vector_is_made(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    facts = write_telegram_export(tmp_path / "result.json", 600, seed=2)
    run(["import", str(tmp_path / "result.json"), *home])
    with closing(sqlite3.connect(Path(home[1]) / "journal.db")) as journal:
        assert journal.execute("SELECT count(*) FROM emb").fetchone() == (0,)
    capsys.readouterr()
    run(["ask", f"What is the code of {facts.planted[0].ask}?", *home])
    assert facts.planted[0].text in capsys.readouterr().out


def test_with_wait_every_passage_has_its_vector_and_status_shows_it(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    write_telegram_export(tmp_path / "result.json", 40, seed=2)
    run(["import", str(tmp_path / "result.json"), "--wait", *home])
    capsys.readouterr()
    run(["status", "--json", *home])
    state = json.loads(capsys.readouterr().out)
    assert state["passages_with_vectors"] == state["passages"] > 0


def test_without_wait_status_shows_how_far_the_vectors_are(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    facts = write_telegram_export(tmp_path / "result.json", 3_000, seed=2)
    run(["import", str(tmp_path / "result.json"), *home])
    capsys.readouterr()
    run(["status", "--json", *home])
    state = json.loads(capsys.readouterr().out)
    assert (state["messages"], state["word_index_behind"]) == (facts.records, 0)
    assert state["passages_with_vectors"] < state["passages"]
    assert state["meaning_index_behind"] > 0


def test_who_is_the_owner_is_an_error_in_a_pipe_and_me_answers_it(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    path = write(tmp_path / "group.json", GROUP)
    assert run(["import", path, *home]) == exits.FAILED
    told = capsys.readouterr().err
    assert "does not tell which of its senders you are" in told
    assert "Ana (2 messages), Bob (1 message)" in told
    assert "--me" in told
    assert episodes(home) == []
    assert run(["import", path, "--me", "bob", *home]) == exits.OK
    assert episodes(home) == [("the boat is blue", "Ana"), ("the car is red", ""), ("yes", "Ana")]


def test_memory_11_with_an_empty_me_all_words_stay_those_of_others(tmp_path: Path, home: tuple[str, str]) -> None:
    assert run(["import", write(tmp_path / "group.json", GROUP), "--me", "", *home]) == exits.OK
    assert {speaker for _, speaker in episodes(home)} == {"Ana", "Bob"}


def test_a_wrong_name_lists_those_that_there_are(tmp_path: Path, home: tuple[str, str], capsys: Captured) -> None:
    assert run(["import", write(tmp_path / "group.json", GROUP), "--me", "Zoë", *home]) == exits.FAILED
    assert "nobody in it is called Zoë" in capsys.readouterr().err


def test_f_b20_an_import_belongs_to_its_owner(tmp_path: Path, home: tuple[str, str], capsys: Captured) -> None:
    run(["import", write(tmp_path / "group.json", GROUP), "--me", "Ana", "--owner", "ana", *home])
    capsys.readouterr()
    run(["search", "boat", *home])
    assert "Nothing found" in capsys.readouterr().out
    run(["search", "boat", "--owner", "ana", *home])
    assert "the boat is blue" in capsys.readouterr().out


# What bad input gets

NO_HISTORY: dict[str, tuple[object, str]] = {
    "empty": ("", "it is empty"),
    "other json": ({"a": 1}, "its format is not known"),
    "no json": ("just words", "its format is not known"),
    "html": ("<!DOCTYPE html><html>", "Machine-readable JSON"),
    "truncated": (json.dumps(GROUP)[:-30], "the JSON breaks near byte"),
    "bad date": ({**GROUP, "messages": [{**GROUP["messages"][0], "date": "soon"}]}, "message 0 of the chat 'Family'"),  # type: ignore[dict-item,index]
    "bad line": ('{"text": "x", "at": 1}\n{"text": "x", "at": "soon"}\n', "at record 2: line 2: its date 'soon'"),
}


@pytest.mark.parametrize(("content", "told"), NO_HISTORY.values(), ids=NO_HISTORY.keys())
def test_memory_30_bad_input_is_a_sentence_with_file_and_record_and_nothing_is_imported(
    tmp_path: Path, home: tuple[str, str], capsys: Captured, content: object, told: str
) -> None:
    path = write(tmp_path / "result.json", content)
    assert run(["import", path, "--me", "", *home]) == exits.FAILED
    err = capsys.readouterr().err
    assert told in err
    assert path in err
    assert "Traceback" not in err
    assert not (Path(home[1]) / "journal.db").exists() or episodes(home) == []


def test_a_folder_a_missing_file_and_a_bomb_are_sentences(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    write(tmp_path / "result.json", GROUP)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("result.json", b" " * (HistoryLimits().ratio_from + 1))
    cases = {
        str(tmp_path): f"Name the file inside: {tmp_path / 'result.json'}",
        str(tmp_path / "missing.json"): "there is no such file",
        str(tmp_path / "bomb.zip"): "would unpack",
    }
    for path, told in cases.items():
        assert run(["import", path, *home]) == exits.FAILED
        assert told in capsys.readouterr().err


def test_with_skip_bad_the_rest_comes_and_the_first_ten_are_named(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    good, bad = '{"text": "good %d", "at": 1}\n', '{"text": "bad", "at": "soon"}\n'
    path = write(tmp_path / "notes.jsonl", "".join(good % n + bad for n in range(12)))
    assert run(["import", path, "--skip-bad", *home]) == exits.OK
    told = capsys.readouterr()
    assert "Imported 12 messages" in told.out
    assert "12 records were left out:" in told.err
    assert told.err.count("its date 'soon'") == 10
    assert "record 20: line 20" in told.err
    assert "… and 2 more" in told.err


def test_a_file_of_which_nothing_can_be_read_is_a_failure_also_with_skip_bad(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    path = write(tmp_path / "notes.jsonl", '{"text": "bad", "at": "soon"}\n')
    assert run(["import", path, "--skip-bad", *home]) == exits.FAILED
    assert "1 record was left out:" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["a '\"$`;.json", "ночь \u202e.json", "-start.json", "line\nbreak.json", "[red]x.json"]
)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
def test_odd_characters_in_a_path_do_no_harm(
    tmp_path: Path, home: tuple[str, str], capsys: Captured, name: str
) -> None:
    path = write(tmp_path / name, GROUP)
    assert run(["import", path, "--me", "Ana", *home]) == exits.OK
    told = capsys.readouterr().out
    assert "Imported 3 messages" in told
    assert told.rstrip("\n").isprintable()
    assert run(["export", str(tmp_path / f"out {name}l"), *home]) == exits.OK
    assert run(["backup", str(tmp_path / f"out {name}.zip"), *home]) == exits.OK
    assert run(["restore", str(tmp_path / f"out {name}.zip"), "--home", str(tmp_path / f"new {name}")]) == exits.OK


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep names that are text")
def test_a_path_that_is_no_text_is_told_as_escapes(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.json"
    told = subprocess.run(
        [sys.executable, "-m", "goat", "import", path, "--home", str(tmp_path / "home")],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert told.returncode == exits.FAILED
    assert rb"caf\udce9.json" in told.stderr
    assert b"there is no such file" in told.stderr


def test_a_home_in_use_is_said_before_anything_is_read(tmp_path: Path, home: tuple[str, str], capsys: Captured) -> None:
    from filelock import FileLock

    Path(home[1]).mkdir()
    with FileLock(Path(home[1]) / "goat.lock"):
        assert run(["import", write(tmp_path / "group.json", GROUP), "--me", "", *home]) == exits.HOME
        assert "another GOAT is running" in capsys.readouterr().err
        run(["restore", write(tmp_path / "b.zip", "x"), *home])
        assert "no whole backup" in capsys.readouterr().err


# Exporting


def test_an_export_imported_into_a_new_home_makes_an_equal_one(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    write_telegram_export(tmp_path / "result.json", 500, seed=3, archive=True)
    run(["import", str(tmp_path / "result.json"), *home])
    run(["ask", "my boat is called Zmeura", *home])
    assert run(["export", str(tmp_path / "all.jsonl"), *home]) == exits.OK
    new = ("--home", str(tmp_path / "new"))
    assert run(["import", str(tmp_path / "all.jsonl"), *new]) == exits.OK
    told = "uid, role, speaker, text, at, exchange_id, topic_id, tags, source, key, meta"
    assert episodes(new, told) == episodes(home, told)
    capsys.readouterr()
    run(["export", str(tmp_path / "again.jsonl"), *new])
    first, second = ((tmp_path / name).read_text("utf-8").splitlines() for name in ("all.jsonl", "again.jsonl"))
    assert first[1:] == second[1:]


def test_an_export_to_standard_output_is_nothing_but_lines_of_json(tmp_path: Path, home: tuple[str, str]) -> None:
    run(["import", write(tmp_path / "notes.jsonl", '{"text": "ночь 🐐", "at": 1}\n'), *home])
    told = goat("export", "-", *home, env={"PYTHONIOENCODING": "ascii"})
    assert told.returncode == 0, told.stderr
    header, line = (json.loads(one) for one in told.stdout.decode("utf-8").splitlines())
    assert (header["format"], header["owner"], line["text"]) == ("goat-history", "admin", "ночь 🐐")
    assert b"Exported 1 messages" in told.stderr


def test_an_export_does_not_replace_a_file_unasked(tmp_path: Path, home: tuple[str, str], capsys: Captured) -> None:
    run(["import", write(tmp_path / "notes.jsonl", '{"text": "a", "at": 1}\n'), *home])
    target = write(tmp_path / "all.jsonl", "precious")
    assert run(["export", target, *home]) == exits.FAILED
    assert "it exists already" in capsys.readouterr().err
    assert Path(target).read_text("utf-8") == "precious"
    assert run(["export", target, "--force", *home]) == exits.OK
    assert "goat-history" in Path(target).read_text("utf-8")


def test_an_owner_of_whom_there_is_nothing_is_told_with_those_that_there_are(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    run(["import", write(tmp_path / "notes.jsonl", '{"text": "a", "at": 1}\n'), "--owner", "ana", *home])
    assert run(["export", str(tmp_path / "all.jsonl"), "--owner", "anna", *home]) == exits.FAILED
    assert "there is nothing of anna to export. Known: ana." in capsys.readouterr().err
    assert not (tmp_path / "all.jsonl").exists()


def test_all_owners_go_out_and_come_in_as_they_were(tmp_path: Path, home: tuple[str, str], capsys: Captured) -> None:
    for owner in ("ana", "bob"):
        line = json.dumps({"text": f"the word of {owner}", "at": 1})
        run(["import", write(tmp_path / f"{owner}.jsonl", line + "\n"), "--owner", owner, *home])
    run(["export", str(tmp_path / "all.jsonl"), "--all-owners", *home])
    new = ("--home", str(tmp_path / "new"))
    capsys.readouterr()
    assert run(["import", str(tmp_path / "all.jsonl"), *new]) == exits.FAILED
    assert "it holds nothing of admin" in capsys.readouterr().err
    assert run(["import", str(tmp_path / "all.jsonl"), "--owner", "bob", *new]) == exits.OK
    assert "1 of other owners were left out" in capsys.readouterr().out
    assert episodes(new, "text") == [("the word of bob",)]
    assert run(["import", str(tmp_path / "all.jsonl"), "--all-owners", *new]) == exits.OK
    run(["search", "word", "--owner", "ana", *new])
    assert "the word of ana" in capsys.readouterr().out


# Backing up


def test_a_restored_home_answers_by_words_and_by_meaning(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    lines = ["The cat is called Zmeura.", "We moved to Iași in spring.", "The tax office opens at nine."]
    write(tmp_path / "notes.jsonl", "".join(json.dumps({"text": text, "at": 1}) + "\n" for text in lines))
    run(["import", str(tmp_path / "notes.jsonl"), "--wait", *home])
    assert run(["backup", str(tmp_path / "b.zip"), *home]) == exits.OK
    assert "3 messages, without keys and tokens" in capsys.readouterr().out
    new = ("--home", str(tmp_path / "new"))
    assert run(["restore", str(tmp_path / "b.zip"), *new]) == exits.OK
    assert "Restored 3 messages into" in capsys.readouterr().out
    run(["search", "pet name", "--json", *new])
    found = json.loads(capsys.readouterr().out)["results"]
    assert found[0]["text"] == lines[0]
    assert any("meaning" in result["mechanisms"] for result in found)


def test_a_restore_tells_how_many_replies_are_not_sent_any_more(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    async def waits() -> None:
        clock = FakeClock()
        async with journal_database(Path(home[1]), clock) as database:
            await SqlOutbox(database, clock).put(NewOutgoing("ana", "telegram:5", "telegram", "not sent yet"))

    run(["import", write(tmp_path / "notes.jsonl", '{"text": "first", "at": 1}\n'), *home])
    new = ("--home", str(tmp_path / "new"))
    for backup, told in (("before.zip", False), ("after.zip", True)):
        run(["backup", str(tmp_path / backup), *home])
        capsys.readouterr()
        assert run(["restore", str(tmp_path / backup), "--force", *new]) == exits.OK
        assert ("Replies that waited to be sent and are not sent any more: 1." in capsys.readouterr().out) is told
        asyncio.run(waits())


def test_a_restore_into_a_home_in_which_something_stands_needs_force_and_keeps_it(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    run(["import", write(tmp_path / "notes.jsonl", '{"text": "first", "at": 1}\n'), *home])
    run(["backup", str(tmp_path / "b.zip"), *home])
    run(["import", write(tmp_path / "more.jsonl", '{"text": "second", "at": 1}\n'), *home])
    capsys.readouterr()
    assert run(["restore", str(tmp_path / "b.zip"), *home]) == exits.HOME
    assert "--force" in capsys.readouterr().err
    assert len(episodes(home)) == 2
    assert run(["restore", str(tmp_path / "b.zip"), "--force", *home]) == exits.OK
    assert "What stood there is kept in" in capsys.readouterr().out
    assert episodes(home, "text") == [("first",)]
    (kept,) = (Path(home[1]) / "backups").glob("before-restore-*")
    assert len(episodes(("--home", str(kept)))) == 2


def test_a_backup_and_a_restore_need_no_readable_settings(
    tmp_path: Path, home: tuple[str, str], capsys: Captured
) -> None:
    run(["import", write(tmp_path / "notes.jsonl", '{"text": "first", "at": 1}\n'), *home])
    (Path(home[1]) / "goat2.toml").write_text("[broken", encoding="utf-8")
    assert run(["backup", str(tmp_path / "b.zip"), *home]) == exits.OK
    assert run(["restore", str(tmp_path / "b.zip"), "--force", *home]) == exits.OK
    assert "Traceback" not in capsys.readouterr().err
