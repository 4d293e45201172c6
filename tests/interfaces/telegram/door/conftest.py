"""A whole bot over HTTP: the fake Bot API on one side, a GOAT in memory with a model in the test's hands behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.clock_system import SystemClock
from goat.app import App
from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.door import Door, Told, introduced
from goat.interfaces.telegram.message import Me
from goat.interfaces.telegram.status import Status
from goat.records.arrivals import Admitted
from goat.records.models import ModelRequest, Reply, ToolCall
from goat.settings import Settings
from goat.settings.section_telegram import TelegramSettings
from goat.testing.app import memory_app
from goat.testing.bot_api import FakeBotApi, Person, Seen
from goat.testing.observer import KeepingObserver
from goat.tools import ToolDefinition, tool

FIRST_PERSON = 700_001
"""The id of the first person of a fake Bot API: in these tests the admin, unless a test says otherwise."""

PATIENCE = 60.0
Answering = Callable[[ModelRequest], Awaitable[str | Reply]]


class Thinker:
    """A model whose answers a test makes: by default it says back what it was asked last."""

    name = "thinker"

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []
        self.answer: Answering = self.echo

    async def echo(self, request: ModelRequest) -> str:
        """The last message, said back."""
        return f"You said: {request.messages[-1].content}"

    async def acting(self, request: ModelRequest) -> str | Reply:
        """Calls the shell with the last word of the person, once, and says what came of it."""
        results = [message.content for message in request.messages if message.role == "tool"]
        if results:
            return f"Result: {results[-1]}"
        word = request.question.split()[-1]
        if not word.startswith("run:"):
            return f"You said: {request.question}"
        call = ToolCall("c", "shell", f'{{"command": "{word.removeprefix("run:")}"}}')
        return Reply("", (call,), model=self.name, finish_reason="tool_calls")

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """What the test wants."""
        self.requests.append(request)
        answer = await self.answer(request)
        reply = answer if isinstance(answer, Reply) else Reply(answer, model=self.name)
        if on_text is not None and reply.text:
            on_text(reply.text)
        return reply

    def asked(self, place: int = -1) -> str:
        """The person's newest words in a request."""
        return self.requests[place].messages[-1].content


@dataclass
class Bot:
    """A bot that runs."""

    api: FakeBotApi
    app: App
    model: Thinker
    status: Status
    client: TelegramClient
    running: asyncio.Task[None]
    stop: asyncio.Event
    codes: list[str] = field(default_factory=list)
    arrived: list[Admitted] = field(default_factory=list)

    @property
    def notices(self) -> list[str]:
        """What was told to the log."""
        observer = self.app.backends.observer
        assert isinstance(observer, KeepingObserver)
        return [f"{one.subject}: {one.text}" for one in observer.notices]

    async def until(self, condition: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Wait until something comes true."""
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - there is no event for everything a test looks at
                await asyncio.sleep(0.01)

    async def asked(self, place: Person) -> Seen:
        """Wait until a question stands in a place and is waited for, and give its message."""
        address = Address(place.chat.id, place.topic)
        async with asyncio.timeout(PATIENCE):
            while True:
                asker = self.app.acting.askers.find("", address.name)  # it comes with the door
                if asker is not None and asker.waiting(address, FIRST_PERSON):
                    return [one for one in self.api.screen(place).messages if one.buttons][-1]
                await asyncio.sleep(0.01)

    async def asks(self, person: Person) -> Seen:
        """Have the model call the shell for a person, and give the message that asks whether it may."""
        self.model.answer = self.model.acting
        person.says("please run:ls")
        return await self.asked(person)

    async def idle(self) -> None:
        """Wait until everything that came is done and everything that was said is delivered."""
        async with asyncio.timeout(PATIENCE):
            while await self._busy():  # noqa: ASYNC110 - the same
                await asyncio.sleep(0.01)

    async def _busy(self) -> bool:
        backends = self.app.backends
        arrivals = self.api.waiting or await backends.inbox.waiting(f"telegram:{self.api.bot.id}")
        return bool(arrivals or await backends.outbox.waiting("telegram"))

    async def end(self) -> None:
        """Stop in order."""
        self.stop.set()
        await asyncio.wait_for(asyncio.shield(self.running), PATIENCE)


Bots = Callable[..., AbstractAsyncContextManager[Bot]]


@asynccontextmanager
async def bot_over(
    api: FakeBotApi,
    workspaces: Path,
    model: Thinker | None = None,
    settings: Settings | None = None,
    bad_starts: int = 0,
    timeout: float = 30.0,
    tools: Any = None,
    **telegram: Any,
) -> AsyncIterator[Bot]:
    """A bot on a fake Bot API; further words are settings of [telegram] or backends by their names."""
    mine = {name: telegram.pop(name) for name in list(telegram) if name in TelegramSettings.model_fields}
    chosen = TelegramSettings(**{"admin_chat_id": FIRST_PERSON, "drain_seconds": 0.2, **mine})
    settings = (settings or Settings()).model_copy(update={"telegram": chosen})
    model = model or Thinker()
    backends = {"clock": SystemClock("UTC"), "model": model, **telegram}
    async with (
        memory_app(settings, workspaces, **backends) as app,
        TelegramClient(api.token, api=api.base_url, files=api.base_file_url, timeout=timeout) as client,
    ):
        if tools is not None:
            app.acting.outfit.add(lambda: list(tools))
        status = Status(app.backends.clock, app.backends.observer.notice)
        account = await introduced(client, app, status)
        codes: list[str] = []
        arrived: list[Admitted] = []
        told = Told(lambda me: None, lambda me, code: codes.append(code), arrived.append)
        stop = asyncio.Event()
        door = Door(app, client, Me(account["id"], account["username"]), status, told)
        running = asyncio.create_task(door.run(stop, bad_starts))
        bot = Bot(api, app, model, status, client, running, stop, codes, arrived)
        try:
            yield bot
        finally:
            stop.set()
            await asyncio.wait({running}, timeout=PATIENCE)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


@pytest.fixture
def ran() -> list[str]:
    """The commands that were run."""
    return []


@pytest.fixture
def shell(ran: list[str]) -> ToolDefinition:
    """A tool that is asked about."""

    @tool(name="shell", permission="ask")
    async def run(command: str) -> str:
        """Run a command."""
        ran.append(command)
        return f"{command} is done"

    return run


@pytest.fixture
def bots(tmp_path: Path) -> Bots:
    """Makes bots: `async with bots(api) as bot: …`."""

    def make(api: FakeBotApi, **options: Any) -> AbstractAsyncContextManager[Bot]:
        return bot_over(api, tmp_path / "workspaces", **options)

    return make


@pytest.fixture
async def bot(api: FakeBotApi, bots: Bots) -> AsyncIterator[Bot]:
    """A bot whose admin is the first person."""
    async with bots(api) as one:
        yield one
