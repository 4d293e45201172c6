"""The house around the code: versions agree, locks are whole, the tree is clean, the guides are true."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import check_tree
import pytest
from packaging.requirements import Requirement

import goat

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def locked(name: str) -> dict[str, list[str]]:
    """The versions of a lock by package; every entry has at least one hash."""
    entries: dict[str, list[str]] = {}
    for entry in re.split(r"\n(?=\S)", (ROOT / name).read_text("utf-8").strip()):
        requirement, *hashes = entry.replace("\\\n", " ").split("--hash=sha256:")
        assert hashes, f"{requirement} has no hash"
        parsed = Requirement(requirement.strip())
        entries.setdefault(parsed.name, []).append(next(iter(parsed.specifier)).version)
    return entries


def test_f_b72_version_changelog_and_metadata_agree() -> None:
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == goat.__version__ == PROJECT["project"]["version"]


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_holds_every_declared_requirement_at_an_allowed_version(lock: str) -> None:
    entries = locked(lock)
    declared = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["build"]]
    if lock == "requirements-dev.lock":
        declared += PROJECT["dependency-groups"]["dev"] + PROJECT["project"]["optional-dependencies"]["testing"]
    for requirement in (Requirement(one) for one in declared if isinstance(one, str)):
        versions = entries.get(requirement.name, [])
        assert versions, f"{requirement.name} is not in {lock}; run scripts/lock.sh"
        assert all(requirement.specifier.contains(one) for one in versions), f"{lock} is stale; run scripts/lock.sh"


def test_the_development_lock_holds_the_same_versions_as_the_other() -> None:
    run, dev = locked("requirements.lock"), locked("requirements-dev.lock")
    assert {name: dev.get(name) for name in run} == run


def test_a84_the_tree_holds_nothing_that_must_not_be_there() -> None:
    assert list(check_tree.faults(ROOT, check_tree.files(ROOT))) == []


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("a.lock", "--" + "index" + "-url somewhere", "a.lock:1: names a package registry"),
        ("b.json", '"resolved": "' + "https:" + '//x.example/y.tgz"', "b.json:1: names a package registry"),
        ("c.md", "fine\nsee /" + "home/ana/notes", "c.md:2: carries a path of somebody's machine"),
        (".env", "", ".env: is left behind by a run and belongs in .gitignore"),
        ("data/memory.sqlite3-wal", "", "data/memory.sqlite3-wal: is left behind by a run and belongs in .gitignore"),
        ("big.bin", "x" * 1_000_001, "big.bin: is larger than 1000000 bytes"),
        ("d.md", "LICENSE, docs/a.md, https://www.apache.org/licenses/", None),
    ],
)
def test_a_planted_fault_is_found(tmp_path: Path, name: str, content: str, fault: str | None) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content, "utf-8")
    assert list(check_tree.faults(tmp_path, [Path(name)])) == ([fault] if fault else [])


def test_the_files_are_found_without_git_too(tmp_path: Path) -> None:
    for name in [".gitignore", "src/a.py", ".venv/lib/b.py", "src/__pycache__/a.pyc", "goat2.toml"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(".venv/\n__pycache__/\ngoat2.toml\n", "utf-8")
    assert check_tree.files(tmp_path) == [Path(".gitignore"), Path("src/a.py")]


def test_a81_the_starters_prepare_first_and_start_one_program_once() -> None:
    for starter, program in [("run.sh", "/.venv/bin/goat"), ("run.bat", r".venv\Scripts\goat.exe")]:
        lines = (ROOT / starter).read_text("utf-8").splitlines()
        prepared = [number for number, line in enumerate(lines) if "bootstrap.py" in line or line == "prepare run"]
        started = [number for number, line in enumerate(lines) if program in line]
        assert (len(prepared), len(started)) == (1, 1), starter
        assert prepared < started, starter
    assert "goat" not in re.findall(r'call\(\[[^]]*"([^"]+)"\]', (ROOT / "scripts/bootstrap.py").read_text("utf-8"))


@pytest.mark.parametrize("guide", ["AGENTS.md", "CONTRIBUTING.md"])
def test_every_path_that_a_guide_names_is_there(guide: str) -> None:
    named = re.findall(r"`((?:\./|src/|tests/|docs/|scripts/|\.ci/)[\w./-]*)`", (ROOT / guide).read_text("utf-8"))
    assert len(named) > 5
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_a83_a_test_run_cannot_touch_the_home_of_the_person_who_starts_it(nobodys_home: Path) -> None:
    code = "import os, pathlib; print(pathlib.Path.home(), os.environ['GOAT_HOME'])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split() == [str(nobodys_home), str(nobodys_home / ".goat")]
