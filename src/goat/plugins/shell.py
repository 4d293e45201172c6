"""One command of a shell, in a sandbox where bubblewrap is installed."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from goat.errors import ToolError
from goat.plugins.registry import Registry
from goat.tools.tool import ToolContext, ToolDefinition, tool

STREAM_BYTES = 16_000
"""What is kept of each stream: the first half and the last."""

LONGEST_SECONDS = 300
CLEAN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
READABLE = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ssl", "/etc/ld.so.cache")
NETWORKED = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")

RISKS: Mapping[str, re.Pattern[str]] = {
    "it deletes": re.compile(r"\brm\b|\bshred\b|\bunlink\b|\bfind\b.*-delete|\bmkfs|\bdd\b|\bgit\s+(?:clean|reset)\b"),
    "it runs what it downloads": re.compile(
        r"\b(?:curl|wget)\b.*\|\s*(?:\w+\s+)?(?:ba|z|da)?sh\b|\b(?:ba|z|da)?sh\s+<\("
    ),
    "it runs a program given as text": re.compile(
        r"\b(?:python[\d.]*|perl|ruby|node|php)\s+(?:-\w+\s+)*-[ce]\b|\b(?:ba|z|da)?sh\s+-\w*c\b|\beval\b|<<|base64\s+-d"
    ),
    "it reads the environment or keys": re.compile(
        r"\b(?:env|printenv|set)\b|/environ\b|\.ssh\b|\.env\b|\$\{?\w*(?:KEY|TOKEN)"
    ),
    "it needs special rights": re.compile(r"\bsudo\b|\bsu\b|\bchmod\b|\bchown\b|\bmount\b|\bsystemctl\b|\bcrontab\b"),
    "it makes a link": re.compile(r"\bln\b"),
    "it sends data away": re.compile(r"\bcurl\b|\bwget\b|\bnc\b|\bncat\b|\bssh\b|\bscp\b|/dev/tcp/"),
}


def risk(arguments: Mapping[str, Any]) -> str:
    """Why a command is asked about each time; empty for a harmless one. A hint to the person, not a wall."""
    command = str(arguments.get("command", ""))
    return "; ".join(why for why, pattern in RISKS.items() if pattern.search(command))


def build(registry: Registry) -> list[ToolDefinition]:
    """`shell_run`; without a sandbox it is asked about at every call."""
    bwrap = working_bubblewrap()

    async def run(context: ToolContext, command: str, timeout: int) -> str:
        if not context.admin:
            raise ToolError("shell_run", "only the person who runs this GOAT may use it")
        context.workspace.mkdir(parents=True, exist_ok=True)
        words = (
            sandboxed(bwrap, command, context.workspace, registry.settings.shell_network) if bwrap else shell(command)
        )
        return await output(words, context.workspace, timeout)

    @tool(permission="ask_once", guests="deny", parallel=False, timeout_seconds=LONGEST_SECONDS + 10, risk=risk)
    async def shell_run(
        context: ToolContext,
        command: Annotated[str, Field(min_length=1, max_length=3000)],
        timeout: Annotated[int, Field(ge=1, le=LONGEST_SECONDS)] = 30,
    ) -> str:
        """Run a shell command in the workspace and give its output and exit code.

        Args:
            command: For sh.
            timeout: Seconds after which it is killed.
        """
        return await run(context, command, timeout)

    if bwrap:
        return [shell_run]
    return [replace(shell_run, permission="ask", risk=lambda arguments: _unprotected(risk(arguments)))]


def working_bubblewrap() -> str:
    """The path of bubblewrap where it can really make a sandbox, else empty: some machines forbid it."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return ""
    try:
        tried = subprocess.run(
            sandboxed(bwrap, "true", Path("/tmp"), False), capture_output=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return bwrap if tried.returncode == 0 else ""


def _unprotected(why: str) -> str:
    note = "bubblewrap is not installed, so the command reaches everything that you can reach"
    return f"{why}; {note}" if why else note


def shell(command: str) -> list[str]:
    """The command without a sandbox."""
    return ["/bin/sh", "-c", command]


def sandboxed(bwrap: str, command: str, workspace: Path, network: bool) -> list[str]:
    """The command in bubblewrap: the system readable, the workspace alone writable, no environment, own processes."""
    root = str(workspace.resolve())
    words = [
        bwrap,
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    ]
    words += ["--tmpfs", "/tmp"]
    for place in (*READABLE, *(NETWORKED if network else ())):
        words += ["--ro-bind-try", place, place]
    words += ["--share-net"] if network else []
    for name, value in {**CLEAN, "HOME": root}.items():
        words += ["--setenv", name, value]
    return [*words, "--bind", root, root, "--chdir", root, *shell(command)]


async def output(words: Sequence[str], folder: Path, seconds: float) -> str:
    """Run a command to its end, or kill it with all of its children; what it wrote, cut in the middle."""
    process = await _started(words, folder)
    out, err = _Kept(), _Kept()
    late = False
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(out.read(process.stdout), err.read(process.stderr))
            await process.wait()
    except TimeoutError:
        late = True
    finally:
        _kill(process.pid)
        await asyncio.shield(process.wait())
    parts = [out.text()]
    if err.text():
        parts += ["[stderr]", err.text()]
    if late:
        parts.append(f"[killed after {seconds:g} seconds]")
    elif process.returncode:
        parts.append(f"[exit code {process.returncode}]")
    return "\n".join(part for part in parts if part) or "(no output)"


async def _started(words: Sequence[str], folder: Path) -> asyncio.subprocess.Process:
    """The running command; cancelled while it starts, it is killed with what it began meanwhile."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *words,
            cwd=folder,
            env={**CLEAN, "HOME": str(folder)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        process = await starting
        _kill(process.pid)
        await process.wait()
        raise


def _kill(group: int) -> None:
    """End the process group; the command may have left children behind."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


class _Kept:
    """The beginning and the end of a stream."""

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""
        self._size = 0

    async def read(self, stream: asyncio.StreamReader | None) -> None:
        """Read to the end, keeping a bounded part."""
        half = STREAM_BYTES // 2
        while stream is not None and (piece := await stream.read(65536)):
            self._size += len(piece)
            room = half - len(self._head)
            self._head += piece[: max(0, room)]
            self._tail = (self._tail + piece[max(0, room) :])[-half:]

    def text(self) -> str:
        """What was kept, with a note on what was not."""
        left_out = self._size - len(self._head) - len(self._tail)
        middle = f"\n[{left_out:,} bytes left out]\n".encode() if left_out else b""
        return (self._head + middle + self._tail).decode("utf-8", errors="replace").strip()
