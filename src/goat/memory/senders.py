"""Who speaks in a history, and which of them is the one whose memory it becomes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from goat.errors import HistoryError, printable
from goat.records.episodes import Role
from goat.records.history import HistoryKind, HistoryRecord

MOST: Final = 10_000
"""How many senders are told apart while they are counted."""

LISTED: Final = 20
"""How many senders an error names."""


@dataclass(frozen=True, slots=True)
class Sender:
    """A person of a history. `id` is the export's, or the name where it has none."""

    id: str
    name: str
    messages: int

    @property
    def counted(self) -> str:
        """How much they said, as a person reads it."""
        return "1 message" if self.messages == 1 else f"{self.messages:,} messages"


class Senders:
    """Counts the messages of each sender, and learns what the export says about which of them exported it."""

    def __init__(self) -> None:
        self._messages: Counter[str] = Counter()
        self._names: dict[str, str] = {}
        self._own: set[str] = set()
        self._says_own = False

    def note(self, record: HistoryRecord) -> None:
        """Count a person's message. Those of assistants are nobody's words."""
        if record.own is not None:
            self._says_own = True
        if record.role is Role.ASSISTANT:
            return
        sender = record.sender_id or record.sender_name
        if not sender or (sender not in self._names and len(self._names) >= MOST):
            return
        self._messages[sender] += 1
        self._names[sender] = record.sender_name or sender
        if record.own:
            self._own.add(sender)

    @property
    def all(self) -> list[Sender]:
        """The senders, the one with the most messages first."""
        return [Sender(sender, self._names[sender], count) for sender, count in self._messages.most_common()]

    @property
    def says_own(self) -> bool:
        """Whether the export itself tells the exporting person's messages from others."""
        return self._says_own

    def named(self, name: str) -> list[Sender]:
        """The senders with this id, or else with this name in any case."""
        exact = [sender for sender in self.all if sender.id == name]
        return exact or [sender for sender in self.all if sender.name.casefold() == name.casefold()]

    def as_exported(self) -> Sides:
        """The owner is the exporting person, also where a chat does not say so but their id is known from another."""
        known = frozenset(self._own) if len(self._own) == 1 else frozenset[str]()
        return Sides(known, trusts_export=True, names=frozenset(self._names[sender] for sender in self._own))

    def with_owner(self, owner: Sender | None) -> Sides:
        """The owner is this sender, or none of them."""
        if owner is None:
            return Sides(frozenset())
        return Sides(frozenset((owner.id,)), names=frozenset((owner.name,)))


@dataclass(frozen=True, slots=True)
class Sides:
    """Tells the owner's words from those of others. `ids` are the owner's; with `trusts_export` what the export says of
    a message counts before them. `names` are what the owner is called."""

    ids: frozenset[str]
    trusts_export: bool = False
    names: frozenset[str] = frozenset()

    def is_owner(self, record: HistoryRecord) -> bool:
        """Whether the owner sent the message."""
        if self.trusts_export and record.own is not None:
            return record.own
        return (record.sender_id or record.sender_name) in self.ids

    def speaker(self, record: HistoryRecord) -> str:
        """Whose words a message holds: empty for the owner's own.

        A forwarded message holds the words of the one who wrote it. An event of a chat is the chat's own; other words
        that nobody is named for are the owner's, where the export does not say whose they are.
        """
        if record.forwarded_from:
            return "" if record.forwarded_from in self.names else record.forwarded_from
        if record.role is Role.USER and self.is_owner(record):
            return ""
        named = record.sender_name or record.sender_id
        is_chats = record.role is Role.USER and (self.trusts_export or record.kind is HistoryKind.SERVICE)
        return named or (record.chat_title if is_chats else "")


def choose_sides(senders: Senders, path: Path, me: str | None) -> Sides:
    """Whose words are whose, when the person who imports says `me` (empty: none of the senders; None: nothing).

    Raises `HistoryError` when nobody is called so, when several are, and when nothing is said about several senders of
    whom the export does not tell which one is the owner.
    """
    if me is None and senders.says_own:
        return senders.as_exported()
    if me is None and len(senders.all) > 1:
        remedy = f'Name yourself with --me NAME, or none of them with --me "". They are: {_listed(senders.all)}.'
        raise HistoryError(path, None, "it does not tell which of its senders you are", remedy)
    if not me:
        return senders.with_owner(None)
    called = senders.named(me)
    if len(called) > 1:
        ids = ", ".join(f"{printable(sender.id)} ({sender.counted})" for sender in called)
        raise HistoryError(path, None, f"several senders are called {printable(me)}", f"Name one by its id: {ids}.")
    if not called:
        found = f"Its senders are: {_listed(senders.all)}." if senders.all else "It names nobody; leave --me out."
        raise HistoryError(path, None, f"nobody in it is called {printable(me)}", found)
    return senders.with_owner(called[0])


def _listed(senders: list[Sender]) -> str:
    shown = [f"{printable(sender.name)} ({sender.counted})" for sender in senders[:LISTED]]
    more = len(senders) - LISTED
    return ", ".join([*shown, f"and {more:,} more"] if more > 0 else shown)
