"""kill -9 in a bot at every seam: the screen in the end shows one answer to each message, whatever was cut off."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from goat.records.models import ToolCall
from goat.testing.bot_api import FakeBotApi, Person
from goat.testing.llm_answers import Answer, calls, says
from goat.testing.llm_server import LlmServer, Prompt

POINTS = (
    "telegram_polled",
    "telegram_taken",
    "arrival_begun",
    "journal_committed",
    "model_call",
    "telegram_preview",
    "before_reply",
    "reply_committed",
    "telegram_sent",
    "telegram_delivered",
    "arrival_handled",
    "followers_written",
)
SHORT = 4
"""So many seeds run with every test run, the others with the long ones."""

SEEDS = [pytest.param(seed, marks=() if seed < SHORT else pytest.mark.long) for seed in range(36)]
PATIENCE = 240.0
WORD = re.compile(r"w\d+x\d")

# ruff: noqa: ASYNC110 - a process is looked at, which has no event

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")


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
        """What the bot has said."""
        return self.api.screen(self.ana).answers

    async def answered(self, words: set[str], process: asyncio.subprocess.Process) -> None:
        """Wait until every word was answered, or the process has ended."""
        async with asyncio.timeout(PATIENCE):
            while process.returncode is None and not (words <= told(self.answers()) and not self.api.waiting):
                await asyncio.sleep(0.02)


def told(answers: list[str]) -> set[str]:
    """The words of complete answers."""
    return {word for text in answers if text.endswith("That is all.") for word in WORD.findall(text)}


@asynccontextmanager
async def world(folder: Path, answer: object) -> AsyncIterator[World]:
    async with FakeBotApi() as api:
        with LlmServer() as model:
            model.always(answer)  # type: ignore[arg-type]
            yield World(folder / "home", api, model, api.person("Ana"))


def new_words(prompt: Prompt) -> list[str]:
    """The words of what the person said since the last answer."""
    words: list[str] = []
    for message in prompt.messages:
        if message["role"] == "assistant" and not message.get("tool_calls"):
            words = []
        elif message["role"] == "user" and not str(message["content"]).startswith("Current time:"):
            words += WORD.findall(str(message["content"]))
    return list(dict.fromkeys(words))


def acknowledge(prompt: Prompt) -> Answer:
    """Say back every new word, in pieces slow enough for a preview."""
    text = f"You said {', '.join(new_words(prompt))}, and here are some more words for a preview. That is all."
    return says(text, pieces=6).slow(between=0.25)


async def stop(process: asyncio.subprocess.Process) -> None:
    """End a bot as a supervisor does."""
    process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), PATIENCE) == 0


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", SEEDS)
async def test_telegram_a1_a_kill_anywhere_leaves_one_answer_to_each_message(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    point, arrival = POINTS[(seed * 5 + seed // len(POINTS)) % len(POINTS)], source.randint(1, 2)
    mode = source.choice(["steer", "queue"])
    words = [f"w{seed}x{number}" for number in range(3)]
    where = f"seed {seed}, {mode}, {point}:{arrival}"
    async with world(tmp_path, acknowledge) as one:
        for number, word in enumerate(words[:2]):
            one.ana.says(f"message {number} {word}")
        async with one.bot(mode, f"{point}:{arrival}") as first:
            await one.answered(set(words[:1]), first)
            one.ana.says(f"message 2 {words[2]}")
            await one.answered(set(words), first)
        async with one.bot(mode) as second:
            await one.receives(second)
            await one.answered(set(words), second)
            assert second.returncode is None, f"{where}\n{(tmp_path / 'bot.log').read_text()}"
            await stop(second)
        counted = Counter(word for text in one.answers() for word in WORD.findall(text))
        assert counted == Counter(words), f"{where}\n{one.api.screen(one.ana).drawing()}"
        assert all(text.endswith("That is all.") for text in one.answers()), where
    assert "Traceback" not in (tmp_path / "bot.log").read_text(), where


@pytest.mark.timeout(900)
async def test_telegram_c10_a_kill_between_a_tool_call_and_its_result_leaves_a_chat_that_goes_on(
    tmp_path: Path,
) -> None:
    def answer(prompt: Prompt) -> Answer:
        if prompt.messages[-1]["role"] == "user" and "look" in str(prompt.messages[-1]["content"]):
            return calls(ToolCall("c1", "memory_status", "{}"))
        return acknowledge(prompt)

    async with world(tmp_path, answer) as one:
        one.ana.says("look w1x1")
        async with one.bot("queue", "model_call:1") as first:
            await first.wait()
        async with one.bot("queue", "before_reply:1") as second:
            await one.answered({"w1x1"}, second)
        one.ana.says("and then w1x2")
        async with one.bot("queue") as third:
            await one.answered({"w1x1", "w1x2"}, third)
            await stop(third)
        assert [prompt.refusal for prompt in one.model.prompts if prompt.refusal] == []
        counted = Counter(word for text in one.answers() for word in WORD.findall(text))
        assert counted == Counter(["w1x1", "w1x2"]), one.api.screen(one.ana).drawing()


@pytest.mark.timeout(900)
async def test_telegram_j4_a_bot_that_dies_again_and_again_starts_safely_and_comes_back(tmp_path: Path) -> None:
    async with world(tmp_path, acknowledge) as one:
        one.ana.says("hello w2x1")
        for _ in range(3):
            async with one.bot("queue", "arrival_begun") as dying:
                assert await asyncio.wait_for(dying.wait(), PATIENCE) == -signal.SIGKILL
        async with one.bot("queue") as safe:
            await one.api.until(lambda: any("I run in safe mode" in text for text in one.answers()), PATIENCE)
            one.ana.says("are you well? w2x2")
            await one.api.until(lambda: any("kept and answered later" in text for text in one.answers()), PATIENCE)
            assert one.model.prompts == []
            await stop(safe)
        async with one.bot("queue") as sound:
            await one.answered({"w2x2"}, sound)
            await stop(sound)
        assert sum("I failed at your message three times" in text for text in one.answers()) == 1
        assert "w2x1" not in " ".join(one.answers())


@pytest.mark.timeout(900)
async def test_telegram_j8_sigterm_in_a_turn_ends_with_0_and_the_turn_goes_on_at_the_next_start(tmp_path: Path) -> None:
    hanging = True

    def answer(prompt: Prompt) -> Answer:
        return acknowledge(prompt) if not hanging else says("You said", pieces=1).hang(1)  # type: ignore[union-attr]

    async with world(tmp_path, answer) as one:
        one.ana.says("hello w3x1")
        async with one.bot("queue") as first:
            await asyncio.to_thread(one.model.wait_for, lambda: len(one.model.prompts) == 1)
            first.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(first.wait(), PATIENCE) == 0
        hanging = False
        async with one.bot("queue") as second:
            await one.answered({"w3x1"}, second)
            await stop(second)
        assert len(one.answers()) == 1
        assert "Traceback" not in (tmp_path / "bot.log").read_text()
