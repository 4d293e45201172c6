"""The register of known faults is complete, and what it names is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import fault_register
import pytest

ROOT = Path(__file__).parent.parent
CATALOGUES = (ROOT / "tests/register_ids.toml").read_text("utf-8")
TITLE = fault_register.planned_work(CATALOGUES)[0]


def test_every_id_is_answered_once_by_a_test_that_exists_or_by_work_to_come_or_by_a_reason() -> None:
    register = tomllib.loads(fault_register.REGISTER.read_text("utf-8"))
    ids = fault_register.known_ids(CATALOGUES)
    tests = set(fault_register.defined_tests(ROOT))

    assert len(ids) == len(set(ids)) == 381
    assert fault_register.faults_of(register, ids, fault_register.planned_work(CATALOGUES), tests) == []


def test_a_test_that_is_named_after_an_id_is_registered_under_it() -> None:
    register = tomllib.loads(fault_register.REGISTER.read_text("utf-8"))
    unregistered = {
        node
        for one, nodes in fault_register.by_id(set(fault_register.defined_tests(ROOT))).items()
        for node in nodes
        if node not in register[one].get("test", [])
    }
    assert unregistered == set(), "run scripts/fault_register.py --fill"


def test_an_id_twice_is_no_register() -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(f'"faults:A01" = {{ issue = "{TITLE}" }}\n"faults:A01" = {{ issue = "{TITLE}" }}\n')


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (None, "memory:1: missing"),
        ({"test": ["tests/test_x.py::test_gone"]}, "memory:1: there is no test tests/test_x.py::test_gone"),
        ({"test": []}, "memory:1: needs one of"),
        ({"issue": "some day"}, "memory:1: no work is planned under 'some day'"),
        ({"why_not": "no"}, "memory:1: that is no sentence"),
        ({"test": ["tests/test_x.py::test_y"], "issue": TITLE}, "memory:1: needs one of"),
    ],
)
def test_a_faulty_entry_is_named(entry: dict[str, object] | None, fault: str) -> None:
    register = {} if entry is None else {"memory:1": entry}
    found = fault_register.faults_of(register, ["memory:1"], [TITLE], {"tests/test_x.py::test_y"})
    assert len(found) == 1
    assert found[0].startswith(fault)


def test_an_unknown_id_is_named() -> None:
    register = {"memory:99": {"why_not": "It is not in the catalogue."}}
    assert fault_register.faults_of(register, [], [], set()) == ["memory:99: no such id"]


@pytest.mark.parametrize(
    ("name", "one"),
    [
        ("test_a27_token_estimate", "faults:A27"),
        ("test_f_b41_imports_offline", "faults:F-B41"),
        ("test_o12_whole_words", "faults:O12"),
        ("test_memory_19_recall_in_every_script", "memory:19"),
        ("test_telegram_h10_many_writers", "telegram:H10"),
        ("test_an_ordinary_name", None),
        ("test_a1_too_short_for_a_fault", None),
    ],
)
def test_a_test_name_carries_its_id(name: str, one: str | None) -> None:
    assert fault_register.named_after(f"tests/test_x.py::{name}") == one


def test_the_written_register_reads_back_in_catalogue_order() -> None:
    register = {"memory:2": {"why_not": 'It "cannot" happen here.'}, "memory:1": {"issue": TITLE}}
    text = fault_register.written(register, ["memory:1", "memory:2"])
    assert list(tomllib.loads(text).items()) == [("memory:1", register["memory:1"]), ("memory:2", register["memory:2"])]


@pytest.mark.parametrize(
    ("body", "options", "good"),
    [
        ("assert True", [], True),
        ("pytest.skip('no server here')", [], False),
        ("pytest.skip('no server here')", ["-n", "1"], False),
        ("pytest.xfail('not yet')", [], False),
    ],
    ids=["passed", "skipped", "skipped in a worker", "expected failure"],
)
def test_a_run_that_skips_a_registered_test_fails(tmp_path: Path, body: str, options: list[str], good: bool) -> None:
    shutil.copy(ROOT / "tests/conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    (tmp_path / "register.toml").write_text('"faults:A01" = { test = ["test_one.py::test_it"] }', "utf-8")
    (tmp_path / "test_one.py").write_text(
        f"import pytest\n\n@pytest.mark.parametrize('n', [1])\ndef test_it(n):\n    {body}\n", "utf-8"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:asyncio", "-p", "no:hypothesispytest", *options]
    ran = subprocess.run([*command, "test_one.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode == 0) is good, ran.stdout
    assert ("the register names a skipped test: test_one.py::test_it" in ran.stdout) is not good


@pytest.mark.parametrize(
    ("ci", "mark", "reason", "good"),
    [
        ("true", "service", "chromium is not installed", False),
        ("true", "service", "impossible here: the kernel forbids it", True),
        ("true", "usefixtures", "chromium is not installed", True),
        ("", "service", "chromium is not installed", True),
    ],
)
def test_in_ci_a_test_that_needs_a_service_must_run(
    tmp_path: Path, ci: str, mark: str, reason: str, good: bool
) -> None:
    shutil.copy(ROOT / "tests/conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  service: x\n", "utf-8")
    (tmp_path / "register.toml").write_text("", "utf-8")
    (tmp_path / "test_one.py").write_text(
        f"import pytest\n\n@pytest.mark.{mark}('tmp_path')\ndef test_it():\n    pytest.skip({reason!r})\n", "utf-8"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:asyncio", "-p", "no:hypothesispytest", "test_one.py"]
    environ = {**os.environ, "CI": ci}
    ran = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert (ran.returncode == 0) is good, ran.stdout
    assert ("a test with the mark `service` was skipped: test_one.py::test_it" in ran.stdout) is not good
