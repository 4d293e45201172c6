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
from goat.interfaces.texts import texts_for
from goat.records.arrivals import Admitted, Role

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

    async def stranger(self, message: Message) -> str:
        """Let in whoever has a code, in a private chat; tell others once that the bot is not for everybody."""
        if not message.address.private or message.edited:
            return "refused"
        opened_with = message.command is not None and message.command.name == "start" and message.command.rest
        code = code_in(opened_with or message.text)
        say = texts_for(message.sender.language)
        if not code or message.forwarded:
            if message.sender.id not in self._told and len(self._told) < STRANGERS:
                self._told.add(message.sender.id)
                await self._tell(message.address, say("access.private", number=str(message.sender.id)))
            return "refused"
        if not self._access.may_try(message.sender.id):
            return "refused: too many codes"
        entry = await self._access.redeem(code, message.sender)
        if entry is None:
            await self._tell(message.address, say("access.wrong_code"))
            return "refused: wrong code"
        await self._welcome(entry, message)
        return "let in"

    async def _tell(self, address: Address, text: str) -> None:
        """Say something to somebody who has no memory here, if it gets through."""
        with suppress(BotApiError):
            await self._client.send_text(address, text)

    async def _welcome(self, entry: Admitted, message: Message) -> None:
        say = texts_for(message.sender.language)
        told = say("access.welcome_admin") if entry.role is Role.ADMIN else say("access.welcome")
        envelope = Envelope(plain=True, language=message.sender.language)
        await self._egress.say(entry.owner, message.address, told, envelope)
        admin = self._access.admin
        if admin is not None and entry.role is not Role.ADMIN:
            owner, home = admin
            joined = texts_for("")("access.joined", name=entry.name, number=str(entry.number))
            await self._egress.say(owner, home, joined)
        await self._arrived(entry)
