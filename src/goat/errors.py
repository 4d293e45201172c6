"""The errors of GOAT. Each builds its sentence from its fields: what, which one, what to do.

GoatError
├── SettingsError          a setting is unknown, malformed or contradicts another
├── HomeError              the data folder cannot be used
│   └── HomeInUse          another process works in it
├── BotUnusable            the Telegram bot cannot be run
│   └── BotInUse           another process runs it
├── MessageRefused         a message that there is nothing to do with
├── BackendUnavailable     a store or service behind a port cannot be used
├── HistoryError           a chat history cannot be imported
├── TransferError          an export or a backup cannot be written, or a backup not be restored
├── ModelError             no answer from a language model, with its ModelFault
├── ToolError              a tool failed; shown to the model
└── ToolDenied             a tool call was refused
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path

from goat.records.usage import Usage


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


class BotUnusable(GoatError):
    """The Telegram bot cannot be run."""

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"The Telegram bot cannot be run: {problem}. {remedy}")


class BotInUse(BotUnusable):
    """Another process on this machine runs the bot."""

    def __init__(self, bot: int) -> None:
        self.bot = bot
        super().__init__(
            f"another GOAT on this machine runs the bot {bot} already",
            "Stop that one first, or use the token of another bot.",
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


class ModelFault(StrEnum):
    """Why a model gave no answer, as far as it decides what is tried next."""

    BUSY = "busy"  # too many calls for now
    DOWN = "down"  # the endpoint failed, or cannot be reached
    CUT = "cut"  # the answer broke off on its way
    SILENT = "silent"  # nothing came for too long
    OVERTIME = "overtime"  # the whole call took too long
    EMPTY = "empty"  # an answer without words
    MALFORMED = "malformed"  # not of the protocol
    DENIED = "denied"  # the key was refused
    UNPAID = "unpaid"  # the account has no credit
    UNKNOWN = "unknown"  # no such model or path
    TOO_LONG = "too long"  # the prompt does not fit
    REFUSED = "refused"  # the request was refused for another reason
    FILTERED = "filtered"  # the provider held the answer back
    LIMIT = "limit"  # the day's money is spent
    UNREADY = "unready"  # what the model runs on is not installed, or not there


class TransferError(GoatError):
    """An export or a backup cannot be written, or a backup cannot be restored; `path` is its file."""

    def __init__(self, path: Path, problem: str, remedy: str) -> None:
        self.path = path
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{printable(str(path))}: {problem}. {remedy}")


class ModelError(GoatError):
    """A language model gave no usable answer.

    `fault` says of which kind it is, `retry_after` for how many seconds the endpoint wants to be left alone, and
    `usage` what the call used all the same. `quoted` are the parts of `problem` that are somebody else's words.
    """

    def __init__(
        self,
        model: str,
        problem: str,
        remedy: str,
        fault: ModelFault = ModelFault.REFUSED,
        *,
        retry_after: float | None = None,
        usage: Usage | None = None,
        quoted: Sequence[str] = (),
    ) -> None:
        self.model = model
        self.problem = problem
        self.remedy = remedy
        self.fault = fault
        self.retry_after = retry_after
        self.usage = usage or Usage()
        self.quoted = tuple(words for words in quoted if words)
        super().__init__(f"The model {model} gave no answer: {problem}. {remedy}")

    def in_own_words(self, told: str) -> str:
        """A sentence about it without what the endpoint said: a traceback perhaps, or the number of a request."""
        for words in self.quoted:
            told = told.replace(words, "…")
        return told


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


def in_seconds(count: float) -> str:
    """A length of time, such as `1 second` or `2.5 seconds`."""
    return f"{count:g} second{'' if count == 1 else 's'}"


def nearest(name: str, known: Sequence[str]) -> str:
    """A clause that names the closest known word, empty when none is close."""
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
