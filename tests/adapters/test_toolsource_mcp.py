"""MCP servers that behave badly: each costs its own tools, for a while, and nothing else."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from goat.adapters.toolsource_mcp import McpToolSource, mcp_sources
from goat.errors import BackendUnavailable
from goat.records.tools import SourceState, ToolAnswer
from goat.records.turns import Notice
from goat.settings.section_mcp import McpServer
from goat.tools.redact import Redactor

HERE = Path(__file__).parent / "mcp"
SECONDS = 240.0
SECRET = "token-of-the-test"

pytestmark = pytest.mark.timeout(300)


def sdk(behaviour: str, **env: str) -> McpServer:
    """A server made with the official SDK."""
    given = {"BEHAVIOUR": behaviour, **env}
    return McpServer(command=sys.executable, args=(str(HERE / "server.py"),), env=given, start_seconds=SECONDS)


def old(behaviour: str, starts: Path, **options: Any) -> McpServer:
    """A server that is written out by hand."""
    args = (str(HERE / "old_server.py"), behaviour, str(starts))
    defaults: dict[str, Any] = {"start_seconds": SECONDS, "env": {"TOKEN": SECRET}}
    return McpServer(command=sys.executable, args=args, **{**defaults, **options})


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not true():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.01)


def running(pid: int) -> bool:
    """Whether there is such a process, or what is left of one that nobody has waited for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pids(starts: Path) -> list[int]:
    """The processes that were started, oldest first."""
    return [int(line) for line in starts.read_text().split()] if starts.exists() else []


class Pauses:
    """Waits as long as the test holds it up, and remembers for how long it should have waited."""

    def __init__(self, most: int = 0) -> None:
        self.asked: list[float] = []
        self.go_on = asyncio.Event()
        self._most = most

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        if len(self.asked) > self._most:
            await self.go_on.wait()
            self.go_on.clear()


@asynccontextmanager
async def source(server: McpServer, **options: Any) -> AsyncIterator[McpToolSource]:
    async with McpToolSource("numbers", server, **options) as one:
        async with asyncio.timeout(SECONDS):
            await one.settled()
        yield one


async def test_telegram_i5_a_server_that_hangs_at_the_start_is_given_up_and_ended(tmp_path: Path) -> None:
    starts, pauses = tmp_path / "starts", Pauses()
    async with source(old("hangs", starts, start_seconds=2), pause=pauses) as one:
        assert (one.state, one.trouble) == (SourceState.DOWN, "it did not start within 2 seconds")
        await until(lambda: pauses.asked == [1.0])
        with pytest.raises(BackendUnavailable, match="did not start within"):
            await one.call("mix", {})
    assert not any(running(pid) for pid in pids(starts))


async def test_telegram_i5_a_server_that_dies_in_a_call_is_started_again(tmp_path: Path) -> None:
    starts, pauses, told = tmp_path / "starts", Pauses(), list[Notice]()
    server = old("", starts)
    async with source(server, pause=pauses, tell=told.append, redact=Redactor([SECRET])) as one:
        before = one.offered()
        with pytest.raises(BackendUnavailable, match="ended during the call of die; what die did is not known"):
            await one.call("die", {})
        await until(lambda: pauses.asked == [1.0])
        assert one.state is SourceState.DOWN
        assert one.offered() == before
        assert [notice.text for notice in told] == [
            f"{one.trouble}. It is tried again; GOAT goes on without its tools."
        ]
        assert one.trouble == "it ended; the last that it said: Segmentation fault with •••"
        with pytest.raises(BackendUnavailable, match="does not run"):
            await one.call("mix", {})
        pauses.go_on.set()
        await until(lambda: one.state is SourceState.READY)
        assert (await one.call("mix", {})).ok
        assert one.trouble == ""
    assert len(pids(starts)) == 2
    assert not any(running(pid) for pid in pids(starts))


async def test_telegram_i5_the_pauses_between_starts_grow_and_one_notice_is_enough(tmp_path: Path) -> None:
    starts, pauses, told = tmp_path / "starts", Pauses(most=3), list[Notice]()
    async with source(old("crashes", starts), pause=pauses, tell=told.append, redact=Redactor([SECRET])) as one:
        await until(lambda: len(pauses.asked) == 4)
        assert pauses.asked == [1.0, 2.0, 4.0, 8.0]
        assert "the last that it said: cannot open the database •••" in one.trouble
        assert len(told) == 1
        assert SECRET not in told[0].text
    assert len(pids(starts)) == 4


async def test_telegram_i5_noise_on_standard_output_and_a_flood_on_standard_error_are_passed_over(
    capfd: pytest.CaptureFixture[str],
) -> None:
    told: list[Notice] = []
    async with source(sdk("noisy"), tell=told.append) as one:
        assert await one.call("add", {"a": 2, "b": 3}) == ToolAnswer("5")
        assert [notice.text for notice in told] == [
            "it writes to its standard output what is no message of the protocol; such lines are passed over"
        ]
    assert capfd.readouterr() == ("", "")


async def test_telegram_i5_bytes_that_are_no_text_and_answers_to_nobody_are_passed_over(tmp_path: Path) -> None:
    async with source(old("garbage", tmp_path / "starts")) as one:
        assert one.state is SourceState.READY
        assert (await one.call("mix", {})).ok


async def test_telegram_i5_all_of_five_hundred_tools_are_read() -> None:
    async with source(sdk("crowded")) as one:
        assert len([tool for tool in one.offered() if tool.name.startswith("tool_")]) == 500


async def test_telegram_i5_nothing_is_left_of_a_server_that_does_not_want_to_end(tmp_path: Path) -> None:
    child = tmp_path / "child"
    async with source(sdk("stubborn", CHILD=str(child))) as one:
        server = int((await one.call("process", {})).text)
        assert running(server)
        assert running(int(child.read_text()))
    assert not running(server)
    await until(lambda: not running(int(child.read_text())))


async def test_telegram_i5_calls_without_an_answer_are_given_up_and_the_second_starts_the_server_anew(
    tmp_path: Path,
) -> None:
    starts, pauses = tmp_path / "starts", Pauses(most=1)
    async with source(old("", starts, call_seconds=1), pause=pauses) as one:
        for _ in range(2):
            with pytest.raises(BackendUnavailable, match="never gave no answer within 1 seconds"):
                await one.call("never", {})
        await until(lambda: len(pids(starts)) == 2 and one.state is SourceState.READY)
        assert pauses.asked == [1.0]


async def test_telegram_i5_an_older_server_tells_of_a_change_to_everybody(tmp_path: Path) -> None:
    async with source(old("", tmp_path / "starts")) as one:
        assert [tool.name for tool in one.offered()] == ["die", "leak", "mix", "never", "up"], "both pages"
        assert await one.call("up", {}) == ToolAnswer("(no output)")
        await until(lambda: "upper" in [tool.name for tool in one.offered()])


async def test_what_is_no_text_is_named(tmp_path: Path) -> None:
    async with source(old("", tmp_path / "starts")) as one:
        answer = await one.call("mix", {})
    assert answer.text.splitlines() == [
        "one",
        "[image/png, 3 bytes, not shown]",
        "[notes: file:///notes.txt]",
        "two",
        "[file:///b.bin, not shown]",
    ]


async def test_telegram_i8_a_server_gets_the_variables_of_its_table_and_none_of_goats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-very-secret")
    server = sdk("", TOKEN="$NUMBERS").model_copy(update={"variables": {"NUMBERS": SecretStr(SECRET)}})
    async with source(server) as one:
        assert await one.call("variable", {"name": "TOKEN"}) == ToolAnswer(SECRET)
        assert await one.call("variable", {"name": "DEEPSEEK_API_KEY"}) == ToolAnswer("(not set)")
        assert len((await one.call("big", {"characters": 300_000})).text) < 201_000


async def test_telegram_i8_headers_go_to_the_server_and_a_wrong_one_is_told_without_its_value() -> None:
    command = [sys.executable, str(HERE / "server.py"), "http"]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, env={**os.environ, "EXPECTED": f"Bearer {SECRET}"}
    )
    try:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(await process.stdout.readline())}/mcp"
        right = McpServer(
            url=url, headers={"Authorization": "Bearer $T"}, variables={"T": SecretStr(SECRET)}, start_seconds=SECONDS
        )
        async with source(right) as one:
            assert await one.call("add", {"a": 2, "b": 3}) == ToolAnswer("5")
        wrong = right.model_copy(update={"variables": {"T": SecretStr("wrong-token-0123")}})
        async with source(wrong, pause=Pauses()) as one:
            assert one.state is SourceState.DOWN
            assert "401" in one.trouble
            assert "wrong-token-0123" not in one.trouble
    finally:
        process.kill()
        await process.wait()


async def test_a_server_over_http_that_goes_away_is_reached_again_when_it_is_back() -> None:
    async def serve(port: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, str(HERE / "server.py"), "http", port, stdout=asyncio.subprocess.PIPE
        )

    first = await serve("0")
    assert first.stdout is not None
    port = (await first.stdout.readline()).decode().strip()
    pauses = Pauses()
    server = McpServer(url=f"http://127.0.0.1:{port}/mcp", start_seconds=SECONDS)
    async with source(server, pause=pauses) as one:
        first.kill()
        await first.wait()
        with pytest.raises(BackendUnavailable, match="numbers"):
            await one.call("add", {"a": 2, "b": 3})
        await until(lambda: len(pauses.asked) == 1)
        second = await serve(port)
        try:
            assert second.stdout is not None
            assert (await second.stdout.readline()).decode().strip() == port
            pauses.go_on.set()
            await until(lambda: one.state is SourceState.READY)
            assert await one.call("add", {"a": 2, "b": 3}) == ToolAnswer("5")
        finally:
            second.kill()
            await second.wait()


async def test_servers_that_are_switched_off_are_not_started_and_the_others_end_together(tmp_path: Path) -> None:
    servers = {
        "off": old("", tmp_path / "off", enabled=False),
        "one": old("", tmp_path / "one"),
        "two": old("hangs", tmp_path / "two"),
    }
    async with mcp_sources(servers, str, lambda _: None) as sources:
        assert [one.name for one in sources] == ["one", "two"]
        async with asyncio.timeout(SECONDS):
            await sources[0].settled()
        await until(lambda: bool(pids(tmp_path / "two")))
    assert not (tmp_path / "off").exists()
    assert not any(running(pid) for name in ("one", "two") for pid in pids(tmp_path / name))


async def test_ending_before_the_first_connection_leaves_nothing(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with McpToolSource("numbers", old("", starts)):
        pass
    assert not any(running(pid) for pid in pids(starts))
