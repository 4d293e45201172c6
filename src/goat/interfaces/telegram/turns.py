"""The turns of all chats: what waits in a place becomes turns, one at a time, and what comes meanwhile joins them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import takewhile
from typing import Final

from goat.app import App
from goat.errors import BackendUnavailable, GoatError, MessageRefused, ModelError
from goat.interfaces.telegram.address import CHANNEL, Address
from goat.interfaces.telegram.asker import TelegramAsker
from goat.interfaces.telegram.carrying_on import carrying_on
from goat.interfaces.telegram.commands import Stopped, TelegramCommands
from goat.interfaces.telegram.continuing import Continuing
from goat.interfaces.telegram.egress import Egress
from goat.interfaces.telegram.envelope import Envelope
from goat.interfaces.telegram.files import Files, Received
from goat.interfaces.telegram.gathering import Wholes, front, joined, whole_at
from goat.interfaces.telegram.handling import Handling
from goat.interfaces.telegram.lanes import Lane, Lanes
from goat.interfaces.telegram.message import Message
from goat.interfaces.telegram.said import Running, Said
from goat.interfaces.telegram.turn_text import turn_text
from goat.interfaces.texts import Texts, texts_for
from goat.records.episodes import Incoming
from goat.records.turns import Notice, TurnResult

MOST_TOGETHER: Final = 100
"""How many messages of a backlog one reply answers."""

BACKLOG_SECONDS: Final = 1.0
"""How long more of a backlog is waited for."""


@dataclass(frozen=True, slots=True)
class Staff:
    """What the turns work with."""

    egress: Egress
    asker: TelegramAsker
    files: Files
    handling: Handling
    commands: TelegramCommands
    continuing: Continuing


class Turns:
    """Answers what was said. Entered into by `put`, ended by `close`."""

    def __init__(self, app: App, staff: Staff) -> None:
        self._app = app
        self._staff = staff
        self._clock = app.backends.clock
        self._settings = app.settings.telegram
        self._room = asyncio.Semaphore(self._settings.parallel_turns)
        self._lanes: Lanes[Said] = Lanes(self._clock, self._work, self._failed)
        self._running: dict[str, Running] = {}
        self._wholes = Wholes()
        self._ahead: dict[str, list[asyncio.Task[None]]] = {}
        self._free = asyncio.Event()
        self._free.set()

    # What comes in

    def put(self, said: Said) -> None:
        """Let a message be answered, after those that wait in its place."""
        name = said.message.address.name
        self._lanes.put(name, said)
        running = self._running.get(name)
        if running is None or not running.interruptible or self._settings.during_turn != "interrupt":
            return
        if said.message.addressed and said.message.sender.id == running.sender:
            running.end("interrupted")

    def continues(self, message: Message) -> bool:
        """Whether a message is a further part of what waits last in its place."""
        lane = self._lanes.find(message.address.name)
        return lane is not None and bool(lane.items) and front([lane.items[-1].message, message], 0).count > 1

    def meant(self, edit: Message) -> bool:
        """Whether an edited message is meant for the bot, by itself or as a part of something that is."""
        lane = self._lanes.find(edit.address.name)
        waiting = self._as_it_was(lane, edit)[1] if lane is not None else []
        return self._wholes.addressed(edit) or any(one.message.addressed for one in waiting)

    def again(self, said: Said) -> None:
        """Let an edited message be answered, as a whole where a part of it was edited.

        It takes the place of what still waits as it was; a turn that answers it as it was ends, and this comes first.
        """
        name, edit = said.message.address.name, said.message
        lane, running = self._lanes.find(name), self._running.get(name)
        places, waiting = self._as_it_was(lane, edit) if lane is not None else (None, [])
        self._wholes.keep([one.message for one in waiting])
        whole, before = self._wholes.edited(edit, said.before)
        said = replace(said, message=replace(whole, addressed=True), before=before)
        if lane is not None and places is not None:
            new = waiting[0].arrival.turn in (None, said.arrival.turn)  # nobody has answered the words as they were
            replaced = tuple(arrival for one in waiting for arrival in one.arrivals)
            lane.replace(places, replace(said, before=waiting[0].before if new else before, replaced=replaced))
        elif running is not None and not running.messages.isdisjoint(self._wholes.numbers(whole)):
            running.end("edited")
            self._lanes.put(name, said, first=True)
        else:
            self.put(said)

    def _as_it_was(self, lane: Lane[Said], edit: Message) -> tuple[slice | None, list[Said]]:
        """Where in a lane an edited message waits as it was, with the other parts of it."""
        waiting = [one.message for one in lane.items]
        places = whole_at(waiting, lambda one: edit.id in self._wholes.numbers(one))
        return places, list(lane.items)[places] if places is not None else []

    # What a person may do with turns

    def stop(self, address: Address, everything: bool = False) -> Stopped:
        """End the turn of a place, with `everything` also what waits there; what comes later is not touched.

        Where no turn runs yet, what waits is the turn.
        """
        running, lane = self._running.get(address.name), self._lanes.find(address.name)
        waiting = list(lane.items) if lane is not None else []
        dropped = waiting if everything or running is None else []
        if running is not None:
            running.end("stopped")
        if lane is not None and dropped:
            lane.items.clear()

        async def over() -> None:
            if dropped:
                ids = [arrival.id for one in dropped for arrival in one.arrivals]
                await self._app.backends.inbox.done(ids, "stopped")

        return Stopped(running is not None or bool(dropped), len(waiting) if running is not None else 0, over)

    def abandon(self, address: Address) -> Stopped:
        """The same with everything; it is over when no answer of it can appear any more."""
        running = self._running.get(address.name)
        task = running.task if running is not None else None
        stopped = self.stop(address, everything=True)

        async def over() -> None:
            await stopped.over()
            if task is not None:
                await asyncio.wait({task})

        return replace(stopped, over=over)

    def after(self, address: Address, work: asyncio.Task[None]) -> None:
        """Begin no turn in a place before some work has ended."""
        under_way = [one for one in self._ahead.get(address.name, []) if not one.done()]
        self._ahead[address.name] = [*under_way, work]

    def hold(self) -> None:
        """Begin no turns until `release`."""
        self._free.clear()

    def release(self) -> None:
        """Begin what waits."""
        self._free.set()

    @property
    def held(self) -> bool:
        """Whether no turns are begun."""
        return not self._free.is_set()

    @property
    def running(self) -> int:
        """How many turns are under way."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """How many messages wait."""
        return self._lanes.waiting

    async def close(self, seconds: float) -> None:
        """Begin nothing more, let turns end for some seconds, and leave the others to the next start."""
        await self._lanes.close(seconds if self._free.is_set() else 0)

    # From what waits to a turn

    async def _work(self, lane: Lane[Said]) -> None:
        if self.held:
            first = lane.items[0]
            await self._say(first, texts_for(first.message.sender.language)("door.held"), "held")
            await self._free.wait()
        group = await self._next(lane)
        if not group:
            return  # it was stopped while more of it was waited for
        running = self._of(group)
        say = texts_for(group[0].message.sender.language)
        try:
            self._running[lane.name] = running
            await self._staff.handling.run(
                running.arrivals,
                lambda: self._answer(lane, group, running, say),
                lambda: self._say(group[0], say("door.given_up", number=str(group[0].arrival.number))),
            )
        finally:
            del self._running[lane.name]

    def _of(self, group: Sequence[Said]) -> Running:
        messages = [one.message for one in group]
        if front(messages, 0.0).count == len(messages):
            self._wholes.keep(messages)
        numbers = set().union(*(self._wholes.numbers(one) for one in messages))
        arrivals = [arrival for one in group for arrival in one.arrivals]
        return Running(arrivals, numbers, messages[0].sender.id, not self._stale(group[0]))

    async def _next(self, lane: Lane[Said]) -> list[Said]:
        """Take the messages that make the next turn out of a lane."""
        while lane.items:
            if ahead := self._ahead.pop(lane.name, None):
                await asyncio.wait(ahead)
            elif (count := await self._ready(lane)) > 0:
                return [lane.items.popleft() for _ in range(count)]
        return []

    async def _ready(self, lane: Lane[Said]) -> int:
        """How many messages at the head of a lane make a turn; 0 after more of it was waited for."""
        turn = lane.items[0].arrival.turn
        if turn is not None:  # it was begun before: the same messages make it again
            return sum(1 for _ in takewhile(lambda one: one.arrival.turn == turn, lane.items))
        new = list(takewhile(lambda one: one.arrival.turn is None, lane.items))
        old = list(takewhile(self._stale, new))[:MOST_TOGETHER]
        if old:
            wait = max(0.0, BACKLOG_SECONDS - lane.quiet) if len(old) == len(lane.items) < MOST_TOGETHER else 0.0
            count = len(old)
        else:
            ahead = front([one.message for one in new], lane.quiet)
            count, wait = max(ahead.count, 1), ahead.wait
        if wait > 0:
            await lane.more(wait)
            return 0
        return count

    def _stale(self, said: Said) -> bool:
        return self._clock.now() - said.message.at > timedelta(hours=self._settings.backlog_hours)

    async def _answer(self, lane: Lane[Said], group: Sequence[Said], running: Running, say: Texts) -> str:
        """Run the turn in a task of its own, so that it can be ended without ending the lane; its outcome."""
        if running.over():
            return running.ended
        if (running.begun or group[0].arrival.tries) and await self._staff.egress.said(group[0].arrival.word()):
            return "told before"
        running.begun = True
        if not any(one.message.addressed for one in group):
            return "not meant for the bot"
        if len(group) > 1 and self._stale(group[0]):
            head, running.rest = group[0], list(group[1:])
            hours = int((self._clock.now() - head.message.at).total_seconds() // 3600)
            await self._say(head, say("door.backlog", n=len(group), hours=hours), "backlog")
        else:
            head = replace(group[0], message=joined([one.message for one in group]))
        if running.over():
            return running.ended
        running.task = task = asyncio.create_task(self._turn(lane, head, running, say), name=f"turn {lane.name}")
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        finally:
            running.task = None
        if task.cancelled() and running.over():
            if running.ended == "interrupted":
                await self._say(head, say("door.interrupted"))
            return running.ended
        return await task

    async def _turn(self, lane: Lane[Said], head: Said, running: Running, say: Texts) -> str:
        message, owner = head.message, head.guest.owner
        async with self._room:
            envelope = Envelope(head.key, self._reply_to(lane, message), language=message.sender.language)
            incoming = await self._incoming(head, envelope)
            if incoming is None:
                return "nothing to answer"
            try:
                with self._staff.asker.turn(message.address, message.sender):
                    async with self._staff.egress.turn(owner, message.address, envelope) as live:
                        result = await self._app.orchestrator.run(
                            incoming,
                            live.on_text,
                            more=lambda: self._more(lane, head, running),
                            on_answer=live.on_answer,
                        )
            except BackendUnavailable:
                raise
            except MessageRefused as refusal:
                await self._say(head, say.told(str(refusal)))
                return "refused"
            except GoatError as failure:
                await self._tell_failure(head, failure, say)
                return "failed"
        await self._answered(head, result)
        return "answered"

    def _reply_to(self, lane: Lane[Said], message: Message) -> int | None:
        """The message that an answer points to: where several people talk, or another message came meanwhile."""
        return message.id if message.id > 0 and (lane.items or not message.address.private) else None

    async def _incoming(self, said: Said, envelope: Envelope) -> Incoming | None:
        """The message as the turn takes it, with its files fetched; None when nothing is left to answer."""
        message = said.message
        received = Received()
        if message.attachments:
            received = await self._staff.files.receive(said.guest.owner, message)
        if received.notices:
            await self._say(said, "\n".join(received.notices), "files")
        if not (message.text or message.extras or message.cited or received.kept):
            return None
        return Incoming(
            owner=said.guest.owner,
            chat=message.address.name,
            text=turn_text(message, received.lines, said.before),
            at=said.arrival.arrived if message.edited else message.at,
            speaker="" if message.address.private else message.sender.name,
            source=CHANNEL,
            key=said.key,
            extra=envelope.packed(),
            outside=message.outside,
            language=message.sender.language,
        )

    async def _more(self, lane: Lane[Said], head: Said, running: Running) -> list[Incoming]:
        """What joins a turn now: the rest of a backlog, then, with `steer`, what waits in the lane and is whole."""
        joining = list(running.rest)
        running.rest.clear()
        while (said := self._steerable(lane, head)) is not None:
            running.arrivals += said.arrivals
            running.messages.add(said.message.id)
            joining.append(said)
        found = [await self._incoming(one, Envelope()) for one in joining]
        return [one for one in found if one is not None]

    def _steerable(self, lane: Lane[Said], head: Said) -> Said | None:
        """The next message of a lane, taken out of it, if it may join the turn of `head`.

        Files, words of others and parts of something longer get a turn of their own.
        """
        if self._settings.during_turn != "steer" or not lane.items:
            return None
        said = lane.items[0]
        apart = said.arrival.turn is not None or said.guest.owner != head.guest.owner or self._stale(said)
        if apart or said.message.attachments or said.message.outside or said.message.edited:
            return None
        ahead = front([one.message for one in lane.items], lane.quiet)
        return lane.items.popleft() if ahead.count == 1 and not ahead.wait else None

    async def _answered(self, head: Said, result: TurnResult) -> None:
        """What follows an answer that is committed; its loss costs no word of it."""
        message, notice = head.message, self._app.backends.observer.notice
        self._staff.commands.answered(head.guest.owner, message.address, result)
        if result.notes and head.guest.admin:
            unsaid = " ".join(result.notes).rstrip(".")
            with carrying_on(notice, f"This could not be said below the answer in {message.address.name}: {unsaid}"):
                say = texts_for(message.sender.language)
                await self._say(head, "\n".join(f"({say.told(note)})" for note in result.notes), "notes")
        if not result.unfinished:
            return
        missing = f'The button to go on is missing in {message.address.name}; words such as "go on" do the same'
        with carrying_on(notice, missing):
            told, button = await self._staff.continuing.offer(message.address, message.sender)
            envelope = Envelope(plain=True, buttons=((button,),), language=message.sender.language)
            key = head.arrival.word("continue")
            await self._staff.egress.say(head.guest.owner, message.address, told, envelope, key)

    async def _tell_failure(self, head: Said, failure: GoatError, say: Texts) -> None:
        """Say that there is no answer: to the admin why, to others a number by which the admin finds it."""
        number = str(head.arrival.number)
        self._app.backends.observer.notice(Notice("Telegram", f"no answer to the update {number}: {failure}"))
        why = failure.in_own_words(str(failure)) if isinstance(failure, ModelError) else str(failure)
        told = say.told(why).replace("`", "") if head.guest.admin else say("door.no_answer", number=number)
        await self._say(head, told)

    async def _say(self, said: Said, text: str, kind: str = "end") -> None:
        """Say something about a message, each kind of thing once; "end" is what comes in place of an answer."""
        message = said.message
        reply_to = None if message.address.private or message.id <= 0 else message.id
        envelope = Envelope(plain=True, reply_to=reply_to, language=message.sender.language)
        await self._staff.egress.say(said.guest.owner, message.address, text, envelope, said.arrival.word(kind))

    def _failed(self, lane: str, fault: BaseException) -> None:
        told = f"the lane of {lane} met a fault: {type(fault).__name__}: {fault}"
        self._app.backends.observer.notice(Notice("Telegram", told))
