"""Ports towards the people and services at the edge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from goat.records.episodes import Episode, Outgoing
from goat.records.history import ArchivedFact, ArchivedIdentity, BadRecord, HistoryRecord


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
