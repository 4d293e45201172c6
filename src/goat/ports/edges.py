"""Ports towards the people and services at the edge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from goat.records.arrivals import Admitted, Arrival, Invitation, NewArrival
from goat.records.deliveries import Outcome, Part, Preview, Undelivered
from goat.records.episodes import Episode, NewOutgoing, Outgoing, Use
from goat.records.history import ArchivedFact, ArchivedIdentity, BadRecord, HistoryRecord
from goat.records.tools import OfferedTool, Question, SourceState, ToolAnswer, Verdict


class Inbox(Protocol):
    """Deliveries that are kept before they are handled, each once. Raises `BackendUnavailable`."""

    async def take(self, channel: str, arrivals: Sequence[NewArrival]) -> list[Arrival]:
        """Commit deliveries, all or none; those whose number the channel had within the last days are passed over.

        Gives the new ones in their order.
        """
        ...

    async def waiting(self, channel: str) -> list[Arrival]:
        """What is not done, oldest first."""
        ...

    async def begin(self, ids: Sequence[int]) -> int:
        """Note that the handling of these begins, as one; how often that of the most tried one has begun now."""
        ...

    async def done(self, ids: Sequence[int], outcome: str) -> None:
        """Note how they ended; their bodies are dropped. The first outcome stands, an unknown id is fine."""
        ...


class Admissions(Protocol):
    """Who may use a channel, and the codes that let people in. Raises `BackendUnavailable`."""

    async def everybody(self, channel: str) -> list[Admitted]:
        """Who was let in, in that order."""
        ...

    async def admit(self, channel: str, admitted: Admitted) -> None:
        """Let somebody in; the newer entry for a number stands."""
        ...

    async def dismiss(self, channel: str, number: int) -> bool:
        """Take an entry away; False when there was none."""
        ...

    async def invite(self, channel: str, invitation: Invitation) -> Invitation:
        """Keep a code; it comes back with its id."""
        ...

    async def invitations(self, channel: str, now: datetime) -> list[Invitation]:
        """The codes that are neither used nor withdrawn and not expired by `now`, oldest first."""
        ...

    async def redeem(self, channel: str, id: int, admitted: Admitted) -> bool:
        """Use a code up and let somebody in, both or neither; False when it was used or withdrawn before."""
        ...

    async def withdraw(self, channel: str, id: int) -> None:
        """Make a code useless; an unknown id is fine."""
        ...


class Outbox(Protocol):
    """Committed replies that wait for their channel, and how far each has come. Raises `BackendUnavailable`.

    An answer enters by `Journal.append`, together with its episode; everything else that is said, by `put`. They leave
    a chat in the order in which they were committed.
    """

    async def put(self, reply: NewOutgoing) -> Outgoing | None:
        """Commit a reply that carries no episode; it comes back with its id, or None where its key was put before."""
        ...

    async def said(self, channel: str, key: str) -> bool:
        """Whether a reply was ever put under this key, delivered or not."""
        ...

    async def pending(self, channel: str, owner: str, chat: str) -> list[Outgoing]:
        """Replies that were not acknowledged, oldest first, with their parts by number."""
        ...

    async def waiting(self, channel: str) -> list[tuple[str, str]]:
        """The owners and chats that have pending replies; the one whose reply has waited longest comes first."""
        ...

    async def mark(self, id: int, part: Part | None, number: int = 0) -> None:
        """Keep where a part stands; None takes back that the part with this number was begun. Unknown ids are fine."""
        ...

    async def done(self, ids: list[int], outcome: Outcome = Outcome.DELIVERED, reason: str = "") -> None:
        """Acknowledge the delivery, good or bad; the first outcome stands, and an unknown id is fine.

        The words are deleted: what is kept is that there was a reply, and how it ended.
        """
        ...

    async def undelivered(self, channel: str, since: datetime) -> list[Undelivered]:
        """The replies of all owners that ended after `since` with another outcome than delivered, newest first."""
        ...

    async def preview(self, channel: str, owner: str, chat: str) -> Preview | None:
        """The message that shows the answer of this chat while it is written."""
        ...

    async def keep_preview(self, channel: str, owner: str, chat: str, shown: Preview | None) -> None:
        """Keep which message that is; None when there is none any more."""
        ...

    async def take_preview(self, reply: Outgoing, turn: str) -> Part | None:
        """Make the chat's preview the first part of a reply, as one that is being sent, in one transaction.

        None where there is no preview of this turn. The chat has no preview afterwards.
        """
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

    def episode(self, episode: Episode, indexed: bool, owner: str, use: Use | None = None) -> None:
        """Write an episode; `indexed` says whether a search can find it, `use` how often it was recalled.

        An empty `owner` leaves out whose it is.
        """
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
        """Show the question and wait for the answer; True is a yes. It is cancelled when the question expires.

        Raises `BackendUnavailable` when it cannot be shown.
        """
        ...

    async def settled(self, question: Question, verdict: Verdict) -> None:
        """Show how the question ended, where it was shown at all; called after the verdict is kept, never before."""
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


class ToolSource(Protocol):
    """A program of somebody else that offers tools. It may start late, change its tools, fail and come back."""

    @property
    def name(self) -> str:
        """The name that the settings give it."""
        ...

    @property
    def state(self) -> SourceState:
        """Whether it can be called now."""
        ...

    @property
    def trouble(self) -> str:
        """Why it is not ready, in words for a person and without secrets; empty while there is no reason."""
        ...

    def offered(self) -> tuple[OfferedTool, ...]:
        """The tools of its newest list, sorted by name; those of the list before while it is down. Never waits.

        The same tuple comes back until the list changes.
        """
        ...

    async def settled(self) -> None:
        """Wait until it was ready once, or has failed to start once."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call one of its tools. Raises `BackendUnavailable` when there is no answer, and why."""
        ...
