"""The first start makes an environment out of nothing but Python; every later one only starts the program."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import bootstrap
import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(os.name == "nt", reason="run.sh is for POSIX; run.bat calls the same bootstrap.py")

Ran = tuple[int, str, str]
"""Exit status, standard output, standard error."""

BACKEND = '''
"""Builds an editable wheel of one script, as a build backend does, out of the standard library."""
import zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    name, info = "tiny-1.0-py3-none-any.whl", "tiny-1.0.dist-info"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.writestr("tiny.py", "import sys\\ndef main():\\n    print(*sys.argv[1:], sep='|')\\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\\ngoat = tiny:main\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
'''
PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "tiny"
version = "1.0"
"""


class Checkout:
    """A checkout with the real starters around a tiny project that installs without network."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root.parent / "home"
        self.home.mkdir()
        root.mkdir()
        shutil.copy(ROOT / "run.sh", root)
        shutil.copytree(ROOT / "scripts", root / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        (root / "backend.py").write_text(BACKEND, "utf-8")
        (root / "pyproject.toml").write_text(PYPROJECT, "utf-8")
        self.lock = root / "requirements.lock"
        self.lock.write_text("", "utf-8")

    @property
    def environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        return {"PATH": path, "HOME": str(self.home), "PIP_NO_INDEX": "1", "PIP_RETRIES": "0"}

    def start(self, *arguments: str, **options: object) -> subprocess.Popen[str]:
        command = [str(options.pop("via", self.root / "run.sh")), *arguments]
        settings: dict[str, object] = {"cwd": self.home, "env": self.environment, "text": True, **options}
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings)  # type: ignore[call-overload,no-any-return]

    def run(self, *arguments: str, **options: object) -> Ran:
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=110)
        return process.returncode, out, err

    def record(self) -> dict[str, object]:
        content: dict[str, object] = json.loads((self.root / ".venv/goat.json").read_text("utf-8"))
        return content


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, Ran]:
    """A checkout after its first start, and how that went."""
    checkout = Checkout(tmp_path_factory.mktemp("a") / "my go at")
    return checkout, checkout.run("ask", "two words")


def test_the_first_start_sets_up_and_hands_the_arguments_over(made: tuple[Checkout, Ran]) -> None:
    checkout, (status, out, err) = made
    assert (status, out) == (0, "ask|two words\n")
    assert re.findall(r"(?m)^  (\d/3) ", err) == ["1/3", "2/3", "3/3"]
    assert sorted(path.name for path in (checkout.root / ".venv-setup").iterdir()) == ["lock"]
    assert list(checkout.home.iterdir()) == []


def test_the_next_start_says_and_writes_nothing(made: tuple[Checkout, Ran]) -> None:
    checkout, _ = made
    link = checkout.home / "goat"
    link.symlink_to(checkout.root / "run.sh")
    before = {path: path.stat().st_mtime_ns for path in checkout.root.rglob("*")}
    assert checkout.run("a b", "") == (0, "a b|\n", "")
    assert checkout.run("x", via=link) == (0, "x\n", "")
    assert {path: path.stat().st_mtime_ns for path in checkout.root.rglob("*")} == before
    link.unlink()


def test_what_cannot_be_installed_is_told_and_the_next_start_makes_it_whole(
    made: tuple[Checkout, Ran],
) -> None:
    checkout, _ = made
    checkout.lock.write_text("not-there-at-all==1.0 --hash=sha256:" + "0" * 64 + "\n", "utf-8")
    status, out, err = checkout.run("x")
    assert (status, out) == (1, "")
    assert "not-there-at-all" in err
    assert "The first start needs the network" in err
    assert checkout.record()["finished"] is False

    checkout.lock.write_text("", "utf-8")
    stray = checkout.root / ".venv/half-unpacked"
    stray.touch()
    status, out, _ = checkout.run("x")
    assert (status, out, stray.exists()) == (0, "x\n", False)
    assert checkout.record()["finished"] is True


@pytest.mark.long
def test_two_starts_at_once_set_up_once(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path / "twice")
    first, second = checkout.start("one"), checkout.start("two")
    outs = [process.communicate(timeout=110) for process in (first, second)]
    assert [out for out, _ in outs] == ["one\n", "two\n"]
    told = "".join(err for _, err in outs)
    assert (told.count("making the environment"), told.count("waiting for it")) == (1, 1)


@pytest.mark.long
@pytest.mark.parametrize("wait", [0.2, 1.0, 2.5, 4.0])
def test_a_set_up_that_was_killed_is_mended(tmp_path: Path, wait: float) -> None:
    checkout = Checkout(tmp_path / "killed")
    process = checkout.start("x", start_new_session=True)
    time.sleep(wait)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    status, out, _ = checkout.run("y")
    assert (status, out, checkout.record()["finished"]) == (0, "y\n", True)


@pytest.mark.long
def test_a_moved_checkout_is_set_up_again(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path / "here")
    checkout.run("x")
    checkout.root = checkout.root.rename(tmp_path / "there")
    status, out, err = checkout.run("x")
    assert (status, out) == (0, "x\n")
    assert "setting up" in err
    assert checkout.record()["root"] == str(tmp_path / "there")


def test_too_little_room_is_told_with_what_to_do() -> None:
    assert bootstrap.disk_full(ROOT, needed_mb=0) == ""
    assert "Free " in bootstrap.disk_full(ROOT, needed_mb=10**12)


def test_a_folder_that_cannot_be_written_is_told_with_the_command_that_mends_it(tmp_path: Path) -> None:
    assert bootstrap.not_writable(tmp_path) == ""
    assert list(tmp_path.iterdir()) == []
    gone = tmp_path / "gone"
    assert f'sudo chown -R "$(id -un)" "{gone}"' in bootstrap.not_writable(gone)


def test_a_configured_service_is_asked_and_a_silent_one_is_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert bootstrap.answers(f"redis://127.0.0.1:{port}/0")
    assert not bootstrap.answers(f"redis://127.0.0.1:{port}/0")
    assert not bootstrap.answers("http://127.0.0.1:99999")
    assert bootstrap.answers("sqlite:///somewhere.db")


def test_services_are_read_from_the_settings_and_a_broken_file_is_no_obstacle(tmp_path: Path) -> None:
    settings = tmp_path / "goat2.toml"
    settings.write_text('[working]\nstorage_url = "redis://h:1"\nmax_messages = 20\n[model]\nbase_url = "http://m"\n')
    assert bootstrap.services_in(settings) == [("[working] storage_url", "redis://h:1")]
    settings.write_text("[working\n")
    assert bootstrap.services_in(settings) == []
    assert bootstrap.services_in(tmp_path / "none.toml") == []
