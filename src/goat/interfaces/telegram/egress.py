"""What goes out to Telegram: every reply is committed first, then delivered, in one order for each place.

A place is an owner's chat or forum topic. Places do not wait for one another; what Telegram wants to be left alone
waits without holding up the rest.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Final, Self

from goat.errors import BackendUnavailable
from goat.failpoints import reach
from goat.interfaces.telegram.access import Admin
from goat.interfaces.telegram.address import CHANNEL, Address
from goat.interfaces.telegram.carrying_on import carrying_on
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.delivery import Delivery, Ending
from goat.interfaces.telegram.envelope import Envelope
from goat.interfaces.telegram.pauses import Pauses
from goat.interfaces.telegram.presence import Presence
from goat.interfaces.telegram.streaming import Live
from goat.interfaces.texts import texts_for
from goat.ports.edges import Outbox
from goat.ports.run import Clock
from goat.records.deliveries import Outcome, Undelivered
from goat.records.episodes import NewOutgoing, Outgoing
from goat.records.turns import Notice

Place = tuple[str, str]
"""An owner and the name of a chat in the journal."""

SUBJECT: Final = "telegram delivery"

_REMEMBERED: Final = timedelta(days=1)
_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class EgressStatus:
    """How delivery stands: places with replies that wait, the last day's that did not arrive, chats to be left alone
    (their ids, and for how many seconds)."""

    waiting: int
    undelivered: tuple[Undelivered, ...]
    paused: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the egress asks and tells the rest of the front door.

    `admin` gives the admin, as far as they are known, and `called` the name of a place, empty where it is not known;
    `moved` is told the old and the new id of a group that became a supergroup; `closed` the place that nothing can be
    delivered to any more, and why; `doubted` the reply of which nobody knows whether all of it arrived.
    """

    notice: Callable[[Notice], None]
    admin: Callable[[], Admin | None]
    called: Callable[[Address], str]
    moved: Callable[[int, int], Awaitable[None]]
    closed: Callable[[Address, str], Awaitable[None]]
    doubted: Callable[[Outgoing], Awaitable[None]]


class Egress:
    """Delivers the replies of the channel `telegram`. Entered, it begins with what an earlier process left."""

    def __init__(self, client: TelegramClient, outbox: Outbox, clock: Clock, around: Surroundings) -> None:
        self._client = client
        self._outbox = outbox
        self._clock = clock
        self._around = around
        self._pauses = Pauses(clock)
        self._presence = Presence(client, clock)
        self._delivery = Delivery(client, outbox, self._pauses, around.moved)
        self._lanes: dict[Place, asyncio.Task[None]] = {}
        self._again: set[Place] = set()
        self._live: dict[Place, Live] = {}
        self._handing_over: set[asyncio.Task[None]] = set()
        self._failures: Counter[int] = Counter()
        self._told: set[tuple[Place, Outcome]] = set()
        self._ended = False

    async def __aenter__(self) -> Self:
        for owner, chat in await self._outbox.waiting(CHANNEL):
            self.wake(owner, chat)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        tasks = [*self._lanes.values(), *self._handing_over]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def wake(self, owner: str, chat: str) -> None:
        """Look for new replies in a place; told after each commit there."""
        place = (owner, chat)
        self._again.add(place)
        if place not in self._lanes and not self._ended:
            self._lanes[place] = asyncio.create_task(self._lane(place), name=f"deliver {chat}")

    async def say(
        self, owner: str, address: Address, text: str, envelope: Envelope | None = None, key: str | None = None
    ) -> None:
        """Commit a reply that belongs to no turn, in the order of its place; returns before it is sent.

        What was said under the same `key` before is not said again. Raises `BackendUnavailable` when it cannot be kept.
        """
        extra = (envelope or Envelope(plain=True)).packed()
        await self._outbox.put(NewOutgoing(owner, address.name, CHANNEL, text, extra, key))
        self.wake(owner, address.name)

    async def said(self, key: str) -> bool:
        """Whether something was said under a key, by this process or an earlier one. Raises `BackendUnavailable`."""
        return await self._outbox.said(CHANNEL, key)

    @asynccontextmanager
    async def turn(self, owner: str, address: Address, envelope: Envelope) -> AsyncIterator[Live]:
        """Show that a turn runs and what it writes, and deliver its answer as soon as that is committed.

        The turn's `Incoming.extra` must be the packed envelope, and its `turn` name the message that is answered. When
        the block raises before that, what was shown so far stays in the chat, marked as cut off.
        """
        place = (owner, address.name)
        live = Live(
            self._client,
            self._outbox,
            self._pauses,
            self._clock,
            owner,
            address,
            envelope,
            lambda: self._settled(place),
            self._around.notice,
        )
        self._live[place] = live
        handing_over = asyncio.create_task(self._hand_over(place, live), name=f"hand over {address.name}")
        self._handing_over.add(handing_over)
        handing_over.add_done_callback(self._handing_over.discard)
        try:
            async with self._presence.typing(address):
                yield live
        except BaseException:
            await live.stop()
            if not live.committed.is_set():
                kept = f"The text in {address.name} that broke off is kept as one being written, until the next answer"
                with carrying_on(self._around.notice, kept):
                    await live.abandon()
            raise
        finally:
            live.committed.set()
            await asyncio.shield(handing_over)  # a turn that is ended twice must not end this

    async def _hand_over(self, place: Place, live: Live) -> None:
        """When an answer is committed, or will not come, end the showing of it and look for what is to be delivered."""
        await live.committed.wait()
        await live.stop()
        live.ended.set()
        if self._live.get(place) is live:
            del self._live[place]
        self.wake(*place)

    def typing_paused(self, address: Address) -> AbstractContextManager[None]:
        """Show no typing inside the block."""
        return self._presence.paused(address)

    async def status(self) -> EgressStatus:
        """How delivery stands. Raises `BackendUnavailable`."""
        waiting = await self._outbox.waiting(CHANNEL)
        undelivered = await self._outbox.undelivered(CHANNEL, self._clock.now() - _REMEMBERED)
        return EgressStatus(len(waiting), tuple(undelivered), self._pauses.left)

    async def drain(self, seconds: float) -> bool:
        """Wait until everything is delivered, at most some seconds; False when something waits on."""
        lanes = set(self._lanes.values())
        if not lanes:
            return True
        _, late = await asyncio.wait(lanes, timeout=seconds)
        return not late

    async def _settled(self, place: Place) -> None:
        """Wait until nothing is being delivered in a place."""
        while (lane := self._lanes.get(place)) is not None:
            await asyncio.wait({lane})

    async def _lane(self, place: Place) -> None:
        """Deliver what waits in a place, until nothing does."""
        unavailable = 0
        try:
            while place in self._again:
                self._again.discard(place)
                try:
                    await self._deliver_all(place)
                    unavailable = 0
                except BackendUnavailable as failure:
                    unavailable += 1
                    if unavailable == 1:
                        self._around.notice(Notice(SUBJECT, str(failure)))
                    self._again.add(place)
                    await self._pauses.back_off(unavailable)
        finally:
            del self._lanes[place]

    async def _deliver_all(self, place: Place) -> None:
        for reply in await self._outbox.pending(CHANNEL, *place):
            try:
                await self._deliver(reply)
            except BackendUnavailable:
                raise
            except Exception as bug:  # noqa: BLE001 - one reply that cannot be handled must not hold up the others
                await self._after_bug(reply, bug)
                self._again.add(place)
                return

    async def _deliver(self, reply: Outgoing) -> None:
        live = self._live.get((reply.owner, reply.chat))
        if live is not None and reply.episode_id is not None and reply.extra.get("turn") == live.turn:
            await live.ended.wait()
        ending = await self._delivery.run(reply)
        if ending.outcome is Outcome.UNKNOWN and not Envelope.opened(reply.extra).doubt:
            await self._around.doubted(reply)  # before its end is kept, so that a kill in between cannot swallow it
        await self._outbox.done([reply.id], ending.outcome, ending.reason)
        reach("telegram_delivered")
        await self._tell(reply, ending)

    async def _after_bug(self, reply: Outgoing, bug: Exception) -> None:
        """Let a reply that failed in a way nobody foresaw be tried again, three times in all."""
        self._failures[reply.id] += 1
        told = f"a reply to {reply.chat} failed: {type(bug).__name__}"
        self._around.notice(Notice(SUBJECT, told, {"error": repr(bug)}))
        if self._failures[reply.id] < _TRIES:
            await self._pauses.back_off(self._failures[reply.id])
            return
        del self._failures[reply.id]
        await self._outbox.done([reply.id], Outcome.UNDELIVERED, f"{type(bug).__name__} in GOAT itself")

    async def _tell(self, reply: Outgoing, ending: Ending) -> None:
        """Let the log, the front door and the admin know of what did not arrive, or perhaps not; the admin once for
        each place."""
        place = (reply.owner, reply.chat)
        if ending.outcome is Outcome.DELIVERED:
            self._told -= {(place, Outcome.UNDELIVERED), (place, Outcome.UNKNOWN)}
            return
        address = Address.parse(reply.chat)
        name = self._around.called(address)
        whom = f"{name} ({reply.chat})" if name else reply.chat
        self._around.notice(Notice(SUBJECT, f"a reply to {whom} is {ending.outcome}: {ending.reason}"))
        if ending.closed:
            await self._around.closed(address, ending.reason)
        admin = self._around.admin()
        if admin is None or (place, ending.outcome) in self._told:
            return
        self._told.add((place, ending.outcome))
        if admin.home.chat != address.chat:
            say = texts_for(admin.language)
            key = "egress.undelivered" if ending.outcome is Outcome.UNDELIVERED else "egress.perhaps"
            await self.say(admin.owner, admin.home, say(key, chat=name or reply.chat, reason=say.told(ending.reason)))
