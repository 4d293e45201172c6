"""Ports towards the people and services at the edge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Protocol

from goat.records.episodes import Episode, Outgoing
from goat.records.history import ArchivedFact, ArchivedIdentity, BadRecord, HistoryRecord
from goat.records.tools import Question, Verdict


class Outbox(Protocol):
    """Committed replies that wait for their channel. Raises `BackendUnavailable`."""

    async def pending(self, channel: str, owner: str, chat: str) -> list[Outgoing]:
        """Replies that were not acknowledged, oldest first."""
        ...

    async def done(self, ids: list[int]) -> None:
        """Acknowledge delivery; an unknown id is fine."""
        ...


class HistorySource(Protocol):
    """A chat history in a file that a person brings. Memory does not grow with the file."""

    @property
    def format(self) -> str:
        """The name of the format, as a person would say it."""
        ...

    @property
    def size(self) -> int:
        """The bytes that are to be read: a record's `position` runs from 0 up to this."""
        ...

    def read(self, on_bad: Callable[[BadRecord], None] | None = None) -> Iterator[HistoryRecord]:
        """The records in the order of the file; each call reads it anew, and closing the iterator closes the file.

        Without `on_bad` the first record that cannot be imported raises `HistoryError`. With it, such records are told
        to it and left out; where the file itself breaks off, that is told too and the reading ends. A file that can no
        longer be opened or read raises `HistoryError` in both cases.
        """
        ...

    def values(self, on_bad: Callable[[BadRecord], None] | None, /) -> Iterator[ArchivedFact | ArchivedIdentity]:
        """The facts and identity texts beside the records, each oldest first; only our own export has any.

        Bad ones are handled as `read` does it.
        """
        ...


class HistoryWriter(Protocol):
    """Writes our own export. What it writes, a `HistorySource` reads back as an equal one."""

    def begin(self, about: Mapping[str, str]) -> None:
        """Start the export; `about` is for a reader's eyes. Called once, before everything else."""
        ...

    def episode(self, episode: Episode, indexed: bool, owner: str) -> None:
        """Write an episode; `indexed` says whether a search can find it. An empty `owner` leaves out whose it is."""
        ...

    def value(self, value: ArchivedFact | ArchivedIdentity) -> None:
        """Write a fact or an identity text."""
        ...


class Asker(Protocol):
    """Asks a person whether a call may run."""

    def reaches(self, owner: str, chat: str) -> bool:
        """Whether it can put a question to this owner in this chat now."""
        ...

    async def ask(self, question: Question) -> bool:
        """Show the question and wait for the answer; True is a yes. It is cancelled when the question expires."""
        ...

    async def settled(self, question: Question, verdict: Verdict) -> None:
        """Show how the question ended; called after the verdict is kept, never before."""
        ...


class Approvals(Protocol):
    """The journal of what was asked and answered. Raises `BackendUnavailable`."""

    async def open(self, question: Question) -> Question:
        """Keep a question; it comes back with its id."""
        ...

    async def close(self, id: int, verdict: Verdict, at: datetime) -> bool:
        """Keep how it ended. The first verdict stands: False when there was one, or no such question."""
        ...

    async def granted(self, owner: str, tool: str) -> bool:
        """Whether the owner said yes to a question that covers later calls of this tool."""
        ...

    async def waiting(self) -> list[Question]:
        """Questions without a verdict, oldest first."""
        ...
