"""The delivery of one reply, part by part, so that nothing is lost and nothing is said twice.

Before a part is sent it is marked as being sent; after a kill in between nobody knows whether it arrived, and it is not
sent again. An edit may be repeated: where a preview stands, it becomes the first part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from goat.failpoints import reach
from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.client import Buttons, TelegramClient
from goat.interfaces.telegram.envelope import Envelope
from goat.interfaces.telegram.failures import (
    BotApiError,
    ChatMoved,
    OutcomeUnknown,
    Refused,
    SlowDown,
)
from goat.interfaces.telegram.pauses import Pauses
from goat.interfaces.telegram.render import Chunk
from goat.ports.edges import Outbox
from goat.records.deliveries import Outcome, Part, PartState
from goat.records.episodes import Outgoing

_EDIT_TRIES: Final = 10


@dataclass(frozen=True, slots=True)
class Ending:
    """How a delivery ended. `closed` says that nothing can be delivered to this place."""

    outcome: Outcome
    reason: str = ""
    closed: bool = False


@dataclass(slots=True)
class _Job:
    """One reply on its way."""

    reply: Outgoing
    address: Address
    reply_to: int | None
    parts: dict[int, Part] = field(default_factory=dict)
    failures: int = 0
    reason: str = ""


class Delivery:
    """Delivers replies. `moved` is told when a group became a supergroup: the old id and the new one."""

    def __init__(
        self, client: TelegramClient, outbox: Outbox, pauses: Pauses, moved: Callable[[int, int], Awaitable[None]]
    ) -> None:
        self._client = client
        self._outbox = outbox
        self._pauses = pauses
        self._moved = moved

    async def run(self, reply: Outgoing) -> Ending:
        """Deliver what is not delivered of a reply; returns when nothing more can be done for it.

        While Telegram cannot be reached, or wants to be left alone, it goes on waiting. Raises `BackendUnavailable`
        when the outbox cannot be written: then the reply is as far as its parts say.
        """
        envelope = Envelope.opened(reply.extra)
        try:
            chunks = await _chunks(envelope, reply.text)
        except OSError as missing:
            return Ending(Outcome.UNDELIVERED, f"its file cannot be read: {missing.strerror}")
        reply_to = None if reply.parts else envelope.reply_to
        job = _Job(reply, Address.parse(reply.chat), reply_to, {part.number: part for part in reply.parts})
        await self._take_preview(job, envelope, chunks[0])
        try:
            for number, chunk in enumerate(chunks[:-1]):
                if await self._bring(job, number, chunk):
                    await self._outbox.mark(reply.id, job.parts[number])
            await self._bring(job, len(chunks) - 1, chunks[-1], envelope.buttons)  # its end is that of the reply
        except Refused as refusal:
            return Ending(Outcome.UNDELIVERED, refusal.reason, closed=True)
        return _ending(job)

    async def _take_preview(self, job: _Job, envelope: Envelope, first: Chunk) -> None:
        """Let the first part take the place of the preview; a file cannot, so then the preview goes."""
        if not envelope.turn or job.parts:
            return
        taken = await self._outbox.take_preview(job.reply, envelope.turn)
        if taken is None or taken.message is None:
            return
        if first.document is None:
            job.parts[0] = taken
            return
        await self._remove(job, taken.message)
        await self._outbox.mark(job.reply.id, None)

    async def _remove(self, job: _Job, message: int) -> None:
        """Take a preview away, if it is still there and Telegram lets us."""
        with suppress(BotApiError):
            await self._client.delete_message(job.address.chat, message)

    async def _bring(self, job: _Job, number: int, chunk: Chunk, buttons: Buttons = ()) -> bool:
        """Deliver one part, whatever comes of it; False where its end was known before."""
        part = job.parts.get(number)
        if part is not None and part.state is not PartState.SENDING:
            return False
        if part is None:
            state = await self._send(job, number, chunk, buttons)
        elif part.message is None:
            job.reason = "nobody knows whether it was sent before GOAT broke off"
            state = PartState.UNKNOWN
        else:
            state = await self._edit(job, part.message, chunk, buttons)
        job.parts[number] = Part(number, state)
        return True

    async def _send(self, job: _Job, number: int, chunk: Chunk, buttons: Buttons) -> PartState:
        while True:
            await self._pauses.over(job.address.chat)
            await self._outbox.mark(job.reply.id, Part(number, PartState.SENDING))
            try:
                await self._call(job, chunk, buttons)
            except OutcomeUnknown as unknown:
                job.reason = unknown.reason
                return PartState.UNKNOWN
            except BotApiError as failure:
                await self._outbox.mark(job.reply.id, None, number)  # for certain it was not sent
                again = await self._after(job, chunk, failure)
                if again is None:
                    return PartState.REFUSED
                chunk = again
            else:
                reach("telegram_sent")
                return PartState.SENT

    async def _call(self, job: _Job, chunk: Chunk, buttons: Buttons) -> None:
        if chunk.document is not None:
            await self._client.send_document(job.address, chunk.document, reply_to=job.reply_to, buttons=buttons)
        else:
            await self._client.send_text(
                job.address, chunk.text, chunk.entities, reply_to=job.reply_to, buttons=buttons
            )
        job.reply_to = None

    async def _edit(self, job: _Job, message: int, chunk: Chunk, buttons: Buttons) -> PartState:
        """Give the preview its final text. Where it is gone, the text is sent."""
        while True:
            await self._pauses.over(job.address.chat)
            try:
                await self._client.edit_text(job.address.chat, message, chunk.text, chunk.entities, buttons=buttons)
            except OutcomeUnknown as unknown:
                job.failures += 1
                if job.failures > _EDIT_TRIES:
                    job.reason = unknown.reason
                    return PartState.UNKNOWN
                await self._pauses.back_off(job.failures)
            except BotApiError as failure:
                again = await self._after(job, chunk, failure)
                if again is None:
                    await self._remove(job, message)
                    return await self._send(job, 0, chunk, buttons)
                chunk = again
            else:
                job.reply_to = None
                reach("telegram_sent")
                return PartState.SENT

    async def _after(self, job: _Job, chunk: Chunk, failure: BotApiError) -> Chunk | None:
        """What to try next, after a call that certainly had no effect; None when nothing helps.

        Raises `Refused` when nothing can be sent to this place at all.
        """
        chat = job.address.chat
        if isinstance(failure, SlowDown):
            self._pauses.hold(chat, failure.seconds)
            return chunk
        if isinstance(failure, ChatMoved):
            await self._moved(chat, failure.new_chat)
            job.address = Address(failure.new_chat, job.address.topic)
            return chunk
        if not isinstance(failure, Refused):
            job.failures += 1
            await self._pauses.back_off(job.failures)
            return chunk
        if failure.place_gone:
            raise failure
        if failure.reply_gone and job.reply_to is not None:
            job.reply_to = None
            return chunk
        if failure.unparsable and chunk.entities:
            return chunk.plain()
        job.reason = failure.reason
        return None


async def _chunks(envelope: Envelope, text: str) -> tuple[Chunk, ...]:
    return envelope.chunks(text) if envelope.file is None else await asyncio.to_thread(envelope.chunks, text)


def _ending(job: _Job) -> Ending:
    states = {part.state for part in job.parts.values()}
    if PartState.REFUSED in states:
        return Ending(Outcome.UNDELIVERED, job.reason)
    if PartState.UNKNOWN in states:
        return Ending(Outcome.UNKNOWN, job.reason)
    return Ending(Outcome.DELIVERED)
