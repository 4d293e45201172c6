"""What tools do at their worst: the turn ends with an answer, and the chat goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from goat.app import App
from goat.errors import ModelError, ToolError
from goat.records.episodes import Incoming
from goat.records.models import ModelRequest, Reply
from goat.records.tools import ToolProgress
from goat.records.turns import Notice
from goat.testing.app import memory_app, say
from goat.testing.models import ScriptedModel
from goat.testing.tools import calls
from goat.tools import tool
from goat.tools.plugins import PluginManager
from goat.tools.watchdog import LoopWatch

SECONDS = 60.0


@tool
async def big(size: int) -> str:
    """Give a long text."""
    return "x" * size


@tool(timeout_seconds=0.2)
async def never() -> str:
    """Never return, and do not want to end."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0.1)
            raise


@tool
async def raises(what: str) -> str:
    """Raise what no program expects."""
    kinds: dict[str, BaseException] = {
        "exit": SystemExit(3),
        "interrupt": KeyboardInterrupt(),
        "generator": GeneratorExit(),
        "cancelled": asyncio.CancelledError(),
        "group": BaseExceptionGroup("several", [KeyboardInterrupt()]),
        "recursion": RecursionError(),
        "memory": MemoryError(),
    }
    raise kinds[what]


@tool
async def quick(n: int) -> int:
    """Give the number back."""
    await asyncio.sleep(0.01)
    return n


@tool
async def full() -> str:
    """Fail as a disk does."""
    raise ToolError("full", "the disk is full")


TOOLS = (big, never, raises, quick, full)


@asynccontextmanager
async def chat(*script: str | Reply | Exception) -> AsyncIterator[tuple[App, ScriptedModel]]:
    model = ScriptedModel(script)
    async with memory_app(model=model) as app:
        app.acting.outfit.add(lambda: list(TOOLS))
        yield app, model


def results(request: ModelRequest) -> list[str]:
    return [message.content for message in request.messages if message.role == "tool"]


@pytest.mark.parametrize(
    ("batch", "told"),
    [
        (calls(("big", '{"size": 100000}')), "[cut: 100,000 characters in all"),
        (calls(*[("big", f'{{"size": {60_000 + n}}}') for n in range(10)]), "[cut: 60,009 characters in all"),
        (calls(("never", "")), "gave no result within 0.2 seconds"),
        *[(calls(("raises", f'{{"what": "{what}"}}')), kind) for what, kind in {
            "exit": "SystemExit", "interrupt": "KeyboardInterrupt", "generator": "GeneratorExit",
            "cancelled": "was cancelled", "group": "BaseExceptionGroup", "recursion": "RecursionError",
            "memory": "MemoryError",
        }.items()],
        (calls(*[("quick", f'{{"n": {n}}}') for n in range(10)]), "9"),
    ],
    ids=["100 k", "ten of 60 k", "never", "exit", "interrupt", "generator", "cancelled", "group", "recursion",
         "memory", "ten at once"],
)  # fmt: skip
async def test_the_turn_ends_with_an_answer_and_the_chat_goes_on(batch: Reply, told: str) -> None:
    async with chat(batch, "That was it.", "Here.") as (app, model):
        assert (await say(app, "Do it.")).text == "That was it."
        assert told in results(model.requests[1])[-1]
        assert sum(map(len, results(model.requests[1]))) <= 60_000
        assert (await say(app, "Are you there?")).text == "Here."


async def test_a_turn_in_a_tool_can_be_stopped_and_the_chat_goes_on() -> None:
    async with chat(calls(("never", "")), "Here.") as (app, _):
        began: list[ToolProgress] = []
        turn = asyncio.ensure_future(app.orchestrator.run(_said(app, "Wait."), None, began.append))
        async with asyncio.timeout(SECONDS):
            while not began:  # noqa: ASYNC110 - told by a callback
                await asyncio.sleep(0.01)
        turn.cancel()
        await asyncio.wait({turn})
        assert (await say(app, "Are you there?")).text == "Here."


async def test_a_plugin_that_blocks_everything_is_named_and_the_chat_goes_on(tmp_path: Path) -> None:
    source = "import time\nfrom goat.tools import tool\n@tool\nasync def nap() -> str:\n    'Sleep.'\n"
    (tmp_path / "napping.py").write_text(
        f"{source}    time.sleep(1.5)\n    return 'rested'\ndef build(registry):\n    return [nap]\n"
    )
    told: list[Notice] = []
    plugins = PluginManager([tmp_path], None)
    async with chat(calls(("nap", "")), "Rested.", "Here.") as (app, _):
        await plugins.scan()
        app.acting.outfit.add(lambda: plugins.tools)
        with LoopWatch(told.append, seconds=0.3):
            assert (await say(app, "Sleep.")).text == "Rested."
            async with asyncio.timeout(SECONDS):
                while not any(notice.subject == "tool nap" for notice in told):  # noqa: ASYNC110 - told by a thread
                    await asyncio.sleep(0.01)
        assert (await say(app, "Are you there?")).text == "Here."
        await plugins.close()
    [notice] = [notice for notice in told if notice.subject == "tool nap"]
    assert "napping.py line 6" in notice.text
    assert "such work belongs into a thread" in notice.text


async def test_o07_a_failure_is_told_to_the_model_and_to_the_person_in_words() -> None:
    async with chat(calls(("full", "")), "It did not work: the disk is full.") as (app, model):
        progress: list[ToolProgress] = []
        await app.orchestrator.run(_said(app, "Write."), None, progress.append)
        assert results(model.requests[1]) == ["error: the disk is full"]
        assert [(step.name, step.ok) for step in progress if step.seconds is not None] == [("full", False)]
    failing = ModelError("test-model", "its server failed", "Try again later.")
    async with chat(failing) as (app, _):
        with pytest.raises(ModelError, match=r"The model test-model gave no answer: its server failed\. Try again"):
            await say(app, "Hello?")


async def test_o07_a_plugin_that_does_not_load_is_told(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def build(registry):\n    return 1 / 0\n")
    told: list[Notice] = []
    plugins = PluginManager([tmp_path], None, tell=told.append)
    await plugins.scan()
    assert [(notice.subject, "line 2: ZeroDivisionError" in notice.text) for notice in told] == [
        ("plugin broken.py", True)
    ]


async def test_o37_the_first_turn_of_a_chat_leaves_its_evidence_like_every_other() -> None:
    script = [calls(("quick", '{"n": 7}')), "Seven.", "Yes."]
    async with chat(*script) as (app, model):
        await say(app, "Give me seven.", chat="new")
        await say(app, "Did you look?", chat="new")
        said = [message.content for message in model.requests[-1].messages if message.role == "assistant"]
        assert said == ['[Tool calls]\ncalled quick({"n": 7}) → 7\n\nSeven.']


def _said(app: App, text: str) -> Incoming:
    return Incoming("admin", "test", text, app.backends.clock.now(), source="test")
