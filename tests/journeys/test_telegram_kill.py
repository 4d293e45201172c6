"""kill -9 in a bot at every seam: the screen in the end shows one answer to each message, whatever was cut off."""

from __future__ import annotations

import asyncio
import random
import re
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from goat.records.models import ToolCall
from goat.testing.llm_answers import Answer, calls, fails, says
from goat.testing.llm_server import Prompt

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

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")


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


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", SEEDS)
async def test_telegram_a1_a_kill_anywhere_leaves_one_answer_to_each_message(
    seed: int, worlds: Any, tmp_path: Path
) -> None:
    source = random.Random(seed)
    point, arrival = POINTS[(seed * 5 + seed // len(POINTS)) % len(POINTS)], source.randint(1, 2)
    mode = source.choice(["steer", "queue"])
    words = [f"w{seed}x{number}" for number in range(3)]
    where = f"seed {seed}, {mode}, {point}:{arrival}"
    async with worlds(acknowledge) as one:
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
            await one.stop(second)
        counted = Counter(word for text in one.answers() for word in WORD.findall(text))
        assert counted == Counter(words), f"{where}\n{one.api.screen(one.ana).drawing()}"
        assert all(text.endswith("That is all.") for text in one.answers()), where
        assert one.doubts <= 1, where
    assert "Traceback" not in (tmp_path / "bot.log").read_text(), where


LARGE = 25 * 1024 * 1024
"""More bytes than a bot may fetch."""

FAILED = r"The model test-model gave no answer: .*"
TOO_LARGE = r".*25 MB.*"
SUMS = r"GOAT \d.*"
CUT_OFF = r"/status was cut off by a restart.*"

LAST_WORDS = {
    "a failure": (lambda ana: ana.says("hello w4x1"), [FAILED]),
    "a file": (lambda ana: ana.sends_voice(size=LARGE), [TOO_LARGE]),
    "a file and words": (lambda ana: ana.sends_voice(caption="hello w4x1", size=LARGE), [TOO_LARGE, FAILED]),
    "a command": (lambda ana: ana.says("/status"), [SUMS]),
}
"""What a person sends, and what is said about it in place of an answer."""

ENDS = [
    pytest.param(sent, f"{point}:1", marks=() if point == "arrival_handled" else pytest.mark.long)
    for point in ("arrival_handled", "telegram_sent", "telegram_delivered")
    for sent in LAST_WORDS
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("sent", "point"), ENDS)
async def test_telegram_a1_what_is_said_in_place_of_an_answer_is_said_once(sent: str, point: str, worlds: Any) -> None:
    sends, said = LAST_WORDS[sent]
    async with worlds(lambda _: fails(400, "no such thing")) as one:
        sends(one.ana)
        async with one.bot("queue", point) as first:
            assert await asyncio.wait_for(first.wait(), PATIENCE) == -signal.SIGKILL
        assert len(one.answers()) <= len(said)
        await one.goes_on_in_peace()
        told, drawing = one.answers(), one.api.screen(one.ana).drawing()
        assert len(told) == len(said), drawing
        assert all(re.fullmatch(words, text, re.DOTALL) for words, text in zip(said, told, strict=True)), drawing
        assert one.doubts == (point == "telegram_sent:1"), drawing


@pytest.mark.timeout(900)
async def test_telegram_a1_a_message_whose_failure_was_told_is_not_answered_after_a_kill(worlds: Any) -> None:
    broken = True

    def answer(prompt: Prompt) -> Answer:
        return fails(400, "no such thing") if broken else acknowledge(prompt)

    async with worlds(answer) as one:
        one.ana.says("hello w5x1")
        async with one.bot("queue", "arrival_handled:1") as first:
            await asyncio.wait_for(first.wait(), PATIENCE)
        broken = False
        async with one.bot("queue") as second:
            one.ana.says("and then w5x2")
            await one.answered({"w5x2"}, second)
            await one.stop(second)
        failure, answered = one.answers()
        assert re.fullmatch(FAILED, failure)
        assert "w5x2" in answered


@pytest.mark.timeout(900)
async def test_telegram_a1_a_command_that_a_kill_cut_off_says_so_once(worlds: Any) -> None:
    async with worlds(acknowledge) as one:
        one.ana.says("/status")
        for point in ("arrival_begun:1", "arrival_handled:1"):
            async with one.bot("queue", point) as killed:
                assert await asyncio.wait_for(killed.wait(), PATIENCE) == -signal.SIGKILL
        await one.goes_on_in_peace()
        [told] = one.answers()
        assert re.fullmatch(CUT_OFF, told, re.DOTALL)


@pytest.mark.timeout(900)
async def test_telegram_a2_what_was_confirmed_but_not_answered_before_a_kill_is_answered(worlds: Any) -> None:
    hanging = True

    def answer(prompt: Prompt) -> Answer:
        return says("You said", pieces=1).hang(1) if hanging else acknowledge(prompt)  # type: ignore[union-attr]

    async with worlds(answer) as one:
        words = [f"w6x{number}" for number in range(3)]
        for word in words:
            one.ana.says(f"message {word}")
        async with one.bot("queue") as first:
            await asyncio.to_thread(one.model.wait_for, lambda: len(one.model.prompts) == 1)
            await one.api.until(lambda: not one.api.waiting, PATIENCE)
            first.kill()
        hanging = False
        async with one.bot("queue") as second:
            await one.answered(set(words), second)
            await one.stop(second)
        counted = Counter(word for text in one.answers() for word in WORD.findall(text))
        assert counted == Counter(words), one.api.screen(one.ana).drawing()
        assert one.api.calls_of("deleteWebhook") == []


@pytest.mark.timeout(900)
async def test_telegram_c10_a_kill_between_a_tool_call_and_its_result_leaves_a_chat_that_goes_on(
    worlds: Any,
) -> None:
    def answer(prompt: Prompt) -> Answer:
        if prompt.messages[-1]["role"] == "user" and "look" in str(prompt.messages[-1]["content"]):
            return calls(ToolCall("c1", "memory_status", "{}"))
        return acknowledge(prompt)

    async with worlds(answer) as one:
        one.ana.says("look w1x1")
        async with one.bot("queue", "model_call:1") as first:
            await first.wait()
        async with one.bot("queue", "before_reply:1") as second:
            await one.answered({"w1x1"}, second)
        one.ana.says("and then w1x2")
        async with one.bot("queue") as third:
            await one.answered({"w1x1", "w1x2"}, third)
            await one.stop(third)
        assert [prompt.refusal for prompt in one.model.prompts if prompt.refusal] == []
        counted = Counter(word for text in one.answers() for word in WORD.findall(text))
        assert counted == Counter(["w1x1", "w1x2"]), one.api.screen(one.ana).drawing()


@pytest.mark.timeout(900)
async def test_telegram_j4_a_bot_that_dies_again_and_again_starts_safely_and_comes_back(worlds: Any) -> None:
    async with worlds(acknowledge) as one:
        one.ana.says("hello w2x1")
        for _ in range(3):
            async with one.bot("queue", "arrival_begun") as dying:
                assert await asyncio.wait_for(dying.wait(), PATIENCE) == -signal.SIGKILL
        async with one.bot("queue") as safe:
            await one.api.until(lambda: any("I run in safe mode" in text for text in one.answers()), PATIENCE)
            one.ana.says("are you well? w2x2")
            await one.api.until(lambda: any("kept and answered later" in text for text in one.answers()), PATIENCE)
            assert one.model.prompts == []
            await one.stop(safe)
        async with one.bot("queue") as sound:
            await one.answered({"w2x2"}, sound)
            await one.stop(sound)
        assert sum("I tried three times and could not answer this" in text for text in one.answers()) == 1
        assert "w2x1" not in " ".join(one.answers())


@pytest.mark.timeout(900)
async def test_telegram_j8_sigterm_in_a_turn_ends_with_0_and_the_turn_goes_on_at_the_next_start(
    worlds: Any, tmp_path: Path
) -> None:
    hanging = True

    def answer(prompt: Prompt) -> Answer:
        return acknowledge(prompt) if not hanging else says("You said", pieces=1).hang(1)  # type: ignore[union-attr]

    async with worlds(answer) as one:
        one.ana.says("hello w3x1")
        async with one.bot("queue") as first:
            await asyncio.to_thread(one.model.wait_for, lambda: len(one.model.prompts) == 1)
            first.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(first.wait(), PATIENCE) == 0
        hanging = False
        async with one.bot("queue") as second:
            await one.answered({"w3x1"}, second)
            await one.stop(second)
        assert len(one.answers()) == 1
        assert "Traceback" not in (tmp_path / "bot.log").read_text()
