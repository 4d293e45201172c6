"""The file tools: one workspace rule, atomic writes, bounded reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from goat.errors import ToolError
from goat.plugins import files
from goat.testing.clock import FakeClock
from goat.tools import ToolContext


class Workspace:
    """A workspace beside a file that no tool may touch."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "workspace"
        self.root.mkdir()
        self.outside = tmp_path / "secret.txt"
        self.outside.write_text("the treasure")
        self.context = ToolContext("admin", "test", self.root, FakeClock(), admin=True)

    def __call__(self, name: str, **arguments: Any) -> str:
        one = getattr(files, name)
        result: str = one.handler(self.context, **one.validated(arguments))
        return result


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_what_is_written_is_read_back(work: Workspace) -> None:
    assert work("write_file", path="notes/a.md", content="eins\nzwei\n") == "notes/a.md: 10 bytes written"
    work("write_file", path="notes/a.md", content="drei\n", mode="append")
    assert work("read_file", path="notes/a.md") == "eins\nzwei\ndrei\n"
    assert work("read_file", path="notes/a.md", first_line=3) == "drei\n"
    assert sorted(path.name for path in (work.root / "notes").iterdir()) == ["a.md"], "no temporary file is left"


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "a/../../secret.txt", "link", "linked/secret.txt"])
@pytest.mark.parametrize("name", ["read_file", "write_file"])
def test_a78_no_path_leads_out_of_the_workspace(work: Workspace, name: str, path: str) -> None:
    (work.root / "link").symlink_to(work.outside)
    (work.root / "linked").symlink_to(work.outside.parent)
    content = {"content": "owned"} if name == "write_file" else {}
    with pytest.raises(ToolError, match="outside the workspace"):
        work(name, path=path, **content)
    assert work.outside.read_text() == "the treasure"


@pytest.mark.parametrize("name", ["list_files", "search_files", "grep_files"])
def test_f_b62_no_folder_leads_out_of_the_workspace(work: Workspace, name: str) -> None:
    pattern = {} if name == "list_files" else {"pattern": "*"}
    with pytest.raises(ToolError, match="outside the workspace"):
        work(name, folder="..", **pattern)


def test_f_b62_links_to_files_outside_are_neither_searched_nor_found(work: Workspace) -> None:
    (work.root / "link.txt").symlink_to(work.outside)
    (work.root / "linked").symlink_to(work.outside.parent)
    (work.root / "own.txt").write_text("my treasure")
    assert work("grep_files", pattern="TREASURE") == "own.txt:1: my treasure"
    assert work("search_files", pattern="*.txt") == "own.txt"


def test_absolute_paths_inside_and_odd_ones_are_handled(work: Workspace) -> None:
    (work.root / "a.txt").write_text("a")
    assert work("read_file", path=str(work.root / "a.txt")) == "a"
    for odd in ("\0", ".", "missing.txt"):
        with pytest.raises(ToolError):
            work("read_file", path=odd)


def test_what_is_no_plain_text_file_is_refused(work: Workspace) -> None:
    (work.root / "b.bin").write_bytes(b"\0\1")
    os.mkfifo(work.root / "pipe")
    (work.root / "big").write_bytes(b"x" * (files.MOST_BYTES + 1))
    for name, why in (("b.bin", "no text file"), ("pipe", "no plain file"), ("big", "at most")):
        with pytest.raises(ToolError, match=why):
            work("read_file", path=name)


def test_a_long_file_is_cut_and_says_where_to_go_on(work: Workspace) -> None:
    (work.root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 1001)))
    text = work("read_file", path="long.txt", max_chars=200)
    at = int(text.rpartition("first_line=")[2].rstrip("]"))
    assert work("read_file", path="long.txt", first_line=at, max_chars=200).startswith(f"line {at}\n")


def test_a_file_does_not_shrink_by_accident(work: Workspace) -> None:
    work("write_file", path="a.txt", content="x" * 2000)
    with pytest.raises(ToolError, match="nothing was written"):
        work("write_file", path="a.txt", content="… the rest as before …")
    assert (work.root / "a.txt").stat().st_size == 2000
    work("write_file", path="a.txt", content="short", may_shrink=True)
    assert (work.root / "a.txt").read_text() == "short"


def test_lists_are_bounded_and_say_so(work: Workspace) -> None:
    for n in range(files.MOST_NAMES + 5):
        (work.root / f"{n:03}.txt").write_text("same\n")
    for text in (work("list_files"), work("search_files", pattern="*"), work("grep_files", pattern="same")):
        assert "narrow it down" in text.splitlines()[-1]


def test_a_wrong_expression_is_explained(work: Workspace) -> None:
    with pytest.raises(ToolError, match="no regular expression"):
        work("grep_files", pattern="(")
