"""Two processes on one data folder: looking things up works beside the one that writes, a second writer is refused."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from goat.adapters.home_folder import HomeFolder
from goat.app import App, open_app, open_reading
from goat.cli import exits
from goat.cli.main import run
from goat.errors import BackendUnavailable, HomeInUse
from goat.records.episodes import Incoming, NewEpisode, Role
from goat.records.turns import Notice
from goat.retrieval.passages import split_passages
from goat.settings import Settings

SAID = "the blue boat lies in Sulina"


def _quiet(notice: Notice) -> None:
    return


@pytest.fixture
def chatting(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A GOAT that works in the folder: it has answered one message and waits for the next."""
    command = [sys.executable, "-m", "goat", "chat", "--home", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        tell(child, SAID)
        yield child
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(timeout=90) == 0


def send(child: subprocess.Popen[bytes], text: str) -> None:
    assert child.stdin is not None
    child.stdin.write(text.encode() + b"\n")
    child.stdin.flush()


def tell(child: subprocess.Popen[bytes], text: str) -> None:
    """Send the first message and wait for the reply to it, which is committed when it is shown."""
    send(child, text)
    assert child.stdout is not None
    while line := child.stdout.readline():
        if line.strip():
            return
    raise AssertionError("the child ended without a reply")


READING = {
    ("search", "where is the boat?", "--json"): SAID,
    ("memory", "recent", "--json"): SAID,
    ("memory", "show", "1"): SAID,
    ("memory", "facts", "--json"): '"facts": []',
    ("memory", "topics", "--json"): SAID,
    ("memory", "digest"): "Messages: 2",
    ("status", "--json"): '"messages": 2',
    ("stats", "--json"): '"turns": 1',
    ("usage", "--json"): '"days": []',
    ("when", "yesterday at noon"): "yesterday at noon",
    ("export", "-"): SAID,
}
WRITING = (
    ("ask", "and the green one?"),
    ("memory", "set", "boat", "blue"),
    ("memory", "forget", "boat", "--yes"),
)


@pytest.mark.timeout(300)
def test_telegram_h10_reads_work_beside_a_running_process_and_a_second_writer_is_refused(
    chatting: subprocess.Popen[bytes], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for command, shown in READING.items():
        code = run([*command, "--home", str(tmp_path)])
        out, err = capfdbinary.readouterr()
        assert (code, err) == (exits.OK, b"") or command[0] == "export", (command, err)
        assert shown in out.decode(), command
    for command in WRITING:
        assert run([*command, "--home", str(tmp_path)]) == exits.HOME, command
        told = capfdbinary.readouterr().err.decode()
        assert "another GOAT is running in it" in told
        assert "--home" in told
    send(chatting, "the green boat lies in Tulcea")
    texts: list[str] = []
    gives_up = time.monotonic() + 90
    while len(texts) < 4 and time.monotonic() < gives_up:  # until what the other process goes on to write is seen
        assert run(["memory", "recent", "--json", "--home", str(tmp_path)]) == exits.OK
        texts = [message["text"] for message in json.loads(capfdbinary.readouterr().out)["messages"]]
    assert (texts[0], texts[2]) == (SAID, "the green boat lies in Tulcea")


async def say(app: App, text: str) -> None:
    await app.orchestrator.run(Incoming("admin", "home", text, app.backends.clock.now(), source="test"))
    await app.settled()


def written(home: Path) -> dict[str, bytes]:
    """The files of a home and what they hold, without the side files of the database and the lock."""
    kept = (path for path in home.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm", ".lock")))
    return {str(path.relative_to(home)): path.read_bytes() for path in kept}


async def found(app: App, query: str) -> list[str]:
    recall = await app.memory.search("admin", query, app.backends.clock.now(), 5)
    assert not recall.lost
    return [result.episode.text for result in recall.results]


async def test_beside_another_process_nothing_is_written_and_what_the_indexes_lack_is_only_not_found_yet(
    tmp_path: Path,
) -> None:
    async with open_app(Settings(), tmp_path, _quiet) as app:
        await say(app, SAID)
        text = "the harbour of Sulina is small"
        late = NewEpisode(
            "admin", "home", Role.USER, text, app.backends.clock.now(), "x", passages=split_passages(text)
        )
        await app.backends.journal.append([late], [], {})
    before = written(tmp_path)
    async with HomeFolder(tmp_path), open_reading(Settings(), tmp_path, _quiet) as app:
        assert SAID in await found(app, "where is the blue boat?")
        assert (await app.overview.recent("admin", 1))[0].text == late.text
        with pytest.raises(BackendUnavailable, match="open for reading only"):
            await app.facts.promote("admin", "boat", "blue")
        with pytest.raises(BackendUnavailable, match="open for reading only"):
            await say(app, "hello")
    assert written(tmp_path) == before
    async with open_reading(Settings(), tmp_path, _quiet) as app:  # nobody works in it: it is brought up to date
        assert late.text in await found(app, "how small is the harbour?")


async def test_a_folder_without_a_journal_is_made_and_while_another_makes_it_that_is_told(tmp_path: Path) -> None:
    async with HomeFolder(tmp_path):
        with pytest.raises(HomeInUse):
            async with open_reading(Settings(), tmp_path, _quiet):
                pass
    async with open_reading(Settings(), tmp_path, _quiet) as app:
        assert await found(app, "anything") == []
