"""How people get in: the code that the terminal shows, codes for guests, and what strangers are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from goat.interfaces.telegram.access import Access, code_in
from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.egress import Egress
from goat.interfaces.telegram.envelope import Envelope
from goat.interfaces.telegram.failures import BotApiError
from goat.interfaces.telegram.message import Message
from goat.interfaces.texts import Texts, texts_for
from goat.records.arrivals import Admitted, Arrival, Role

STRANGERS: Final = 200
"""How many strangers are told once that the bot is private; the others hear nothing."""


class Pairing:
    """Talks to those who were not let in yet. `arrived` is told who was."""

    def __init__(
        self,
        access: Access,
        client: TelegramClient,
        egress: Egress,
        arrived: Callable[[Admitted], Awaitable[None]],
    ) -> None:
        self._access = access
        self._client = client
        self._egress = egress
        self._arrived = arrived
        self._told: set[int] = set()
        self._slowed: set[int] = set()

    def code(self, message: Message) -> str:
        """The code that a message is, typed or behind a link; empty where it is none, or no person's own."""
        if not message.address.private or message.edited or message.forwarded:
            return ""
        opened_with = message.command is not None and message.command.name == "start" and message.command.rest
        return code_in(opened_with or message.text)

    async def stranger(self, arrival: Arrival, message: Message) -> str:
        """Let in whoever has a code, in a private chat; tell others once that the bot is not for everybody."""
        if not message.address.private or message.edited:
            return "refused"
        code = self.code(message)
        say = texts_for(message.sender.language)
        if not code:
            if message.sender.id not in self._told and len(self._told) < STRANGERS:
                self._told.add(message.sender.id)
                await self._tell(message.address, say("access.private", number=str(message.sender.id)))
            return "refused"
        if await self._egress.said(arrival.word()):
            return "let in"  # by this code, in a try whose end could not be noted
        if not self._access.may_try(message.sender.id):
            await self._slow_down(message, say)
            return "refused: too many codes"
        self._slowed.discard(message.sender.id)
        entry = await self._access.redeem(code, message.sender)
        if entry is None:
            await self._tell(message.address, say("access.wrong_code"))
            return "refused: wrong code"
        await self._welcome(entry, arrival, message)
        return "let in"

    async def _slow_down(self, message: Message, say: Texts) -> None:
        """Say when codes are looked at again, once to each person while they are not."""
        if message.sender.id not in self._slowed and len(self._slowed) < STRANGERS:
            self._slowed.add(message.sender.id)
            await self._tell(message.address, say("access.too_many_codes"))

    async def _tell(self, address: Address, text: str) -> None:
        """Say something to somebody who has no memory here, if it gets through."""
        with suppress(BotApiError):
            await self._client.send_text(address, text)

    async def _welcome(self, entry: Admitted, arrival: Arrival, message: Message) -> None:
        say = texts_for(message.sender.language)
        told = say("access.welcome_admin") if entry.role is Role.ADMIN else say("access.welcome")
        envelope = Envelope(plain=True, language=message.sender.language)
        await self._egress.say(entry.owner, message.address, told, envelope, arrival.word())
        admin = self._access.admin
        if admin is not None and entry.role is not Role.ADMIN:
            joined = texts_for(admin.language)("access.joined", name=entry.name, number=str(entry.number))
            await self._egress.say(admin.owner, admin.home, joined, key=arrival.word("joined"))
        await self._arrived(entry)
