"""The commands on Telegram: those of every conversation, and those of a bot."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

from goat import __version__
from goat.app import App, export_file
from goat.interfaces.commands import YES, ChatCommands, Talk, usage
from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.asker import TelegramAsker
from goat.interfaces.telegram.buttons import Buttons, Meaning
from goat.interfaces.telegram.chunk import Document, Entity
from goat.interfaces.telegram.client import Button
from goat.interfaces.telegram.client import Buttons as Keyboard
from goat.interfaces.telegram.failures import BotApiError
from goat.interfaces.telegram.files import MEGABYTE, amount
from goat.interfaces.telegram.message import Command, Message, Tap
from goat.interfaces.texts import Texts, texts_for
from goat.records.turns import TurnResult

NAMES: Final = (
    "start",
    "help",
    "new",
    "stop",
    "status",
    "memory",
    "facts",
    "topics",
    "why",
    "forget",
    "undo",
    "identity",
    "model",
    "usage",
    "approve",
    "export",
    "whoami",
)
"""The commands that everybody has, in the order of the menu."""

CONTROL: Final = frozenset({"stop", "new", "approve"})
"""Commands about what is going on at the moment: an old one that arrives late is not carried out."""

ALL: Final = "all"
TALKS: Final = 200
"""How many conversations are known by what they said last."""

UPLOAD: Final = 50 * MEGABYTE
"""The largest file that a bot may send, in bytes."""

_FORGET: Final = "forget"
_ADMIN_IN_GROUPS: Final = frozenset({"forget", "undo", "export"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has to say, as plain text, with buttons below; nothing where it said it already."""

    text: str
    buttons: tuple[tuple[Button, ...], ...] = ()


async def _nothing() -> None:
    """Nothing was ended, so nothing is left to do."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """What a command ended when it came: whether a turn ran, and how many messages waited behind it.

    `over` puts it down and returns when the command may go on; it may be called again. Raises `BackendUnavailable`.
    """

    turn: bool = False
    waiting: int = 0
    over: Callable[[], Awaitable[None]] = _nothing


class Desk(Protocol):
    """The turns that are under way."""

    async def status_lines(self, say: Texts) -> list[str]:
        """How the bot is doing, for a person's eyes."""
        ...


class Screen(Protocol):
    """What is needed of the Bot API. Each raises `BotApiError`."""

    async def edit_text(
        self, chat: int, message: int, text: str, entities: Sequence[Entity] = (), *, buttons: Keyboard = ()
    ) -> None:
        """Change a message and its buttons."""
        ...

    async def send_document(self, place: Address, document: Document) -> int:
        """Send a file."""
        ...


@dataclass(frozen=True, slots=True)
class Caller:
    """Who commands, as the front door knows them: whose memory it is about, and whether it is the admin.

    `stopped` is what the command ended already.
    """

    owner: str
    admin: bool
    role: str
    stopped: Stopped


AdminCommand = Callable[[Message, str], Awaitable[str]]
"""What a command of the admin alone says; it gets the words behind the command."""


class TelegramCommands:
    """Answers the commands of all chats."""

    def __init__(self, app: App, screen: Screen, buttons: Buttons, asker: TelegramAsker, desk: Desk) -> None:
        self._app = app
        self._screen = screen
        self._buttons = buttons
        self._asker = asker
        self._desk = desk
        self._talks: OrderedDict[tuple[str, str], Talk] = OrderedDict()
        self._admin_commands: dict[str, AdminCommand] = {}
        self._own: dict[str, Callable[[Message, Caller, Texts, str], Awaitable[Answer]]] = {
            "start": self._start,
            "help": self._help,
            "new": self._new,
            "stop": self._stop,
            "status": self._status,
            "approve": self._approve,
            "export": self._export,
            "whoami": self._whoami,
        }
        buttons.on(_FORGET, self._forget_pressed)

    def add(self, name: str, command: AdminCommand) -> None:
        """Add a command of the admin alone. The catalogue has it under `about`, and its words under `usage`."""
        self._admin_commands[name] = command

    @property
    def names(self) -> frozenset[str]:
        """All commands that the bot answers to."""
        return frozenset((*NAMES, *self._admin_commands))

    def menu(self, say: Texts, admin: bool = False) -> list[tuple[str, str]]:
        """The commands and what they are for; the admin's own come last."""
        return [(name, say(f"about.{name}")) for name in self._listed(admin)]

    def answered(self, owner: str, address: Address, result: TurnResult) -> None:
        """Take in an answer, so that `/why` can explain it."""
        self._talk(owner, address).last = result

    async def answer(self, message: Message, caller: Caller) -> Answer | None:
        """What a command has to say; None for a message that is none of ours, which is for the model.

        Raises `BackendUnavailable`.
        """
        command = message.command
        if command is None:
            return None
        say = texts_for(message.sender.language)
        if command.name in self._admin_commands and caller.admin:
            return Answer(await self._admin_commands[command.name](message, command.rest.strip()))
        if command.name not in NAMES:
            return Answer(say("commands.unknown", name=f"/{command.name}"))
        if not message.address.private and not caller.admin and _for_admin(command):
            return Answer(say("commands.admin_only"))
        if command.name in self._own:
            return await self._own[command.name](message, caller, say, command.rest.strip())
        talk = self._talk(caller.owner, message.address)
        name = message.sender.name if message.address.private else message.chat_title
        text = await self._chat(message.address, caller.owner, say, name).run(command.name, command.rest)
        row: tuple[Button, ...] = ()
        if command.name == _FORGET and talk.plan is not None:
            row = await self._forget_buttons(message, caller, say)
        return Answer(text, (row,) if row else ())

    def _listed(self, admin: bool) -> Iterable[str]:
        return (*NAMES, *self._admin_commands) if admin else NAMES

    def _chat(self, address: Address, owner: str, say: Texts, name: str = "") -> ChatCommands:
        return ChatCommands(self._app, owner, address.name, say, self._talk(owner, address), name)

    def _talk(self, owner: str, address: Address) -> Talk:
        place = (owner, address.name)
        talk = self._talks.setdefault(place, Talk(buttons=True))
        self._talks.move_to_end(place)
        while len(self._talks) > TALKS:
            self._talks.popitem(last=False)
        return talk

    async def _start(self, message: Message, caller: Caller, say: Texts, _rest: str) -> Answer:
        return Answer(say("commands.start", name=message.sender.name))

    async def _help(self, message: Message, caller: Caller, say: Texts, _rest: str) -> Answer:
        return Answer("\n".join(f"{usage(say, name)} – {say(f'about.{name}')}" for name in self._listed(caller.admin)))

    async def _new(self, message: Message, caller: Caller, say: Texts, rest: str) -> Answer:
        await caller.stopped.over()
        return Answer(await self._chat(message.address, caller.owner, say).run("new", rest))

    async def _stop(self, message: Message, caller: Caller, say: Texts, rest: str) -> Answer:
        stopped = caller.stopped
        await stopped.over()
        if not stopped.turn and not stopped.waiting:
            return Answer(say("commands.nothing_runs"))
        if rest.lower() == ALL or not stopped.waiting:
            return Answer(say("commands.stopped"))
        return Answer(say("commands.stopped_first", n=stopped.waiting))

    async def _status(self, message: Message, caller: Caller, say: Texts, _rest: str) -> Answer:
        counts = await self._app.backends.journal.counts(caller.owner, self._app.backends.embedder.name)
        lines = [
            f"GOAT {__version__}",
            say("commands.remembered", n=counts.episodes),
            await self._chat(message.address, caller.owner, say).run("model", ""),
        ]
        return Answer("\n".join([*lines, *(await self._desk.status_lines(say) if caller.admin else [])]))

    async def _approve(self, message: Message, caller: Caller, say: Texts, _rest: str) -> Answer:
        put = await self._asker.again(message.address, message.sender.id, say)
        return Answer("" if put else say("commands.nothing_asked"))

    async def _export(self, message: Message, caller: Caller, say: Texts, _rest: str) -> Answer:
        now = datetime.now(UTC)
        about = {"made_by": f"goat {__version__}", "at": now.isoformat(timespec="seconds"), "owner": caller.owner}
        with TemporaryDirectory(prefix="goat-export-") as folder:
            path = Path(folder, f"goat-memory-{now:%Y-%m-%d}.jsonl")
            with export_file(path, replace=True) as writer:
                exported = await self._app.exporter.run(writer, [caller.owner], False, about)
            content = await asyncio.to_thread(path.read_bytes)
        if len(content) > UPLOAD:
            return Answer(say("commands.export_too_large", size=amount(len(content)), most=amount(UPLOAD)))
        try:
            await self._screen.send_document(message.address, Document(path.name, content))
        except BotApiError as failure:
            return Answer(say("commands.export_failed", reason=failure.reason))
        return Answer(say("commands.exported", n=exported.episodes))

    async def _whoami(self, message: Message, caller: Caller, say: Texts, _rest: str) -> Answer:
        sender = message.sender
        return Answer(
            say(
                "commands.whoami",
                name=sender.name,
                number=str(sender.id),
                role=caller.role,
                owner=caller.owner,
                chat=message.address.name,
            )
        )

    async def _forget_buttons(self, message: Message, caller: Caller, say: Texts) -> tuple[Button, ...]:
        """Yes and no below what would be forgotten, for the one who asked."""
        chat, user = message.address.name, message.sender.id
        yes = Meaning(_FORGET, f"{YES} {caller.owner}", chat, user, once=True)
        no = Meaning(_FORGET, f"no {caller.owner}", chat, user, once=True)
        return (
            await self._buttons.make(say("commands.forget_yes"), yes),
            await self._buttons.make(say("commands.forget_no"), no),
        )

    async def _forget_pressed(self, tap: Tap, meaning: Meaning) -> str:
        word, _, owner = meaning.value.partition(" ")
        say = texts_for(tap.sender.language)
        address = Address.parse(meaning.chat)
        told = await self._chat(address, owner, say).run(_FORGET, word)
        if tap.message_id is None:
            return told
        try:
            await self._screen.edit_text(address.chat, tap.message_id, told)
        except BotApiError:
            return told
        return ""


def _for_admin(command: Command) -> bool:
    """Whether a command changes or gives away what belongs to a whole group."""
    return command.name in _ADMIN_IN_GROUPS or (command.name == "identity" and bool(command.rest.strip()))
