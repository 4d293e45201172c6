"""An answer while it is written: one message that is edited as the text grows.

The newest text wins: nothing queues up behind a call that takes long or is put off. The message is remembered in the
outbox, so that the answer takes its place, even after a kill.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from goat.errors import BackendUnavailable
from goat.failpoints import reach
from goat.interfaces.telegram.address import CHANNEL, Address
from goat.interfaces.telegram.carrying_on import carrying_on
from goat.interfaces.telegram.chunk import TEXT_UNITS, Chunk
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.envelope import Envelope
from goat.interfaces.telegram.failures import BotApiError, NotSent, OutcomeUnknown, Refused, SlowDown
from goat.interfaces.telegram.pauses import Pauses
from goat.interfaces.telegram.render import render
from goat.ports.edges import Outbox
from goat.ports.run import Clock
from goat.records.deliveries import Preview
from goat.records.turns import Notice

PRIVATE_SECONDS: Final = 1.0
GROUP_SECONDS: Final = 3.0
"""The least time between two changes of the message: Telegram allows about one a second, in groups twenty a minute."""

_LEAST_CHARACTERS: Final = 30
_SLOWEST_SECONDS: Final = 30.0
_CUT: Final = " […]"


class Live:
    """Shows the answer of one turn. `on_text` takes the pieces as the model writes them.

    `settled` returns when the earlier replies of the chat are delivered. `ended` is set by the one who stopped it, when
    no change is on its way any more. `notice` is told when nothing can be shown because the outbox is away.
    """

    def __init__(
        self,
        client: TelegramClient,
        outbox: Outbox,
        pauses: Pauses,
        clock: Clock,
        owner: str,
        address: Address,
        envelope: Envelope,
        settled: Callable[[], Awaitable[None]],
        notice: Callable[[Notice], None],
    ) -> None:
        self._client = client
        self._outbox = outbox
        self._pauses = pauses
        self._clock = clock
        self._owner = owner
        self._address = address
        self._envelope = envelope
        self._settled = settled
        self._notice = notice
        self._every = PRIVATE_SECONDS if address.private else GROUP_SECONDS
        self._text = ""
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._call: asyncio.Task[None] | None = None
        self._message: int | None = None
        self._shown: Chunk | None = None
        self._given_up = False
        self._plainly = False
        self.committed = asyncio.Event()
        self.ended = asyncio.Event()

    @property
    def turn(self) -> str:
        """The turn whose answer this is."""
        return self._envelope.turn

    def on_text(self, piece: str) -> None:
        """The next piece of the answer."""
        self._text += piece
        self._news.set()
        if self._task is None and not self._given_up:
            self._task = asyncio.create_task(self._follow(), name=f"preview {self._address.name}")

    def on_answer(self) -> None:
        """The answer is committed: it is what the chat will show, whatever becomes of the turn."""
        self._given_up = True
        self.committed.set()

    async def stop(self) -> None:
        """Change nothing any more; a call that is under way is waited for, as its effect would come too late."""
        self._given_up = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._call is not None:
            await asyncio.gather(self._call, return_exceptions=True)

    async def abandon(self) -> None:
        """There will be no answer: what was written so far stays, marked as cut off."""
        if self._message is None:
            return
        chunk = _first(self._text, TEXT_UNITS - len(_CUT))
        if chunk is not None:
            cut = Chunk(chunk.text + _CUT, chunk.entities)
            with suppress(BotApiError):  # what stands there is what was written a moment before
                await self._client.edit_text(self._address.chat, self._message, cut.text, cut.entities)
        await self._outbox.keep_preview(CHANNEL, self._owner, self._address.name, None)

    async def _follow(self) -> None:
        """Show the newest text again and again, at most once in `every` seconds.

        Without the outbox the message could not be found again, so then nothing is shown.
        """
        unseen = f"The answer in {self._address.name} is not seen while it is written; it comes when it is complete"
        with carrying_on(self._notice, unseen):
            await self._clock.sleep(self._every)
            await self._settled()
            await self._resume()
            while not self._given_up:
                await self._news.wait()
                self._news.clear()
                await self._pauses.over(self._address.chat)
                chunk = self._newest()
                if chunk is not None and chunk != self._shown:
                    self._call = asyncio.create_task(self._show(chunk))
                    await asyncio.shield(self._call)
                await self._clock.sleep(self._every)
        self._given_up = True

    def _newest(self) -> Chunk | None:
        chunk = _first(self._text) if len(self._text) >= _LEAST_CHARACTERS else None
        return chunk.plain() if chunk is not None and self._plainly else chunk

    async def _resume(self) -> None:
        """Go on with the message of the same turn that an earlier process left; that of another turn stays as it is."""
        found = await self._outbox.preview(CHANNEL, self._owner, self._address.name)
        if found is not None and found.turn == self.turn:
            self._message = found.message
        elif found is not None:
            await self._outbox.keep_preview(CHANNEL, self._owner, self._address.name, None)

    async def _show(self, chunk: Chunk) -> None:
        try:
            if self._message is None:
                await self._begin(chunk)
            else:
                await self._client.edit_text(self._address.chat, self._message, chunk.text, chunk.entities)
            self._shown = chunk
            reach("telegram_preview")
        except SlowDown as slow:
            self._pauses.hold(self._address.chat, slow.seconds)
            self._slower()
        except NotSent:
            self._slower()
        except OutcomeUnknown:
            self._given_up |= self._message is None  # a second one might be seen beside the first
            self._slower()
        except Refused as refusal:
            self._given_up |= self._plainly or not refusal.unparsable
            self._plainly = True
        except BotApiError:
            self._given_up = True
        if self._shown is not chunk:
            self._news.set()

    async def _begin(self, chunk: Chunk) -> None:
        message = await self._client.send_text(
            self._address, chunk.text, chunk.entities, reply_to=self._envelope.reply_to
        )
        try:
            preview = Preview(self.turn, message)
            await self._outbox.keep_preview(CHANNEL, self._owner, self._address.name, preview)
        except BackendUnavailable:
            await self._client.delete_message(self._address.chat, message)
            raise
        self._message = message

    def _slower(self) -> None:
        self._every = min(2 * self._every, _SLOWEST_SECONDS)


def _first(text: str, limit: int = TEXT_UNITS) -> Chunk | None:
    """The first message of the text so far; None while there is nothing to be seen, or it will be a file."""
    chunks = render(text[: 2 * limit], limit)
    return chunks[0] if chunks and chunks[0].document is None else None
