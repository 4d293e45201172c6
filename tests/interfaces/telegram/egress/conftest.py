"""What goes out, against the fake Bot API over HTTP: the outbox is real, time is in the test's hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from goat.adapters.journal_memory import MemoryArchive, MemoryJournal
from goat.adapters.outbox_memory import MemoryOutbox
from goat.interfaces.telegram.access import Admin
from goat.interfaces.telegram.address import CHANNEL, Address
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.egress import Egress, Surroundings
from goat.interfaces.telegram.envelope import Envelope
from goat.records.deliveries import Outcome, Undelivered
from goat.records.episodes import NewEpisode, NewOutgoing, Outgoing, Role
from goat.records.turns import Notice
from goat.testing.bot_api import Chat, FakeBotApi, Person
from goat.testing.clock import HeldClock

SECONDS = 30.0


@dataclass
class Desk:
    """A bot's way out and the people in front of it. `admin` is who is told what could not be delivered."""

    api: FakeBotApi
    client: TelegramClient
    clock: HeldClock = field(default_factory=HeldClock)
    archive: MemoryArchive = field(default_factory=MemoryArchive)
    notices: list[Notice] = field(default_factory=list)
    moved: list[tuple[int, int]] = field(default_factory=list)
    closed: list[tuple[Address, str]] = field(default_factory=list)
    admin: Person | None = None
    language: str = ""
    names: dict[int, str] = field(default_factory=dict)
    doubted: list[Outgoing] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.journal = MemoryJournal(self.archive, self.clock)
        self.outbox = MemoryOutbox(self.archive.replies, self.clock)
        self.began = self.clock.now() - timedelta(seconds=1)

    @asynccontextmanager
    async def egress(self) -> AsyncIterator[Egress]:
        """The way out as one process has it."""

        async def moved(old: int, new: int) -> None:
            self.moved.append((old, new))

        async def closed(address: Address, reason: str) -> None:
            self.closed.append((address, reason))

        def admin() -> Admin | None:
            return Admin("admin", Address(self.admin.id), self.language) if self.admin else None

        async def doubted(reply: Outgoing) -> None:
            self.doubted.append(reply)

        def called(address: Address) -> str:
            return self.names.get(address.chat, "")

        around = Surroundings(self.notices.append, admin, called, moved, closed, doubted)
        async with Egress(self.client, self.outbox, self.clock, around) as egress:
            yield egress

    async def commit(self, address: Address, text: str, envelope: Envelope | None = None) -> None:
        """What the end of a turn does: the answer and its delivery in one commit."""
        owner = str(address.chat)
        episode = NewEpisode(owner, address.name, Role.ASSISTANT, text, self.clock.now(), "x")
        extra = (envelope or Envelope()).packed()
        await self.journal.append([episode], [NewOutgoing(owner, address.name, CHANNEL, text, extra)])

    async def answer(self, egress: Egress, to: Person | Chat, text: str, envelope: Envelope | None = None) -> None:
        """Commit an answer and have it delivered."""
        address = Address(to.chat.id, to.topic) if isinstance(to, Person) else Address(to.id)
        await self.commit(address, text, envelope)
        egress.wake(str(address.chat), address.name)

    async def delivered(self, egress: Egress) -> None:
        """Wait until nothing is on its way."""
        assert await egress.drain(SECONDS)

    async def asleep(self, seconds: float) -> None:
        """Wait until somebody sleeps for at least so long."""
        await self.until(lambda: any(wait >= seconds - 1e-6 for wait in self.clock.waits))

    async def until(self, condition: Callable[[], bool], passing: float = 0.0) -> None:
        """Wait until something becomes true; meanwhile seconds pass quickly where `passing` says how many at a time."""
        async with asyncio.timeout(SECONDS):
            while not condition():
                await asyncio.sleep(0.002)
                self.clock.move(passing)

    async def undelivered(self) -> list[Undelivered]:
        """What did not arrive, oldest first."""
        return list(reversed(await self.outbox.undelivered(CHANNEL, self.began)))

    async def outcomes(self) -> list[tuple[Outcome, str]]:
        """How those ended."""
        return [(one.outcome, one.reason) for one in await self.undelivered()]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with (
        FakeBotApi() as api,
        TelegramClient(api.token, api=api.base_url, files=api.base_file_url, timeout=SECONDS) as client,
    ):
        yield Desk(api, client)


@pytest.fixture
def ana(desk: Desk) -> Person:
    """Somebody who has opened the bot."""
    person = desk.api.person("Ana")
    person.starts()
    return person


@pytest.fixture
def bob(desk: Desk) -> Person:
    """Somebody else."""
    person = desk.api.person("Bob")
    person.starts()
    return person
