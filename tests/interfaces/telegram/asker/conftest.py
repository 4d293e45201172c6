"""A policy that asks on Telegram, for the tests of its questions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from goat.adapters.approvals_memory import MemoryApprovals
from goat.adapters.working_memory import MemoryWorkingStore
from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.asker import TelegramAsker
from goat.interfaces.telegram.buttons import Buttons
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.message import Me, Message, Sender, Tap, read_update
from goat.plugins.shell import risk
from goat.records.models import ToolCall
from goat.records.turns import Notice
from goat.testing.bot_api import FakeBotApi, Person, Seen
from goat.testing.bot_api import Tap as Press
from goat.testing.clock import FakeClock
from goat.tools import ToolContext, tool
from goat.tools.calls import Prepared, prepare
from goat.tools.policy import Askers, Policy, Rules
from goat.tools.redact import Redactor
from goat.tools.toolbox import Toolbox


@tool(permission="ask")
async def shell(command: str) -> str:
    """Run a command."""
    return command


SHELL = replace(shell, risk=risk)


class Room:
    """A policy that asks on Telegram. What the process keeps in memory is lost by `kill`, the rest is not."""

    def __init__(self, api: FakeBotApi, client: TelegramClient, folder: Path) -> None:
        self.api = api
        self.client = client
        self.clock = FakeClock()
        self.store = MemoryWorkingStore(self.clock)
        self.approvals = MemoryApprovals()
        self.admin = 0
        self.paused: list[Address] = []
        self.notices: list[Notice] = []
        self._waits = asyncio.Event()
        self._folder = folder
        self._read: set[int] = set()
        self._tasks: list[asyncio.Task[Prepared]] = []
        self._killed: list[asyncio.Task[Prepared]] = []
        self.kill()

    async def end(self) -> None:
        """Let nothing of it run on."""
        for task in (tasks := [*self._tasks, *self._killed]):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def kill(self) -> None:
        """Begin with what a killed process leaves: its calls are gone without a word."""
        self._killed += self._tasks
        self._tasks = []
        self.buttons = Buttons(self.store, self.client, lambda user: user == self.admin)
        self.asker = TelegramAsker(
            self.client, self.buttons, self.store, lambda user: user == self.admin, self._quiet, self.notices.append
        )
        askers = Askers()
        askers.attach(self.asker)
        self.policy = Policy(Rules(), self.approvals, askers, self.clock, Redactor(), 3600)

    @contextmanager
    def _quiet(self, address: Address) -> Iterator[None]:
        self.paused.append(address)
        self._waits.set()
        try:
            yield
        finally:
            self.paused.remove(address)

    async def asks(self, place: Person, command: str = "ls", owner: str = "admin") -> asyncio.Task[Prepared]:
        """Let a call be made in somebody's turn and wait until the question stands there."""
        address = Address(place.chat.id, place.topic)
        self._waits.clear()

        async def settled() -> Prepared:
            with self.asker.turn(address, Sender(place.id, place.user.first_name, language=place.user.language or "")):
                return await self.settle(address, command, owner)

        self._tasks.append(asyncio.create_task(settled()))
        async with asyncio.timeout(30):
            await self._waits.wait()
        return self._tasks[-1]

    async def settle(self, address: Address, command: str = "ls", owner: str = "admin") -> Prepared:
        """What becomes of a call."""
        context = ToolContext(owner, address.name, self._folder, self.clock, admin=True)
        call = ToolCall("c", "shell", json.dumps({"command": command}))
        return await self.policy.settle(prepare(call, Toolbox.of([SHELL]), False), context)

    def arrived(self) -> list[Message | Tap]:
        """What came since the last look."""
        me = Me(self.api.bot.id, "goat_bot")
        new = [one for one in self.api.waiting if one.id not in self._read]
        self._read |= {one.id for one in new}
        read = [read_update(one.body, me) for one in new]
        return [one for one in read if isinstance(one, Message | Tap)]

    async def pressed(self, press: Press) -> str:
        """Handle the newest press; what the presser is told."""
        tap = self.arrived()[-1]
        assert isinstance(tap, Tap)
        await self.buttons.tapped(tap)
        return "" if press.answer is None else str(press.answer.get("text", ""))

    def typed(self) -> str | None:
        """Handle the newest message as a possible answer."""
        message = self.arrived()[-1]
        assert isinstance(message, Message)
        return self.asker.typed(message)

    def prompts(self, place: Person) -> list[Seen]:
        """The questions that stand in a place with buttons."""
        return [one for one in self.api.screen(place).messages if one.buttons]


@pytest.fixture
async def room(api: FakeBotApi, client: TelegramClient, tmp_path: Path) -> AsyncIterator[Room]:
    room = Room(api, client, tmp_path)
    yield room
    await room.end()


@pytest.fixture
def ana(api: FakeBotApi, room: Room) -> Person:
    ana = api.person("Ana")
    ana.starts()
    room.arrived()
    return ana
