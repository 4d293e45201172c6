"""The results of tools that stand for a while: for whom, for which call, and what ends it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.app import App
from goat.errors import ToolError
from goat.memory.tool_cache import ToolCache
from goat.records.models import Reply, ToolCall
from goat.testing.app import memory_app, say
from goat.testing.clock import FakeClock
from goat.testing.models import ScriptedModel
from goat.tools.tool import ToolContext, ToolDefinition, tool

PLACE = Path("workspaces")


class Web:
    """A page that answers each request with another number."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.fails = False

    def tools(self) -> list[ToolDefinition]:
        """A tool whose results may stand, and the same one whose may not."""
        return [tool(repeatable=True)(self.page), tool(self.weather)]

    async def page(self, url: str, most: int = 10) -> str:
        """Fetch a page."""
        self.asked.append((url, most))
        if self.fails:
            raise ToolError("page", "it is away")
        return f"page {len(self.asked)}"

    async def weather(self, place: str) -> str:
        """Tell the weather."""
        self.asked.append((place, 0))
        return f"weather {len(self.asked)}"


class Versions(dict[str, int]):
    """The write version of each owner."""

    def of(self, owner: str) -> int:
        """The version, 0 where nothing was written."""
        return self.get(owner, 0)


async def call(definition: ToolDefinition, owner: str = "ana", chat: str = "home", **arguments: Any) -> Any:
    context = ToolContext(owner, chat, PLACE, FakeClock())
    return await definition.handler(context=context, **definition.validated(arguments))


async def test_the_same_call_is_made_once_within_its_time() -> None:
    web, clock = Web(), FakeClock()
    page = ToolCache(Versions().of, clock).over(web.tools()[0])
    assert [await call(page, url="a"), await call(page, url="a", most=10)] == ["page 1", "page 1"]
    clock.move(299)
    assert await call(page, url="a") == "page 1"
    clock.move(1)
    assert await call(page, url="a") == "page 2"


async def test_another_owner_chat_or_argument_is_another_call() -> None:
    web = Web()
    page = ToolCache(Versions().of, FakeClock()).over(web.tools()[0])
    calls = [
        await call(page, url="a"),
        await call(page, owner="bob", url="a"),
        await call(page, chat="work", url="a"),
        await call(page, url="a", most=9),
        await call(page, url="b"),
        await call(page, owner="ana", chat="home", url="a"),
    ]
    assert calls == ["page 1", "page 2", "page 3", "page 4", "page 5", "page 1"]


async def test_whatever_is_written_or_forgotten_of_the_owners_ends_it() -> None:
    web, versions = Web(), Versions(ana=1)
    page = ToolCache(versions.of, FakeClock()).over(web.tools()[0])
    assert await call(page, url="a") == "page 1"
    versions["bob"] = 9
    assert await call(page, url="a") == "page 1"
    versions["ana"] = 2
    assert await call(page, url="a") == "page 2"


async def test_what_is_written_during_a_call_ends_its_result_too() -> None:
    versions = Versions(ana=1)

    @tool(repeatable=True)
    async def slow(url: str) -> str:
        """Fetch a page while something is written."""
        versions["ana"] += 1
        return f"at {versions['ana']}"

    page = ToolCache(versions.of, FakeClock()).over(slow)
    assert [await call(page, url="a"), await call(page, url="a")] == ["at 2", "at 3"]


async def test_a_failure_is_not_kept_and_other_tools_are_left_alone() -> None:
    web = Web()
    cache = ToolCache(Versions().of, FakeClock())
    page, weather = map(cache.over, web.tools())
    web.fails = True
    for _ in range(2):
        with pytest.raises(ToolError, match="away"):
            await call(page, url="a")
    web.fails = False
    assert await call(page, url="a") == "page 3"
    assert weather.handler == web.weather
    assert page.spec == web.tools()[0].spec


@given(st.lists(st.tuples(st.sampled_from(["ana", "an"]), st.sampled_from(["home", "ahome"]), st.text(max_size=3))))
async def test_no_two_different_calls_share_a_result(calls: list[tuple[str, str, str]]) -> None:
    @tool(repeatable=True)
    async def echo(context: ToolContext, text: str) -> tuple[str, str, str]:
        """Say who asked for what."""
        return context.owner, context.chat, text

    cached = ToolCache(Versions().of, FakeClock()).over(echo)
    for owner, chat, text in calls:
        assert await call(cached, owner, chat, text=text) == (owner, chat, text)


async def asks_twice(app: App, web: Web) -> list[str]:
    app.acting.outfit.add(web.tools)
    result = await say(app, "look at the page")
    assert result.text == "Done."
    return [f"{url} {most}" for url, most in web.asked]


async def test_a_turn_that_asks_for_a_page_again_in_a_later_round_gets_what_it_got() -> None:
    first = Reply("", tool_calls=(ToolCall("1", "page", '{"url": "a"}'),))
    again = Reply("", tool_calls=(ToolCall("2", "page", '{"url": "a", "most": 10}'),))
    async with memory_app(model=ScriptedModel((first, again, "Done."))) as app:
        assert await asks_twice(app, Web()) == ["a 10"]
