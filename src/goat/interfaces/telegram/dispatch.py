"""Where each delivery goes: to a turn, to a command, to a button, or nowhere. Whether somebody may use the bot is asked
first, on every path, before anything is fetched or said to a model.

Commands, buttons and typed answers to questions never wait behind a turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from goat.app import App
from goat.background import Background
from goat.interfaces.telegram.access import Access, Guest
from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.asker import TelegramAsker
from goat.interfaces.telegram.buttons import Buttons
from goat.interfaces.telegram.carrying_on import carrying_on
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.commands import ALL, CONTROL, Caller, Stopped, TelegramCommands
from goat.interfaces.telegram.edits import Edits
from goat.interfaces.telegram.egress import Egress
from goat.interfaces.telegram.entering import Entering
from goat.interfaces.telegram.envelope import Envelope
from goat.interfaces.telegram.failures import BotApiError
from goat.interfaces.telegram.handling import Handling
from goat.interfaces.telegram.lanes import Lane, Lanes
from goat.interfaces.telegram.message import Me, Message, Moved, Skipped, Standing, Tap, read_update
from goat.interfaces.telegram.pairing import Pairing
from goat.interfaces.telegram.said import Said
from goat.interfaces.telegram.turns import Turns
from goat.interfaces.texts import texts_for
from goat.records.arrivals import Arrival
from goat.records.turns import Notice

AT_ONCE: Final = CONTROL | {"start", "help", "status", "whoami"}
"""Commands that wait for nothing, not even for another command."""

ALLOW: Final = "allow"
"""The one command that the admin may give in a group that was not let in."""

Work = Callable[[], Awaitable[str]]


class Dispatch:
    """Takes deliveries in their order. `started` is when this process began: older control commands are not obeyed."""

    def __init__(
        self,
        app: App,
        me: Me,
        access: Access,
        client: TelegramClient,
        egress: Egress,
        handling: Handling,
        turns: Turns,
        commands: TelegramCommands,
        buttons: Buttons,
        asker: TelegramAsker,
        pairing: Pairing,
    ) -> None:
        self._me = me
        self._access = access
        self._client = client
        self._egress = egress
        self._handling = handling
        self._turns = turns
        self._commands = commands
        self._buttons = buttons
        self._asker = asker
        self._pairing = pairing
        self._notice = app.backends.observer.notice
        self._clock = app.backends.clock
        self._old = timedelta(hours=app.settings.telegram.backlog_hours)
        self._began = app.backends.clock.now()
        self._started = self._began.replace(microsecond=0)
        self._edits = Edits(app.backends.clock)
        self._entering = Entering()
        self._alone = Background(self._failed)
        self._urgent: Lanes[tuple[Arrival, Work]] = Lanes(app.backends.clock, self._next_urgent, self._failed)

    def accept(self, arrival: Arrival) -> None:
        """Begin the handling of a delivery; one that cannot even be read is tried and put aside like any other."""
        try:
            self._route(arrival)
        except Exception as fault:  # noqa: BLE001 - whatever an update breaks, the next one is to be handled
            self._at_once(arrival, partial(_broken, fault))

    def _route(self, arrival: Arrival) -> None:
        match read_update(arrival.body, self._me):
            case Message() as message:
                self._message(arrival, message)
            case Tap() as tap:
                self._tap(arrival, tap)
            case Moved() as moved:
                self._access.follow(moved.old, moved.new)  # what comes right behind it is to be let in
                self._at_once(arrival, lambda: self._moved(moved))
            case Standing() as standing:
                self._at_once(arrival, lambda: self._stands(standing))
            case Skipped() as skipped:
                self._at_once(arrival, lambda: _over(f"skipped: {skipped.reason}"))

    async def close(self, seconds: float) -> None:
        """Let what is under way end, at most for some seconds."""
        self._entering.close()
        await asyncio.gather(self._urgent.close(seconds), self._alone.drain(seconds))

    # Ways to be handled

    def _at_once(self, arrival: Arrival, work: Work) -> asyncio.Task[None]:
        """Handle it by itself, whatever else runs."""
        return self._alone.start(f"update {arrival.number}", self._handled(arrival, work))

    async def _next_urgent(self, lane: Lane[tuple[Arrival, Work]]) -> None:
        arrival, work = lane.items.popleft()
        await self._handled(arrival, work)

    async def _handled(self, arrival: Arrival, work: Work) -> None:
        async def given_up() -> None:
            self._notice(Notice("Telegram", f"the update {arrival.number} was put aside"))

        try:
            await self._handling.run([arrival], work, given_up)
        finally:
            for kept in self._entering.end(arrival):
                self.accept(kept)

    def _failed(self, what: str, fault: BaseException) -> None:
        self._notice(Notice("Telegram", f"{what} met a fault: {type(fault).__name__}: {fault}"))

    # Messages

    def _message(self, arrival: Arrival, message: Message) -> None:
        guest = self._guest(message)
        if self._entering.keeps(arrival, message.sender.id, message.address.chat, refused=guest is None):
            return
        if guest is None:
            if self._pairing.code(message):
                self._entering.begin(arrival, message.sender.id)
            self._at_once(arrival, lambda: self._pairing.stranger(arrival, message))
            return
        if self._access.heard(message.sender):
            self._alone.start("the language of the admin", self._keep_language())
        if message.edited:
            self._edited(arrival, message, guest)
        else:
            self._edits.heard(message)
            self._said(arrival, message, guest)

    async def _keep_language(self) -> None:
        with carrying_on(self._notice, "After the next start the admin may be told things in another language"):
            await self._access.keep_language()

    def _guest(self, message: Message) -> Guest | None:
        """Who may say this here; the admin may open a group by its command."""
        guest = self._access.judge(message.sender.id, message.address)
        opens = message.command is not None and message.command.name == ALLOW and message.addressed
        if guest is None and opens and not message.address.private and self._access.is_admin(message.sender.id):
            return Guest(Address(message.address.chat).name, admin=True)
        return guest

    def _edited(self, arrival: Arrival, message: Message, guest: Guest) -> None:
        before = self._edits.judge(message) if self._turns.meant(message) else None
        if before is None and self._left_over(arrival, message):
            before = ""
        if before is None:
            self._at_once(arrival, lambda: _over("an edit that says nothing new"))
        else:
            self._turns.again(Said(arrival, message, guest, before))

    def _left_over(self, arrival: Arrival, message: Message) -> bool:
        """Whether an earlier process took an edit for something said and did not come to answer it."""
        said = message.addressed and message.command is None and bool(message.text.strip())
        return said and arrival.arrived < self._began

    def _said(self, arrival: Arrival, message: Message, guest: Guest) -> None:
        if not message.addressed and message.album is None and not self._turns.continues(message):
            self._at_once(arrival, lambda: _over("not meant for the bot"))
        elif message.command is not None:
            self._command(arrival, message, guest, message.command.name)
        elif (told := self._asker.typed(message)) is not None:
            self._at_once(arrival, lambda: self._say(arrival, message, guest, told, "answered a question"))
        else:
            self._turns.put(Said(arrival, message, guest))

    def _command(self, arrival: Arrival, message: Message, guest: Guest, name: str) -> None:
        say = texts_for(message.sender.language)
        if self._too_old(message.at, name):
            told = say("door.old_command", command=f"/{name}")
            self._at_once(arrival, lambda: self._say(arrival, message, guest, told, "too old"))
        elif arrival.tries:
            told = say("door.broken_command", command=f"/{name}")
            self._at_once(arrival, lambda: self._say(arrival, message, guest, told, "interrupted"))
        elif name in AT_ONCE:
            stopped = self._stopped(message, name)
            command = self._at_once(arrival, lambda: self._commanded(arrival, message, guest, stopped))
            if name == "new":
                self._turns.after(message.address, command)
        else:
            if name == ALLOW and guest.admin:
                self._entering.begin(arrival, message.address.chat)
            work = partial(self._commanded, arrival, message, guest, Stopped())
            self._urgent.put(message.address.name, (arrival, work))

    def _too_old(self, at: datetime, name: str) -> bool:
        """Whether a command was given in another situation than it arrives in."""
        return (name in CONTROL and at < self._started) or self._clock.now() - at > self._old

    def _stopped(self, message: Message, name: str) -> Stopped:
        """End what a command ends before anything that comes behind it is looked at."""
        if name == "new":
            return self._turns.abandon(message.address)
        if name == "stop":
            rest = message.command.rest if message.command is not None else ""
            return self._turns.stop(message.address, everything=rest.strip().lower() == ALL)
        return Stopped()

    async def _commanded(self, arrival: Arrival, message: Message, guest: Guest, stopped: Stopped) -> str:
        say = texts_for(message.sender.language)
        role = say("access.admin") if guest.admin else say("access.guest")
        answer = await self._commands.answer(message, Caller(guest.owner, guest.admin, role, stopped))
        if answer is not None and answer.text:
            envelope = Envelope(
                plain=True,
                reply_to=None if message.address.private else message.id,
                buttons=answer.buttons,
                language=message.sender.language,
            )
            await self._egress.say(guest.owner, message.address, answer.text, envelope, arrival.word())
        return "command"

    async def _say(self, arrival: Arrival, message: Message, guest: Guest, text: str, outcome: str) -> str:
        if text:
            envelope = Envelope(plain=True, language=message.sender.language)
            await self._egress.say(guest.owner, message.address, text, envelope, arrival.word())
        return outcome

    # What else arrives

    def _tap(self, arrival: Arrival, tap: Tap) -> None:
        place = tap.address or Address(tap.sender.id)
        refused = self._access.judge(tap.sender.id, place) is None
        if not self._entering.keeps(arrival, tap.sender.id, place.chat, refused):
            self._at_once(arrival, lambda: self._tapped(tap, refused))

    async def _tapped(self, tap: Tap, refused: bool) -> str:
        if refused:
            with suppress(BotApiError):
                await self._client.answer_tap(tap.id, texts_for(tap.sender.language)("buttons.not_yours"))
            return "refused"
        await self._buttons.tapped(tap)
        return "button"

    async def _moved(self, moved: Moved) -> str:
        await self._access.moved(moved.old, moved.new)
        return "moved"

    async def _stands(self, standing: Standing) -> str:
        """Say in a group that the admin took the bot into how it is let in, where it is not."""
        entered = standing.status in ("member", "administrator") and not standing.address.private
        by, place = standing.sender.id, standing.address
        if entered and self._access.is_admin(by) and self._access.judge(by, place) is None:
            say = texts_for(standing.sender.language)
            with suppress(BotApiError):
                await self._client.send_text(standing.address, say("access.group_hint", bot=self._me.username))
        return f"now {standing.status}"


async def _broken(fault: Exception) -> str:
    """What the reading of a delivery raised is raised where deliveries are tried."""
    raise fault


async def _over(outcome: str) -> str:
    """Nothing is left to do."""
    return outcome
