"""Messages that a person changes after they were sent."""

from __future__ import annotations

from collections import OrderedDict
from datetime import timedelta
from typing import Final

from goat.interfaces.telegram.message import Message
from goat.ports.run import Clock

FRESH: Final = timedelta(hours=1)
"""A message that was sent longer ago is history: its edit is no wish to talk about it."""

KEPT: Final = 500
"""How many of the newest messages are known by their words."""


class Edits:
    """Tells an edit that says something from one that does not. It knows the newest messages since the start."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._said: OrderedDict[tuple[int, int], str] = OrderedDict()

    def heard(self, message: Message) -> None:
        """Take in a message that somebody sent and was let in with."""
        self._said[message.address.chat, message.id] = message.text
        while len(self._said) > KEPT:
            self._said.popitem(last=False)

    def judge(self, edit: Message) -> str | None:
        """The words that an edit takes the place of; None for one that is to be passed over.

        A command is never carried out by an edit. An edit that leaves the words as they were, as a link preview that
        appears does, is none; neither is that of a message sent more than an hour ago, or not known.
        """
        before = self._said.get((edit.address.chat, edit.id))
        if before is None or before.startswith("/") or edit.command is not None or not edit.text.strip():
            return None
        if edit.text == before or self._clock.now() - edit.at > FRESH:
            return None
        self.heard(edit)
        return before
