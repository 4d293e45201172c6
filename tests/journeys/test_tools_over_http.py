"""Turns with tools over a real endpoint: what the provider gets, what the person reads, what is kept."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import SecretStr

from goat.adapters.model_openai import OpenAIModel
from goat.app import App
from goat.errors import ModelError
from goat.records.episodes import Incoming
from goat.records.models import ToolCall
from goat.records.tools import ToolProgress
from goat.settings import ModelEndpoint, ModelSettings, Settings
from goat.settings.sections import KeySettings, TurnSettings
from goat.testing.app import memory_app, say
from goat.testing.llm_answers import LEAKS, calls, hangs, leaks, says
from goat.testing.llm_server import LlmServer
from goat.tools import ToolDefinition, tool

SECRET = "k3y/with+odd=signs-0123456789"


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def big(n: int) -> str:
    """Give 60,000 characters."""
    return str(n) * 60_000


@tool
async def leak() -> str:
    """Tell the key."""
    return f"key={SECRET} encoded={quote(SECRET, safe='')}"


@tool
async def crash() -> str:
    """Fail with the key."""
    raise RuntimeError(f"401 for {SECRET}")


@dataclass
class Chat:
    """A GOAT that talks to an endpoint."""

    app: App
    server: LlmServer
    shown: str = ""
    progress: list[ToolProgress] = field(default_factory=list)

    async def ask(self, text: str) -> str:
        """One turn with a streamed reply."""
        self.shown = ""
        incoming = Incoming("admin", "test", text, self.app.backends.clock.now(), source="test")
        result = await self.app.orchestrator.run(incoming, self._show, self.progress.append)
        await self.app.settled()
        return result.text

    def _show(self, piece: str) -> None:
        self.shown += piece

    def seen(self, prompt: int = -1) -> list[dict[str, Any]]:
        """The messages of a request."""
        return self.server.prompts[prompt].messages


@asynccontextmanager
async def chat(*tools: ToolDefinition, settings: Settings | None = None) -> AsyncIterator[Chat]:
    """A GOAT with some tools."""
    with LlmServer(models=["m-1"]) as server:
        endpoint = ModelEndpoint("other", "m-1", server.base_url, SecretStr(""), "MODEL_API_KEY", {})
        async with OpenAIModel(endpoint, ModelSettings()) as model, memory_app(settings, model=model) as app:
            app.acting.outfit.add(lambda: list(tools))
            yield Chat(app, server)


async def test_a_call_goes_round_and_the_provider_accepts_every_request() -> None:
    async with chat(add) as one:
        one.server.script(
            calls(ToolCall("c1", "add", '{"a": 2, "b": 3}'), ToolCall("c2", "add", "")), says("It is 5.", pieces=3)
        )
        assert await one.ask("What is 2 + 3?") == one.shown == "It is 5."
        assert [prompt.refusal for prompt in one.server.prompts] == ["", ""]
        results = [message["content"] for message in one.seen() if message["role"] == "tool"]
        assert results == ["5", "error: missing arguments a, b (required: a, b)"]
        assert [(step.name, step.seconds is None) for step in one.progress] == [("add", True), ("add", False)]


@pytest.mark.parametrize("style", LEAKS)
@pytest.mark.parametrize("pieces", [1, 9])
async def test_a68_calls_in_the_text_run_and_are_never_shown(style: str, pieces: int) -> None:
    async with chat(add) as one:
        one.server.script(leaks(style, "add", {"a": 2, "b": 3}, pieces=pieces), says("It is 5."))
        assert await one.ask("What is 2 + 3?") == one.shown == "It is 5."
        assert [message["content"] for message in one.seen() if message["role"] == "tool"] == ["5"]


@pytest.mark.parametrize("style", LEAKS)
async def test_f_b47_calls_in_the_text_of_the_last_round_are_stripped(style: str) -> None:
    async with chat(add) as one:
        script = [calls(ToolCall(f"c{n}", "add", json.dumps({"a": n, "b": n}))) for n in range(6)]
        one.server.script(*script, leaks(style, "add", {"a": 2, "b": 3}, around="So far so good. {}", pieces=5))
        text = await one.ask("Add.")
        assert text == one.shown == "So far so good."
        assert "tools" not in one.server.prompts[-1].json


async def test_a65_evidence_stands_in_the_next_prompt_and_not_in_the_archive() -> None:
    async with chat(add) as one:
        one.server.script(calls(ToolCall("c1", "add", '{"a": 2, "b": 3}')), says("It is 5."), says("Yes."))
        await one.ask("What is 2 + 3?")
        await one.ask("Did you really add?")
        said = [message["content"] for message in one.seen() if message["role"] == "assistant"]
        assert said == ['[Tool calls]\ncalled add({"a": 2, "b": 3}) → 5\n\nIt is 5.']
        kept = await one.app.backends.journal.recent("admin", "test", 10)
        assert not any("[Tool calls]" in episode.text for episode in kept)


async def test_f_b46_ten_large_results_of_one_batch_stay_within_the_cap() -> None:
    async with chat(big) as one:
        one.server.script(calls(*[ToolCall(f"c{n}", "big", f'{{"n": {n}}}') for n in range(10)]), says("Done."))
        assert await one.ask("Read all.") == "Done."
        results = [message["content"] for message in one.seen() if message["role"] == "tool"]
        assert sum(len(result) for result in results) <= 60_000
        assert len(results) == 10


async def test_stopping_a_turn_leaves_a_chat_that_goes_on() -> None:
    async with chat(add) as one:
        one.server.script(calls(ToolCall("c1", "add", '{"a": 2, "b": 3}')), hangs(), says("Here again."))
        turn = asyncio.ensure_future(one.ask("What is 2 + 3?"))
        await asyncio.to_thread(one.server.wait_for, lambda: len(one.server.prompts) == 2)
        turn.cancel()
        await asyncio.wait({turn})
        assert await one.ask("Are you there?") == "Here again."
        assert one.server.prompts[-1].refusal == ""
        assert not any(message["role"] == "tool" for message in one.seen())


async def test_a_turn_that_takes_too_long_ends_with_a_sentence_and_the_message_is_kept() -> None:
    @tool(timeout_seconds=60)
    async def never() -> str:
        """Never return."""
        await asyncio.Event().wait()
        return ""

    async with chat(never, settings=Settings(turn=TurnSettings(timeout_seconds=0.5))) as one:
        one.server.script(calls(ToolCall("c1", "never", "{}")), says("Here again."))
        with pytest.raises(ModelError, match=r"longer than 0\.5 seconds.*The message is kept"):
            await one.ask("Please wait.")
        kept = await one.app.backends.journal.recent("admin", "test", 10)
        assert [episode.text for episode in kept] == ["Please wait."]
        assert await one.ask("Are you there?") == "Here again."


async def test_telegram_d12_the_list_of_tools_is_the_same_bytes_in_every_turn() -> None:
    async with chat(big, add, crash) as one:
        one.server.script(says("One."), says("Two."))
        await one.ask("First?")
        await one.ask("Second?")
        first, second = (json.dumps(prompt.json["tools"]) for prompt in one.server.prompts)
        assert first == second


async def test_telegram_i8_a_key_of_the_settings_occurs_nowhere(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    settings = Settings(keys=KeySettings(deepseek=SecretStr(SECRET)))
    async with chat(leak, crash, settings=settings) as one:
        one.server.script(calls(ToolCall("c1", "leak", ""), ToolCall("c2", "crash", "")), says("Done."), says("Yes."))
        await one.ask("Look at the settings.")
        await one.ask("Done?")
        sent = "".join(prompt.body.decode() for prompt in one.server.prompts)
        kept = "".join(episode.text for episode in await one.app.backends.journal.recent("admin", "test", 10))
        told = "".join(f"{step}" for step in one.progress) + str(one.app.backends.observer.notices)  # type: ignore[attr-defined]
    for place in (sent, kept, told, caplog.text, "".join(capsys.readouterr()), repr(settings)):
        for form in (SECRET, quote(SECRET, safe=""), SECRET[:14]):
            assert form not in place


async def test_ten_parallel_calls_and_a_second_chat_at_once() -> None:
    async with chat(add) as one:
        one.server.always(
            lambda prompt: (
                says("Done.")
                if prompt.messages[-2]["role"] == "tool"
                else calls(*[ToolCall(f"c{n}", "add", f'{{"a": {n}, "b": 1}}') for n in range(10)])
            )
        )
        both = await asyncio.gather(say(one.app, "Add.", chat="a"), say(one.app, "Add.", chat="b"))
        assert [result.text for result in both] == ["Done.", "Done."]


async def test_a71_the_model_is_told_the_time_with_its_zone() -> None:
    async with chat(add) as one:
        one.server.script(says("Noon."))
        await one.ask("What time is it?")
        now = one.app.backends.clock.now()
        assert one.seen()[-2]["content"].startswith(f"Current time: {now:%A, %Y-%m-%d %H:%M} (UTC)")
