"""Prepare the environment that GOAT runs in, with Python's standard library alone.

usage: bootstrap.py run|dev

Fills `.venv` in this checkout from `requirements.lock` (run) or `requirements-dev.lock` (dev, a superset with the same
versions), checked by hash, and installs the project itself from its sources. A finished environment is recorded in
`.venv/goat.json` and the next call returns at once; an unfinished one is made anew. Everything that is written lies in
the checkout, and everything that is said goes to standard error.

Exit status: 0 ready, 1 something required is missing (the message says what mends it), 130 interrupted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
RECORD = VENV / "goat.json"
SCRATCH = ROOT / ".venv-setup"
"""The lock of the set-up, and while it works its downloads and temporary files."""

LOCKS = {"run": ROOT / "requirements.lock", "dev": ROOT / "requirements-dev.lock"}
COVERS = {"run": ("run",), "dev": ("run", "dev")}
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
SUFFIX = ".exe" if os.name == "nt" else ""

OLDEST = (3, 11)
NEEDED_MB = {"run": 500, "dev": 1000}
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


class CannotSetUp(Exception):
    """The set-up cannot go on; `str()` says why and what mends it."""


def say(line: str) -> None:
    """Print one line for the person who waits."""
    print(line, file=sys.stderr, flush=True)


# What is there ------------------------------------------------------------------------------------------------------


def wanted(kind: str) -> str:
    """The fingerprint of what `kind` should hold: its lock and the project's metadata."""
    digest = hashlib.sha256()
    for file in (LOCKS[kind], ROOT / "pyproject.toml"):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def read_record() -> dict[str, object]:
    """What the last set-up wrote, empty where there is nothing readable."""
    try:
        record = json.loads(RECORD.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def write_record(record: dict[str, object]) -> None:
    """Replace the record whole."""
    draft = RECORD.with_suffix(".tmp")
    draft.write_text(json.dumps(record, indent=1), "utf-8")
    draft.replace(RECORD)


def sound(record: dict[str, object]) -> bool:
    """Whether the environment was finished, here, with this Python."""
    return record.get("finished") is True and record.get("root") == str(ROOT) and record.get("python") == PYTHON


def ready(kind: str) -> bool:
    """Whether nothing has to be done."""
    record = read_record()
    installed = record.get("installed")
    return (
        sound(record)
        and isinstance(installed, dict)
        and installed.get(kind) == wanted(kind)
        and os.access(BIN / f"python{SUFFIX}", os.X_OK)
        and (BIN / f"goat{SUFFIX}").exists()
    )


# What the machine must have -----------------------------------------------------------------------------------------


def check_machine(kind: str) -> None:
    """Raise `CannotSetUp` naming everything that is missing, each with the command that mends it."""
    problems = (python_too_old(), venv_missing(), not_writable(ROOT), disk_full(ROOT, NEEDED_MB[kind]))
    missing = [f"\n  - {problem}" for problem in problems if problem]
    if missing:
        raise CannotSetUp("GOAT cannot be set up yet:" + "".join(missing))


def python_too_old() -> str:
    """A sentence when this Python is older than GOAT needs."""
    if sys.version_info >= OLDEST:
        return ""
    oldest = f"{OLDEST[0]}.{OLDEST[1]}"
    return f"Python {oldest} or newer is needed, this is {PYTHON}.{mend(f'python{oldest}')}"


def venv_missing() -> str:
    """A sentence when this Python cannot make an environment with pip in it."""
    try:
        import ensurepip  # noqa: F401 - only whether it is there
        import venv  # noqa: F401
    except ImportError:
        return f"Python's venv and pip are not installed.{mend(f'python{PYTHON}-venv')}"
    return ""


def not_writable(folder: Path) -> str:
    """A sentence when nothing can be written in the folder."""
    probe = folder / f".write-probe-{os.getpid()}"
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        command = f'sudo chown -R "$(id -un)" "{folder}"'
        return f"The folder {folder} cannot be written to ({error.strerror}). Mend it with:\n      {command}"
    return ""


def disk_full(folder: Path, needed_mb: int) -> str:
    """A sentence when the folder's disk has less room than is needed."""
    free = shutil.disk_usage(folder).free // 1_000_000
    if free >= needed_mb:
        return ""
    command = "du -xhd 1 ~ | sort -h"
    return (
        f"{needed_mb} MB of free space are needed, the disk of {folder} has {free} MB. "
        f"Free {needed_mb - free} MB; this shows what takes the room:\n      {command}"
    )


def mend(package: str) -> str:
    """A sentence with the command that installs a package here; the name is Debian's, others ship it with Python."""
    commands = {
        "apt-get": f"sudo apt-get install {package}",
        "dnf": "sudo dnf install python3 python3-pip",
        "pacman": "sudo pacman -S python",
        "zypper": "sudo zypper install python311 python311-pip",
        "apk": "sudo apk add python3 py3-pip",
        "brew": "brew install python",
        "winget": "winget install Python.Python.3.12",
    }
    for program, command in commands.items():
        if shutil.which(program):
            return f" Mend it with:\n      {command}"
    return " Install Python from python.org, which brings both."


def warn_about_options() -> None:
    """Mention what GOAT can do without but may miss."""
    if not shutil.which("git"):
        say("  note: git is not installed; GOAT runs without it, updating does not")
    for name, url in configured_services():
        if not answers(url):
            say(f"  note: {name} does not answer; GOAT starts without that layer")


def configured_services() -> list[tuple[str, str]]:
    """The addresses of stores in the environment and the settings, each with the name of its setting."""
    found = [(name, os.environ[name]) for name in ("REDIS_URL", "LETTA_URL") if os.environ.get(name)]
    home = Path(os.environ.get("GOAT_HOME") or Path.home() / ".goat")
    return found + services_in(home / "goat2.toml") + services_in(ROOT / "goat2.toml")


def services_in(settings: Path) -> list[tuple[str, str]]:
    """The addresses of stores in one file; GOAT itself reports a broken one, with the place."""
    import tomllib

    try:
        sections = tomllib.loads(settings.read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return [
        (f"[{section}] {key}", str(value))
        for section in ("working", "episodic", "permanent")
        if isinstance(sections.get(section), dict)
        for key, value in sections[section].items()
        if "://" in str(value)
    ]


def answers(url: str) -> bool:
    """Whether something accepts a connection at a URL within two seconds; a URL without a host counts as yes."""
    import socket
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or {"redis": 6379, "https": 443}.get(parts.scheme, 80)
        if not host or parts.scheme.startswith(("sqlite", "file")):
            return True
        socket.create_connection((host, port), timeout=2).close()
    except (OSError, ValueError):
        return False
    return True


# One at a time ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def alone() -> Iterator[IO[str]]:
    """Hold the set-up's lock, which a pip left behind by a killed set-up holds too; yields its file."""
    SCRATCH.mkdir(exist_ok=True)
    with (SCRATCH / "lock").open("a") as file:
        if not lock(file, wait=False):
            say("GOAT: another start is setting up here; waiting for it")
            lock(file, wait=True)
        yield file


def lock(file: IO[str], wait: bool) -> bool:
    """Take an exclusive lock; False when it is taken and `wait` is false."""
    if os.name == "nt":
        import msvcrt

        while True:
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            except OSError:
                if not wait:
                    return False
                time.sleep(0.5)
            else:
                return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


# The work -----------------------------------------------------------------------------------------------------------


def install(kind: str, held: IO[str]) -> None:
    """Bring the environment to what `kind` wants; `held` is the lock's file."""
    began = time.monotonic()
    shutil.rmtree(SCRATCH / "tmp", ignore_errors=True)
    record = read_record()
    anew = not os.access(BIN / f"python{SUFFIX}", os.X_OK) or (bool(record) and not sound(record))
    what = "setting up" if kind == "run" else "setting up with the development tools"
    say(f"GOAT: {what}, once (Python {PYTHON}, in {VENV})")
    if anew:
        say("  1/3 making the environment")
        empty(VENV)
        record = {}
    installed = record.get("installed")
    unfinished = {"root": str(ROOT), "python": PYTHON, "finished": False}
    write_record(unfinished)
    if anew:
        base = getattr(sys, "_base_executable", None) or sys.executable
        call([base, "-I", "-m", "venv", "--without-pip", str(VENV)], held, "making .venv")
    call([str(BIN / f"python{SUFFIX}"), "-I", "-m", "ensurepip", "--default-pip"], held, "installing pip")
    say("  2/3 installing packages")
    pip(["--no-deps", "--require-hashes", "-r", str(LOCKS[kind])], held, Progress(LOCKS[kind]))
    say("  3/3 installing GOAT itself")
    pip(["--no-deps", "--no-build-isolation", "-e", str(ROOT)], held)
    digests = dict(installed) if isinstance(installed, dict) else {}
    digests.update({covered: wanted(covered) for covered in COVERS[kind]})
    write_record({**unfinished, "finished": True, "installed": digests})
    shutil.rmtree(SCRATCH / "cache", ignore_errors=True)
    shutil.rmtree(SCRATCH / "tmp", ignore_errors=True)
    say(f"GOAT: ready after {time.monotonic() - began:.0f} s")


def empty(folder: Path) -> None:
    """Make a folder, or remove everything in it; a link to a folder elsewhere stays."""
    folder.mkdir(exist_ok=True)
    for child in folder.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        else:
            child.unlink()


class Progress:
    """Shows on a terminal how many packages of a lock pip has looked at; elsewhere it is silent."""

    def __init__(self, lock_file: Path) -> None:
        self.total = sum("==" in line for line in lock_file.read_text("utf-8").splitlines())
        self.done = 0

    def __call__(self, line: str) -> None:
        """Take one line of pip's output."""
        if not sys.stderr.isatty():
            return
        if line.startswith(("Collecting ", "Ignoring ", "Requirement already satisfied")):
            self.done += 1
            self.show(f"{self.done} of {self.total}")
        elif line.startswith("Installing collected packages"):
            self.show("unpacking")
        elif line.startswith("Successfully installed"):
            self.show("")

    def show(self, state: str) -> None:
        """Rewrite the line; nothing clears it."""
        sys.stderr.write(f"\r      {state}\033[K" if state else "\r\033[K")
        sys.stderr.flush()


def pip(arguments: list[str], held: IO[str], progress: Callable[[str], None] | None = None) -> None:
    """Run pip's install quietly inside the environment."""
    command = [str(BIN / f"python{SUFFIX}"), "-I", "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
    command += ["--disable-pip-version-check", "--no-warn-script-location", "--cache-dir", str(SCRATCH / "cache")]
    call([*command, *arguments], held, "installing with pip", progress)


def call(command: list[str], held: IO[str], what: str, progress: Callable[[str], None] | None = None) -> None:
    """Run a program to its end and show its last lines if it fails; it shares the lock as long as it lives."""
    temporary = SCRATCH / "tmp"
    temporary.mkdir(exist_ok=True)
    # A person's pip settings say where packages come from; where they go is not theirs to say here.
    elsewhere = {"PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV"}
    environment = {name: value for name, value in os.environ.items() if name not in elsewhere}
    environment.update(PIP_USER="0", **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)))
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=environment,
        pass_fds=() if os.name == "nt" else (held.fileno(),),
    ) as process:
        lines = []
        for line in process.stdout or ():
            lines.append(line.rstrip())
            if progress:
                progress(line)
    if process.returncode:
        shown = "\n".join(f"    {line}" for line in lines[-12:])
        raise CannotSetUp(
            f"{shown}\nGOAT: {what} failed (above: its last words). The first start needs the network; the next "
            "one tries again."
        )


def main(arguments: list[str]) -> int:
    """Prepare the environment named by the one argument and return the exit status."""
    if len(arguments) != 1 or arguments[0] not in LOCKS:
        say("usage: bootstrap.py run|dev")
        return 2
    kind = arguments[0]
    if ready(kind):
        return 0
    try:
        check_machine(kind)
        with alone() as held:
            if not ready(kind):
                warn_about_options()
                install(kind, held)
    except CannotSetUp as error:
        say(str(error))
        return 1
    except OSError as error:
        say(f"GOAT cannot be set up: {error}")
        return 1
    except KeyboardInterrupt:
        say("\nGOAT: set-up interrupted; the next start goes on with it")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
