"""`goat search` narrowed to a conversation and to times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goat.cli import exits
from goat.cli.main import run

SAID = (
    ("boat", "2025-03-01T09:00:00+02:00", "The boat needs paint."),
    ("boat", "2025-03-02T09:00:00+02:00", "The boat has a hole."),
    ("home", "2025-03-02T23:30:00+02:00", "We sold the boat."),
)
PAINT, HOLE, SOLD = (text for _, _, text in SAID)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searched")
    (folder / "goat2.toml").write_text('[turn]\nzone = "Europe/Bucharest"\n', encoding="utf-8")
    history = folder / "said.jsonl"
    lines = [json.dumps({"chat": chat, "at": at, "text": text, "role": "user"}) for chat, at, text in SAID]
    history.write_text("\n".join(lines), encoding="utf-8")
    assert run(["import", str(history), "--me", "", "--home", str(folder)]) == exits.OK
    return folder


def found(home: Path, capsys: pytest.CaptureFixture[str], *options: str) -> set[str]:
    capsys.readouterr()
    assert run(["search", "boat", "--json", *options, "--home", str(home)]) == exits.OK
    return {result["text"] for result in json.loads(capsys.readouterr().out)["results"]}


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ((), {PAINT, HOLE, SOLD}),
        (("--after", "2025-03-02"), {HOLE, SOLD}),
        (("--before", "2025-03-02"), {PAINT}),
        (("--after", "2025-03-02", "--before", "2025-03-03"), {HOLE, SOLD}),
        (("--after", "2025-03-02T21:30Z"), {SOLD}),
        (("--before", "2025-03-02T21:30Z"), {PAINT, HOLE}),
        (("--after", "0001-01-01", "--before", "9999-12-31"), {PAINT, HOLE, SOLD}),
        (("--after", "2030-01-01"), set()),
    ],
)
def test_a_search_is_narrowed_to_times_of_the_persons_own_zone(
    home: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], texts: set[str]
) -> None:
    assert found(home, capsys, *options) == texts


def test_a_search_is_narrowed_to_a_conversation_before_it_is_cut_to_its_length(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["search", "boat", "--json", "--home", str(home)])
    chats = {result["text"]: result["chat"] for result in json.loads(capsys.readouterr().out)["results"]}
    assert found(home, capsys, "--chat", chats[SOLD], "-k", "1") == {SOLD}
    assert found(home, capsys, "--chat", chats[HOLE], "-k", "5", "--after", "2025-03-02") == {HOLE}
    assert found(home, capsys, "--chat", "nowhere") == set()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--after", "yesterday"), "'yesterday' is not an ISO 8601 time. Write one such as 2026-07-09 or"),
        (("--after", "2025-03-02", "--before", "2025-03-02"), "Give --after the earlier of them."),
    ],
)
def test_times_that_cannot_be_used_are_told(
    home: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], told: str
) -> None:
    capsys.readouterr()
    assert run(["search", "boat", *options, "--home", str(home)]) == exits.FAILED
    assert told in " ".join(capsys.readouterr().err.split())
