"""Messages that an app split although they are one: a long paste, and the pictures of an album."""

from __future__ import annotations

from collections.abc import Sequence
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


def joined(parts: Sequence[Message]) -> Message:
    """The one message that the parts are: the first, with the words and files of all. Raises `IndexError` for none."""
    first = parts[0]
    texts = [first.text]
    for before, part in pairwise(parts):
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
