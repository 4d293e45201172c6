"""The command line as a person and a script meet it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from goat.cli import exits
from goat.cli.main import run

HEAD = (
    "my wifi password is BlueHeron-42\n"
    "Pisica mea se numește Zmeura\n"
    "妹の誕生日は九月十二日です\n"
)  # fmt: skip


def goat(*arguments: str, home: Path, stdin: bytes = b"", env: dict[str, str] | None = None):  # type: ignore[no-untyped-def]
    """A whole process; its standard input is a pipe."""
    return subprocess.run(
        [sys.executable, "-m", "goat", *arguments, "--home", str(home)],
        input=stdin,
        capture_output=True,
        env={**os.environ, **(env or {})},
        timeout=60,
        check=False,
    )


def test_the_main_job_three_languages_quoted_with_their_dates_by_new_processes(tmp_path: Path) -> None:
    told = goat("chat", home=tmp_path, stdin=HEAD.encode())
    assert told.returncode == 0, told.stderr
    questions = {
        "what is the wifi password?": "> my wifi password is BlueHeron-42",
        "cum o cheama pe pisica mea?": "> Pisica mea se numește Zmeura",
        "妹の誕生日はいつ？": "> 妹の誕生日は九月十二日です",
    }
    for question, quote in questions.items():
        answer = goat("ask", question, home=tmp_path).stdout.decode()
        assert quote in answer.splitlines()
        assert (", ai spus:" if question.startswith("cum") else ", you said:") in answer  # those it has words for
    honest = goat("ask", "What is the capital gains tax rate in Peru?", home=tmp_path).stdout.decode()
    assert "Nothing found in memory about that." in honest
    assert ">" not in honest


def test_the_hint_about_the_missing_model_is_given_once(tmp_path: Path) -> None:
    first = goat("chat", home=tmp_path, stdin=b"one thing\nanother thing\n").stdout.decode()
    assert first.count("run.sh setup") == 1
    assert "run.sh setup" not in goat("ask", "a third thing", home=tmp_path).stdout.decode()


def test_search_status_and_their_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ("--home", str(tmp_path))
    assert run(["ask", "the blue boat lies in Sulina", *home]) == exits.OK
    capsys.readouterr()
    assert run(["search", "boat", "--json", *home]) == exits.OK
    found = json.loads(capsys.readouterr().out)
    assert found["results"][0]["text"] == "the blue boat lies in Sulina"
    assert run(["search", "boat", "--explain", *home]) == exits.OK
    shown = capsys.readouterr().out
    assert "the blue boat lies in Sulina" in shown
    assert "score" in shown
    assert run(["status", "--json", *home]) == exits.OK
    state = json.loads(capsys.readouterr().out)
    assert (state["messages"], state["word_index_behind"], state["model"]) == (2, 0, "offline")


def test_f_b20_owners_do_not_meet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ("--home", str(tmp_path))
    run(["ask", "my secret is heliotrope", "--owner", "ana", *home])
    capsys.readouterr()
    run(["search", "secret heliotrope", "--owner", "bob", *home])
    assert "heliotrope" not in capsys.readouterr().out


def test_reindex_builds_both_indexes_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ("--home", str(tmp_path))
    run(["ask", "the blue boat lies in Sulina", *home])
    with sqlite3.connect(tmp_path / "journal.db") as damaged:
        damaged.execute("DELETE FROM post")
    for vectors in tmp_path.glob("vec-*"):
        vectors.write_bytes(b"not a vector")
    capsys.readouterr()
    assert run(["reindex", *home]) == exits.OK
    assert "hold everything" in capsys.readouterr().out
    run(["search", "boat", *home])
    assert "the blue boat lies in Sulina" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", exits.FAILED), ("   ", exits.FAILED)],
)
def test_an_empty_message_is_refused_with_a_sentence(
    text: str, expected: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ask", text, "--home", str(tmp_path)]) == expected
    assert "The message is empty." in capsys.readouterr().err


def test_a_pipe_with_blank_lines_nul_and_invalid_utf8_is_kept_with_replacements(tmp_path: Path) -> None:
    told = goat("chat", home=tmp_path, stdin=b"\n   \nnul \x00 here\nlatin \xe9 here\n")
    assert told.returncode == 0
    assert told.stderr.decode().count("were replaced") == 2
    found = json.loads(goat("search", "here", "--json", home=tmp_path).stdout)
    texts = {result["text"] for result in found["results"]}
    assert {"nul \ufffd here", "latin \ufffd here"} <= texts


def test_a_message_of_a_megabyte_is_kept_whole(tmp_path: Path) -> None:
    text = "boat " * 200_000
    told = goat("chat", home=tmp_path, stdin=f"{text}\nsecond\n".encode())
    assert told.returncode == 0, told.stderr
    with sqlite3.connect(tmp_path / "journal.db") as journal:
        (longest,) = journal.execute("SELECT max(length(text)) FROM episode").fetchone()
    assert longest == len(text)


def test_an_unknown_setting_is_named_with_the_nearest_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "goat2.toml").write_text("[aits]\nbudget_bse = 2\n", encoding="utf-8")
    assert run(["status", "--home", str(tmp_path)]) == exits.USAGE
    told = capsys.readouterr().err
    assert "budget_bse" in told
    assert "budget_base" in told


def test_broken_settings_are_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "goat2.toml").write_text("[aits\n", encoding="utf-8")
    assert run(["status", "--home", str(tmp_path)]) == exits.USAGE
    assert "goat2.toml" in capsys.readouterr().err


def test_a_broken_journal_is_a_sentence_that_offers_the_backup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["ask", "hello there", "--home", str(tmp_path)])
    (tmp_path / "journal.db").write_bytes(b"this is no database at all" * 400)
    for side in tmp_path.glob("journal.db-*"):
        side.unlink()
    capsys.readouterr()
    assert run(["status", "--home", str(tmp_path)]) == exits.FAILED
    told = capsys.readouterr().err
    assert "damaged" in told
    assert "backups" in told


def test_a_home_that_is_a_file_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    assert run(["status", "--home", str(file)]) == exits.HOME
    assert "not a folder" in capsys.readouterr().err


def test_a_home_in_use_is_said_at_once(tmp_path: Path) -> None:
    first = subprocess.Popen(
        [sys.executable, "-m", "goat", "chat", "--home", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert first.stdin
    assert first.stdout
    first.stdin.write(b"hello\n")
    first.stdin.flush()
    first.stdout.readline()
    second = goat("ask", "hello", home=tmp_path)
    first.stdin.close()
    assert first.wait(timeout=30) == 0
    first.stdout.close()
    assert second.returncode == exits.HOME
    assert "another GOAT is running in it" in " ".join(second.stderr.decode().split())


def test_unknown_commands_and_options_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["frobnicate"]) == exits.USAGE
    assert run(["ask", "hi", "--frob"]) == exits.USAGE
    assert "Traceback" not in capsys.readouterr().err


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == exits.OK
    assert "reindex" in capsys.readouterr().out
    assert run(["--version"]) == exits.OK
    assert capsys.readouterr().out.startswith("goat ")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to handle")
@pytest.mark.parametrize(("sent", "expected"), [(signal.SIGTERM, exits.TERMINATED), (signal.SIGINT, exits.INTERRUPTED)])
def test_a_signal_in_a_turn_ends_in_order_and_keeps_the_message(
    sent: signal.Signals, expected: int, tmp_path: Path
) -> None:
    with _silent_endpoint() as url:
        env = {"BASE_URL": url, "MODEL_NAME": "silent", "GOAT_MODEL__PROVIDER": "other"}
        running = subprocess.Popen(
            [sys.executable, "-m", "goat", "ask", "remember the signal", "--home", str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **env},
        )
        _wait_for_message(tmp_path / "journal.db", running)
        running.send_signal(sent)
        _, err = running.communicate(timeout=30)
    assert running.returncode == expected, err
    assert b"Traceback" not in err
    found = json.loads(goat("search", "signal", "--json", home=tmp_path).stdout)
    assert [result["text"] for result in found["results"]] == ["remember the signal"]


def _wait_for_message(journal: Path, running: subprocess.Popen[bytes]) -> None:
    """Until the message stands in the journal, then a moment more so that the model call has begun."""
    import time

    for _ in range(300):
        assert running.poll() is None
        try:
            with sqlite3.connect(f"file:{journal}?mode=ro", uri=True) as db:
                if db.execute("SELECT count(*) FROM episode").fetchone()[0]:
                    time.sleep(1.5)
                    return
        except sqlite3.OperationalError:
            pass
        time.sleep(0.05)
    raise AssertionError("the message never reached the journal")


class _silent_endpoint:
    """A server that accepts connections and never answers."""

    def __enter__(self) -> str:
        import socket

        self._socket = socket.create_server(("127.0.0.1", 0))
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def __exit__(self, *raised: object) -> None:
        self._socket.close()


def test_options_before_the_command_count(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "goat", "--home", str(tmp_path), "--owner", "ana"]
    subprocess.run([*command, "ask", "the key is under the pot"], check=True, capture_output=True, timeout=60)
    found = subprocess.run([*command, "search", "key", "--json"], check=True, capture_output=True, timeout=60)
    assert json.loads(found.stdout)["results"][0]["text"] == "the key is under the pot"
    nobody = goat("search", "key", "--json", home=tmp_path)
    assert json.loads(nobody.stdout)["results"] == []


def test_an_output_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("only Linux has /dev/full")
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "goat", "status", "--json", "--home", str(tmp_path)]
        told = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert told.returncode == exits.FAILED
    assert b"cannot be written" in told.stderr


def test_a_correction_is_known_in_the_next_question(tmp_path: Path) -> None:
    said = ("my wifi password is BlueHeron-42", "I like tea", "my wifi password is now RedFalcon-77")
    asked = "\n".join([*said, "what is my wifi password?", ""])
    shown = goat("chat", home=tmp_path, stdin=asked.encode()).stdout.decode()
    last = shown.rpartition("From memory:")[2]
    assert last.index("RedFalcon-77") < last.index("BlueHeron-42")


def test_an_index_without_its_journal_is_no_empty_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["ask", "hello there", "--home", str(tmp_path)])
    for file in tmp_path.glob("journal.db*"):
        file.unlink()
    capsys.readouterr()
    assert run(["status", "--home", str(tmp_path)]) == exits.HOME
    assert "goat restore" in capsys.readouterr().err
