"""The errors of GOAT. Each builds its sentence from its fields: what, which one, what to do.

GoatError
├── SettingsError          a setting is unknown, malformed or contradicts another
├── HomeError              the data folder cannot be used
│   └── HomeInUse          another process works in it
├── MessageRefused         a message that there is nothing to do with
├── BackendUnavailable     a store or service behind a port cannot be used
├── HistoryError           a chat history cannot be imported
├── ModelError             no answer from a language model
├── ToolError              a tool failed; shown to the model
└── ToolDenied             a tool call was refused
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path


class GoatError(Exception):
    """The base of every error that a person may see; `str()` is the whole sentence."""


class SettingsError(GoatError):
    """One or more settings cannot be used. All faults are collected before it is raised."""

    def __init__(self, faults: Sequence[str], source: str = "") -> None:
        self.faults = tuple(faults)
        self.source = source
        where = f" in {source}" if source else ""
        listed = "\n".join(f"  - {fault}" for fault in self.faults)
        super().__init__(f"The settings{where} cannot be used:\n{listed}")


class HomeError(GoatError):
    """The data folder cannot be used."""

    def __init__(self, home: Path, problem: str, remedy: str) -> None:
        self.home = home
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"The data folder {home} cannot be used: {problem}. {remedy}")


class HomeInUse(HomeError):
    """Another process works in the data folder."""

    def __init__(self, home: Path) -> None:
        super().__init__(
            home,
            "another GOAT is running in it",
            "Stop that one first, or give this one a folder of its own with --home.",
        )


class MessageRefused(GoatError):
    """A message was not taken; the sentence says why and what to send instead."""


class BackendUnavailable(GoatError):
    """A store, index or service cannot be used; the core goes on without it."""

    def __init__(self, port: str, backend: str, reason: str) -> None:
        self.port = port
        self.backend = backend
        self.reason = reason
        super().__init__(f"{port} ({backend}) cannot be used: {reason}")


class HistoryError(GoatError):
    """A chat history cannot be read. `record` counts from 1 and is None when the fault lies with the whole file."""

    def __init__(self, path: Path, record: int | None, problem: str, remedy: str) -> None:
        self.path = path
        self.record = record
        self.problem = problem
        self.remedy = remedy
        where = "" if record is None else f" at record {record}"
        super().__init__(f"The history {printable(str(path))} cannot be read{where}: {problem}. {remedy}")


class ModelError(GoatError):
    """A language model gave no usable answer."""

    def __init__(self, model: str, problem: str, remedy: str) -> None:
        self.model = model
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"The model {model} gave no answer: {problem}. {remedy}")


class ToolError(GoatError):
    """A tool failed; the sentence is shown to the model."""

    def __init__(self, tool: str, problem: str) -> None:
        self.tool = tool
        self.problem = problem
        super().__init__(f"{tool}: {problem}")


class ToolDenied(ToolError):
    """A tool call was refused by the policy or by the person."""


def printable(text: str) -> str:
    """The text with every character that a terminal would not show written as an escape; always encodable."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def nearest(name: str, known: Sequence[str]) -> str:
    """A clause that names the closest known word, empty when none is close."""
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
