"""The offer to go on, below an answer that had to be given before the model was done with its tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final, Protocol

from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.buttons import Buttons, Meaning
from goat.interfaces.telegram.client import Button
from goat.interfaces.telegram.client import Buttons as Keyboard
from goat.interfaces.telegram.failures import BotApiError
from goat.interfaces.telegram.message import Sender, Tap
from goat.interfaces.texts import texts_for

KIND: Final = "continue"

Resume = Callable[[Address, Sender, str], Awaitable[None]]
"""Lets a person say something in a place, as if it had been written there."""


class Keyboards(Protocol):
    """What is needed of the Bot API."""

    async def edit_buttons(self, chat: int, message: int, buttons: Keyboard = ()) -> None:
        """Change the buttons of a message. Raises `BotApiError`."""
        ...


class Continuing:
    """Makes the offer, and lets the turn go on when the one who asked takes it, once."""

    def __init__(self, buttons: Buttons, keyboards: Keyboards, resume: Resume) -> None:
        self._buttons = buttons
        self._keyboards = keyboards
        self._resume = resume
        buttons.on(KIND, self._pressed)

    async def offer(self, address: Address, sender: Sender) -> tuple[str, Button]:
        """What is said below the answer, and the button. Raises `BackendUnavailable`."""
        say = texts_for(sender.language)
        meaning = Meaning(KIND, "", address.name, sender.id, once=True)
        return say("continuing.offer"), await self._buttons.make(say("continuing.button"), meaning)

    async def _pressed(self, tap: Tap, meaning: Meaning) -> str:
        forum = tap.address is not None and tap.address.forum
        address = replace(Address.parse(meaning.chat), forum=forum)
        await self._resume(address, tap.sender, texts_for(tap.sender.language)("continuing.words"))
        if tap.message_id is not None:
            with suppress(BotApiError):  # the button does nothing any more, whether it is seen or not
                await self._keyboards.edit_buttons(address.chat, tap.message_id)
        return ""
