"""What the tool loop costs beside the model and the tools themselves, and how long plugins take to reload."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from goat.bench.report import Figure, percentile
from goat.records.models import ChatMessage, ModelRequest, Reply, ToolCall
from goat.testing.tools import admin_context, plain_loop
from goat.tools import tool
from goat.tools.plugins import PluginManager

TURNS = 200
ROUNDS = 5
CALLS = 10
PLUGINS = 50
GOAL_MS = 5.0
SOURCE = """
from goat.tools import tool

@tool
async def {0}() -> str:
    "Say a word."
    return "word"

def build(registry):
    return [{0}]
"""


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first one.
        b: The second one.
    """
    return a + b


class InstantModel:
    """Asks for a batch of calls in each round, and then answers; it takes no time of its own."""

    name = "instant"

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self._round = 0

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """The next batch, or the answer."""
        self._round += 1
        if self._round % (ROUNDS + 1) == 0:
            return Reply("Done.")
        asked = tuple(
            ToolCall(f"c{n}", "add", f'{{"a": {self._round}, "b": {n + self._round * 100}}}')
            for n in range(self._calls)
        )
        return Reply("", asked)


def run(step: Callable[[str], None]) -> list[Figure]:
    """All figures; `step` is told what is being measured."""
    return asyncio.run(_figures(step))


async def _figures(step: Callable[[str], None]) -> list[Figure]:
    step("rounds with one call")
    single = await _turns(calls=1)
    step(f"rounds with {CALLS} calls")
    batch = await _turns(calls=CALLS)
    step(f"{PLUGINS} plugins")
    loaded, all_changed, changed, idle = await _reloads()
    per_call = [ms / CALLS for ms in batch]
    return [
        Figure("loop, one round with one call, p95", percentile(single, 95), "ms", GOAL_MS),
        Figure(f"loop, one call in a batch of {CALLS}, p95", percentile(per_call, 95), "ms", GOAL_MS),
        Figure(f"load {PLUGINS} plugins", loaded, "s"),
        Figure(f"reload {PLUGINS} plugins that all changed", all_changed, "s"),
        Figure(f"reload one of {PLUGINS} plugins", changed, "s"),
        Figure(f"scan {PLUGINS} unchanged plugins", idle * 1000, "ms"),
    ]


async def _turns(calls: int) -> list[float]:
    """Milliseconds a round of each turn."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        loop = plain_loop(InstantModel(calls), [add], admin_context(Path(folder)))
        request = ModelRequest((ChatMessage("user", "Add."),), question="Add.")
        for _ in range(TURNS):
            began = perf_counter()
            await loop.run(request)
            times.append((perf_counter() - began) * 1000 / ROUNDS)
    return times


async def _reloads() -> tuple[float, float, float, float]:
    """Seconds to load all plugins, to take over a change of all and of one, and to find nothing changed."""
    with tempfile.TemporaryDirectory() as folder:
        for n in range(PLUGINS):
            (Path(folder) / f"plugin_{n}.py").write_text(SOURCE.format(f"tool_{n}"), encoding="utf-8")
        plugins = PluginManager([Path(folder)], None, linger_seconds=0)
        with _timed() as first:
            await plugins.scan()
        for n in range(PLUGINS):
            (Path(folder) / f"plugin_{n}.py").write_text(SOURCE.format(f"changed_{n}"), encoding="utf-8")
        with _timed() as second:
            await plugins.scan()
        (Path(folder) / "plugin_7.py").write_text(SOURCE.format("tool_seven"), encoding="utf-8")
        with _timed() as third:
            await plugins.scan()
        with _timed() as fourth:
            await plugins.scan()
        await plugins.close()
    return first[0], second[0], third[0], fourth[0]


@contextmanager
def _timed() -> Iterator[list[float]]:
    times: list[float] = []
    began = perf_counter()
    yield times
    times.append(perf_counter() - began)
