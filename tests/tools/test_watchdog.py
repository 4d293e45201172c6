"""A tool that blocks the loop is found and named; one that waits as it should is not."""

from __future__ import annotations

import asyncio
import time

from goat.records.turns import Notice
from goat.testing.tools import LoopBench, calls
from goat.tools import tool
from goat.tools.watchdog import LoopWatch


@tool
async def block() -> str:
    """Block everything."""
    time.sleep(1.0)  # noqa: ASYNC251 - the fault that is to be found
    return "done"


@tool
async def wait() -> str:
    """Wait without blocking."""
    await asyncio.sleep(1.5)
    return "done"


async def test_a_blocking_tool_is_named_with_its_place(bench: LoopBench) -> None:
    told: list[Notice] = []
    with LoopWatch(told.append, seconds=0.3):
        await asyncio.sleep(0.4)
        outcome = await bench.run([calls(("block", "")), "Done."], [block])
        await asyncio.sleep(0.2)
    assert outcome.reply.text == "Done.", "the chat still answers"
    named = [notice.text for notice in told if notice.subject == "tool block"]
    assert len(named) == 1
    assert "test_watchdog.py line" in named[0]


async def test_a_waiting_tool_is_none(bench: LoopBench) -> None:
    told: list[Notice] = []
    with LoopWatch(told.append, seconds=1.0):
        await bench.run([calls(("wait", "")), "Done."], [wait])
    assert told == []
