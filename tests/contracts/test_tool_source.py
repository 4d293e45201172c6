"""The contract of the port ToolSource, over every adapter: real servers as child processes and over HTTP."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from goat.adapters.toolsource_mcp import McpToolSource
from goat.errors import BackendUnavailable
from goat.ports.edges import ToolSource
from goat.records.tools import SourceState, ToolAnswer
from goat.settings.section_mcp import McpServer
from goat.testing.tool_source import MemoryToolSource, offered

SERVER = str(Path(__file__).parent.parent / "adapters" / "mcp" / "server.py")
SECONDS = 240.0

pytestmark = pytest.mark.timeout(300)


class Grows(MemoryToolSource):
    """Gets one more tool when `grow` is called, as the real servers do."""

    async def call(self, tool: str, arguments: object) -> ToolAnswer:
        answer = await super().call(tool, arguments)  # type: ignore[arg-type]
        if tool == "grow":
            self.offer(*self.offered(), offered("later", "Came later."))
        return answer


def in_memory() -> MemoryToolSource:
    return Grows(
        "numbers",
        offered("add", "Add two numbers.", a="integer", b="integer"),
        offered("fail", "Fail."),
        offered("grow", "Grow."),
        answers={"add": ToolAnswer("5"), "fail": ToolAnswer("no luck", ok=False)},
    )


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a server that runs in a process of its own, for the tests of this module."""
    with subprocess.Popen([sys.executable, SERVER, "http"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        process.kill()


@pytest.fixture(params=["memory", "stdio", "http"])
async def source(request: pytest.FixtureRequest) -> AsyncIterator[ToolSource]:
    if request.param == "memory":
        yield in_memory()
        return
    if request.param == "stdio":
        server = McpServer(command=sys.executable, args=(SERVER,), start_seconds=SECONDS, call_seconds=SECONDS)
    else:
        url = request.getfixturevalue("address")
        server = McpServer(url=url, start_seconds=SECONDS, call_seconds=SECONDS)
    async with McpToolSource("numbers", server) as one:
        yield one


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not true():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.01)


async def test_it_tells_its_tools_takes_calls_and_tells_when_its_tools_change(source: ToolSource) -> None:
    await source.settled()
    assert (source.name, source.state, source.trouble) == ("numbers", SourceState.READY, "")
    before = source.offered()
    names = [one.name for one in before]
    assert names == sorted(names)
    assert source.offered() is before
    add = next(one for one in before if one.name == "add")
    assert add.description == "Add two numbers."
    assert add.parameters["type"] == "object"
    assert set(add.parameters["properties"]) == {"a", "b"}
    assert await source.call("add", {"a": 2, "b": 3}) == ToolAnswer("5")

    failed = await source.call("fail", {})
    assert (failed.ok, bool(failed.text)) == (False, True)
    assert not (await source.call("nothing", {})).ok

    both = await asyncio.gather(*(source.call("add", {"a": 2, "b": 3}) for _ in range(10)))
    assert both == [ToolAnswer("5")] * 10

    assert "later" not in names
    assert (await source.call("grow", {})).ok
    await until(lambda: "later" in [one.name for one in source.offered()])
    assert next(one for one in source.offered() if one.name == "later").description == "Came later."


@pytest.mark.parametrize("kind", ["memory", "stdio", "http"])
async def test_one_that_cannot_be_reached_is_down_and_says_why(kind: str) -> None:
    async def check(one: ToolSource) -> None:
        async with asyncio.timeout(SECONDS):
            await one.settled()
        assert (one.state, one.offered()) == (SourceState.DOWN, ())
        assert one.trouble
        with pytest.raises(BackendUnavailable, match="gone"):
            await one.call("add", {"a": 1, "b": 2})

    if kind == "memory":
        gone = MemoryToolSource("gone")
        gone.end("it never came")
        await check(gone)
        return
    server = McpServer(command="no-such-program") if kind == "stdio" else McpServer(url="http://127.0.0.1:1/mcp")
    async with McpToolSource("gone", server) as source:
        await check(source)
