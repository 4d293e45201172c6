"""A bot in a process of its own between a fake Bot API and a fake model, for the journeys that end it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from goat.testing.bot_api import FakeBotApi, Person
from goat.testing.llm_server import LlmServer

PATIENCE = 240.0
DOUBT = "A part of my reply may not have arrived."
"""What is said where the process was killed while something was being sent."""

WORD = re.compile(r"w\d+x\d")

# ruff: noqa: ASYNC110 - a process is looked at, which has no event


@dataclass
class World:
    """A home, the two services that a bot talks to, and how it is started."""

    home: Path
    api: FakeBotApi
    model: LlmServer
    ana: Person

    def environment(self, mode: str, failpoint: str = "") -> dict[str, str]:
        """The settings of a start. The lock on the bot stands in a folder of the test's own."""
        self.home.mkdir(exist_ok=True)
        own = {
            "TELEGRAM_BOT_TOKEN": self.api.token,
            "GOAT_TELEGRAM__API_URL": self.api.url,
            "GOAT_TELEGRAM__ADMIN_CHAT_ID": str(self.ana.id),
            "GOAT_TELEGRAM__DURING_TURN": mode,
            "GOAT_TELEGRAM__POLL_SECONDS": "2",
            "BASE_URL": self.model.base_url,
            "MODEL_NAME": "test-model",
            "GOAT_MODEL__PROVIDER": "other",
            "TMPDIR": str(self.home.parent),
        }
        return {**os.environ, **own, **({"GOAT_FAILPOINT": failpoint} if failpoint else {})}

    @asynccontextmanager
    async def bot(self, mode: str, failpoint: str = "") -> AsyncIterator[asyncio.subprocess.Process]:
        """A bot in a process of its own; what is left of it at the end is killed."""
        command = [sys.executable, "-m", "goat", "telegram", "--home", str(self.home)]
        log = (self.home.parent / "bot.log").open("ab")
        process = await asyncio.create_subprocess_exec(
            *command, env=self.environment(mode, failpoint), stdout=log, stderr=log
        )
        log.close()
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

    async def receives(self, process: asyncio.subprocess.Process) -> None:
        """Wait until a bot that was started now has begun to poll, or has ended."""
        before = len(self.api.calls_of("getUpdates"))
        async with asyncio.timeout(PATIENCE):
            while process.returncode is None and len(self.api.calls_of("getUpdates")) == before:
                await asyncio.sleep(0.02)

    def answers(self) -> list[str]:
        """What the bot has said, but for its doubts."""
        return [text for text in self.api.screen(self.ana).answers if text != DOUBT]

    @property
    def doubts(self) -> int:
        """How often it said that nobody knows whether something arrived."""
        return self.api.screen(self.ana).answers.count(DOUBT)

    async def answered(self, words: set[str], process: asyncio.subprocess.Process) -> None:
        """Wait until every word was answered, or the process has ended."""
        async with asyncio.timeout(PATIENCE):
            while process.returncode is None and not (words <= told(self.answers()) and not self.api.waiting):
                await asyncio.sleep(0.02)

    async def goes_on_in_peace(self) -> None:
        """Start a bot again, wait until nothing that came or was said is left to be done, and end it."""
        async with self.bot("queue") as again:
            await self.receives(again)
            async with asyncio.timeout(PATIENCE):
                while again.returncode is None and (self.api.waiting or self.left()):
                    await asyncio.sleep(0.02)
            await self.stop(again)

    def left(self) -> int:
        """How many deliveries and replies in the journal have not come to an end."""
        with closing(sqlite3.connect(f"file:{self.home / 'journal.db'}?mode=ro", uri=True)) as journal:
            tables = ("inbox", "outbox")
            return sum(
                journal.execute(f"SELECT count(*) FROM {one} WHERE done_at IS NULL").fetchone()[0] for one in tables
            )

    async def stop(self, process: asyncio.subprocess.Process) -> None:
        """End a bot as a supervisor does."""
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0


def told(answers: list[str]) -> set[str]:
    """The words of complete answers."""
    return {word for text in answers if text.endswith("That is all.") for word in WORD.findall(text)}


Worlds = Callable[[object], AbstractAsyncContextManager[World]]


@pytest.fixture
def worlds(tmp_path: Path) -> Worlds:
    """Makes a world with a model that answers so: `async with worlds(answer) as one: …`."""

    @asynccontextmanager
    async def world(answer: object) -> AsyncIterator[World]:
        async with FakeBotApi() as api:
            with LlmServer() as model:
                model.always(answer)  # type: ignore[arg-type]
                yield World(tmp_path / "home", api, model, api.person("Ana"))

    return world
