"""What a chat is told when nobody knows whether a reply arrived whole: one line, with a button that sends it again.

Nothing is sent twice by itself; the press is the decision of the person who sees what is there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.buttons import Buttons, Meaning
from goat.interfaces.telegram.carrying_on import carrying_on
from goat.interfaces.telegram.client import Button, TelegramClient
from goat.interfaces.telegram.egress import Egress
from goat.interfaces.telegram.envelope import Envelope
from goat.interfaces.telegram.failures import BotApiError
from goat.interfaces.telegram.message import Tap
from goat.interfaces.texts import texts_for
from goat.ports.stores import Journal
from goat.records.episodes import Outgoing
from goat.records.turns import Notice

KIND: Final = "again"


class Doubts:
    """Says that a reply may be missing, and sends an answer again. Its words come from the archive: a reply that is no
    answer, such as that to a command, has no button."""

    def __init__(
        self,
        egress: Egress,
        journal: Journal,
        buttons: Buttons,
        client: TelegramClient,
        notice: Callable[[Notice], None],
    ) -> None:
        self._egress = egress
        self._journal = journal
        self._buttons = buttons
        self._client = client
        self._notice = notice
        buttons.on(KIND, self._pressed)

    async def tell(self, reply: Outgoing) -> None:
        """Commit the line, behind what waits in its place. Raises `BackendUnavailable`."""
        language = Envelope.opened(reply.extra).language
        say = texts_for(language)
        row: tuple[Button, ...] = ()
        if reply.episode_id is not None:
            meaning = Meaning(KIND, f"{reply.episode_id} {reply.owner}", reply.chat, once=True)
            with carrying_on(self._notice, f"The button that sends a reply again is missing in {reply.chat}"):
                row = (await self._buttons.make(say("doubt.button"), meaning),)
        envelope = Envelope(plain=True, buttons=(row,) if row else (), language=language, doubt=True)
        key = f"reply {reply.id}:doubt"
        await self._egress.say(reply.owner, Address.parse(reply.chat), say("doubt.line"), envelope, key)

    async def _pressed(self, tap: Tap, meaning: Meaning) -> str:
        number, _, owner = meaning.value.partition(" ")
        address = Address.parse(meaning.chat)
        for answer in await self._journal.episodes(owner, [int(number)]):
            await self._egress.say(owner, address, answer.text, Envelope(language=tap.sender.language))
            if tap.message_id is not None:
                with suppress(BotApiError):  # the button does nothing any more, whether it is seen or not
                    await self._client.edit_buttons(address.chat, tap.message_id)
            return ""
        return texts_for(tap.sender.language)("doubt.forgotten")
