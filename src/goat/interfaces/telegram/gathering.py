"""Messages that an app split although they are one: a long paste, and the pictures of an album."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Final

from goat.interfaces.telegram.chunk import TEXT_UNITS, units
from goat.interfaces.telegram.message import Message

FULL: Final = 4000
"""From so many UTF-16 units on a message may be a part of a longer text: apps split at a blank before the limit."""

PASTE_SECONDS: Final = 2.0
"""How long the next part of a paste may take."""

ALBUM_SECONDS: Final = 0.8
"""How long the next picture of an album may take."""

ALBUM: Final = 10
"""The most pictures of an album."""

KEPT: Final = 200
"""How many of the newest parts are known by the whole that they belong to."""

_APART: Final = timedelta(seconds=3)
"""The parts of a paste are dated, to the second, no further apart than this."""


@dataclass(frozen=True, slots=True)
class Front:
    """The first `count` of the waiting messages are one; within `wait` seconds more of it may come."""

    count: int
    wait: float = 0.0


def front(waiting: Sequence[Message], quiet: float) -> Front:
    """How many of a lane's waiting messages, oldest first, make the next turn.

    `quiet` are the seconds since the newest of them arrived. A message that is whole by itself never waits.
    """
    if not waiting:
        return Front(0)
    album = waiting[0].album is not None
    belongs = _same_album if album else _same_paste
    count = next((place for place, pair in enumerate(pairwise(waiting), 1) if not belongs(*pair)), len(waiting))
    if count < len(waiting) or (album and count >= ALBUM):
        return Front(count)
    if album:
        return Front(count, max(0.0, ALBUM_SECONDS - quiet))
    return Front(count, max(0.0, PASTE_SECONDS - quiet) if _goes_on(waiting[-1]) else 0.0)


def whole_at(waiting: Sequence[Message], found: Callable[[Message], bool]) -> slice | None:
    """Where among a lane's waiting messages the one stands that is `found`, with the other parts of it."""
    start = 0
    while start < len(waiting):
        end = start + max(front(waiting[start:], 0.0).count, 1)
        if any(found(one) for one in waiting[start:end]):
            return slice(start, end)
        start = end
    return None


def joined(parts: Sequence[Message], sent: Sequence[Message] = ()) -> Message:
    """The one message that the parts are: the first, with the words and files of all. Raises `IndexError` for none.

    `sent` are the parts as they were at first, where some were edited: those show where the app cut.
    """
    first = parts[0]
    texts = [first.text]
    for (before, _), part in zip(pairwise(sent or parts), parts[1:], strict=True):
        cut_anywhere = before.album is None and units(before.text) >= TEXT_UNITS
        texts.append("" if cut_anywhere or not (before.text and part.text) else "\n")
        texts.append(part.text)
    return replace(
        first,
        text="".join(texts),
        addressed=any(part.addressed for part in parts),
        attachments=tuple(one for part in parts for one in part.attachments),
        extras=tuple(one for part in parts for one in part.extras),
    )


class Wholes:
    """Knows of which parts the newest long texts and albums were made: an edit of a part is one of the whole."""

    def __init__(self) -> None:
        self._wholes: OrderedDict[tuple[int, int], tuple[Sequence[Message], list[Message]]] = OrderedDict()

    def keep(self, parts: Sequence[Message]) -> None:
        """Take in the parts of a message, where there are several."""
        if len(parts) < 2:
            return
        whole = (tuple(parts), list(parts))
        for part in parts:
            self._wholes[part.address.chat, part.id] = whole
        while len(self._wholes) > KEPT:
            self._wholes.popitem(last=False)

    def numbers(self, message: Message) -> set[int]:
        """The ids of the message and of all parts of the whole that it belongs to."""
        return {message.id, *(one.id for one in self._parts(message))}

    def addressed(self, message: Message) -> bool:
        """Whether the bot is meant by the message or by another part of its whole."""
        return message.addressed or any(one.addressed for one in self._parts(message))

    def edited(self, edit: Message, before: str) -> tuple[Message, str]:
        """What an edit makes of the whole, and the words that this takes the place of.

        `before` are those of the part alone.
        """
        sent, parts = self._wholes.get((edit.address.chat, edit.id), ((), []))
        if not parts:
            return edit, before
        old = joined(parts, sent).text
        parts[:] = [edit if one.id == edit.id else one for one in parts]
        return replace(joined(parts, sent), update_id=edit.update_id, edited=True, album=None), old

    def _parts(self, message: Message) -> Sequence[Message]:
        return self._wholes.get((message.address.chat, message.id), ((), ()))[1]


def _same_album(before: Message, after: Message) -> bool:
    return before.album == after.album and before.sender.id == after.sender.id


def _same_paste(before: Message, after: Message) -> bool:
    follows = after.sender.id == before.sender.id and timedelta(0) <= after.at - before.at <= _APART
    own_start = after.command or after.cited or after.edited or after.forwarded != before.forwarded
    return _goes_on(before) and follows and not own_start and not _own_files(after)


def _goes_on(message: Message) -> bool:
    """Whether the app may have cut the message's text at its end."""
    return not _own_files(message) and not message.edited and units(message.text) >= FULL


def _own_files(message: Message) -> bool:
    return any(not one.cited for one in message.attachments)
