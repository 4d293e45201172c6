"""Pages in a real Chromium: scripts run, and nothing of a page reaches the own network."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from goat.errors import ToolError
from goat.plugins import browser
from goat.plugins.browser import CHROMIUMS, browsing
from goat.plugins.registry import Registry
from goat.plugins.safe_http import Guard
from goat.settings.section_tools import ToolSettings
from goat.testing.http_host import HttpHost
from goat.tools import ToolDefinition

SECONDS = 240.0

pytestmark = pytest.mark.timeout(300)

LIVELY = """<html><head><title>Goats</title></head><body><p id="a">Loading</p><script>
document.getElementById("a").innerText = "There are " + (6 * 7) + " goats.";
alert("Stop!"); confirm("Really?"); window.open("/home");
</script></body></html>"""

NOSY = """<html><body><p>Harmless.</p><img src="{0}/img"><iframe src="{0}/frame"></iframe>
<script src="{0}/script"></script><link rel="stylesheet" href="{0}/style"><script>
fetch("{0}/fetch").catch(() => 0);
new WebSocket("{0}/socket".replace("http", "ws"));
navigator.sendBeacon("{0}/beacon", "secret");
try {{ new Worker(URL.createObjectURL(new Blob(['fetch("{0}/worker").catch(() => 0)']))); }} catch (e) {{}}
</script></body></html>"""


async def home(request: Request) -> Response:
    return HTMLResponse(LIVELY)


async def nosy(request: Request) -> Response:
    return HTMLResponse(NOSY.format(request.query_params["at"]))


async def hop(request: Request) -> Response:
    return RedirectResponse(request.query_params["to"])


async def busy(request: Request) -> Response:
    return HTMLResponse("<p>Busy.</p><script>while (true) {}</script>")


async def large(request: Request) -> Response:
    return PlainTextResponse("x" * 3_000_000)


async def restless(request: Request) -> Response:
    return HTMLResponse("<p>Restless.</p><script>setInterval(() => fetch('/missing'), 100)</script>")


async def download(request: Request) -> Response:
    return Response(b"MZ", media_type="application/octet-stream")


ROUTES = [Route(f"/{one.__name__}", one) for one in (home, nosy, hop, busy, large, restless, download)]


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    host = HttpHost(Starlette(routes=ROUTES))
    host.start()
    yield f"http://127.0.0.1:{host.port}"
    host.stop()


@pytest.fixture
def inner() -> Iterator[tuple[str, list[str]]]:
    """A service of the own network that no page may reach, and what was asked of it."""
    asked: list[str] = []

    async def note(request: Request) -> Response:
        asked.append(request.url.path)
        return PlainTextResponse("the treasure")

    host = HttpHost(Starlette(routes=[Route("/{rest:path}", note, methods=["GET", "POST", "OPTIONS"])]))
    host.start()
    yield f"http://127.0.0.1:{host.port}", asked
    host.stop()


@pytest.fixture
def chromium() -> str:
    found = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if found is None:
        none_to_have = "chromium" in os.environ.get("CI_WITHOUT", "").split()
        pytest.skip("impossible here: no chromium to install" if none_to_have else "chromium is not installed")
    return found


def page_tool(chromium: str, pages: str, seconds: float = SECONDS, most_bytes: int = 30_000_000) -> ToolDefinition:
    return browsing(chromium, Guard("browse_page", [pages.partition("//")[2]]), seconds, most_bytes)


def children() -> set[int]:
    """The processes below this one that are more than a name."""
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        for file in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            try:
                below = {int(pid) for pid in file.read_text().split()} - found
            except (OSError, ProcessLookupError):
                continue
            found |= below
            waiting += below
    return found


async def gone(before: set[int]) -> None:
    """Wait until there are no other processes than before."""
    async with asyncio.timeout(SECONDS):
        while children() - before:  # noqa: ASYNC110 - processes end without telling
            await asyncio.sleep(0.05)


@pytest.mark.service
async def test_the_text_that_scripts_made_is_read_and_the_browser_is_gone_afterwards(
    chromium: str, pages: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = children()
    text = await page_tool(chromium, pages).handler(url=f"{pages}/home", max_chars=8000)
    assert text == f"{pages}/home\n\n# Goats\n\nThere are 42 goats."
    await gone(before)
    assert capfd.readouterr() == ("", "")


@pytest.mark.service
async def test_nothing_of_a_page_reaches_the_own_network(
    chromium: str, pages: str, inner: tuple[str, list[str]]
) -> None:
    address, asked = inner
    text = await page_tool(chromium, pages).handler(url=f"{pages}/nosy?at={address}", max_chars=8000)
    assert "Harmless." in text
    assert "private network" in text
    assert "treasure" not in text
    assert asked == []


@pytest.mark.service
async def test_a_redirect_into_the_own_network_is_not_followed(
    chromium: str, pages: str, inner: tuple[str, list[str]]
) -> None:
    address, asked = inner
    with pytest.raises(ToolError, match="private network"):
        await page_tool(chromium, pages).handler(url=f"{pages}/hop?to={address}/home", max_chars=8000)
    assert asked == []


@pytest.mark.service
async def test_a_page_that_never_ends_is_given_up_with_its_browser(chromium: str, pages: str) -> None:
    before = children()
    with pytest.raises(ToolError, match="was not shown within 8 seconds"):
        await page_tool(chromium, pages, seconds=8).handler(url=f"{pages}/busy", max_chars=8000)
    await gone(before)


@pytest.mark.service
@pytest.mark.parametrize("seconds", [0.02, 0.3, 0.6, 0.9, 1.5])
async def test_a_browser_that_is_given_up_while_it_starts_leaves_nothing(
    chromium: str, pages: str, seconds: float
) -> None:
    before = children()
    with suppress(ToolError):
        await page_tool(chromium, pages, seconds=seconds).handler(url=f"{pages}/home", max_chars=8000)
    await gone(before)


@pytest.mark.service
async def test_a_page_that_never_rests_is_read_as_it_is(chromium: str, pages: str) -> None:
    text = await page_tool(chromium, pages).handler(url=f"{pages}/restless", max_chars=8000)
    assert "Restless." in text


@pytest.mark.service
async def test_a_long_page_is_cut(chromium: str, pages: str) -> None:
    text = await page_tool(chromium, pages).handler(url=f"{pages}/large", max_chars=500)
    assert text.endswith("x\n[cut: 3,000,000 characters in all]")
    assert len(text) < 700


@pytest.mark.service
@pytest.mark.parametrize(
    ("page", "told"), [("large", "too large"), ("download", "Download is starting"), ("missing", "HTTP 404")]
)
async def test_what_is_too_large_no_page_or_not_there_is_told(chromium: str, pages: str, page: str, told: str) -> None:
    with pytest.raises(ToolError, match=told):
        await page_tool(chromium, pages, most_bytes=1_000_000).handler(url=f"{pages}/{page}", max_chars=500)


@pytest.mark.parametrize("url", ["http://127.0.0.1:80/", "http://169.254.169.254/", "file:///etc/passwd", "chrome://x"])
async def test_such_addresses_start_no_browser(url: str) -> None:
    with pytest.raises(ToolError, match=r"private network|only http and https"):
        await browsing("no-such-browser", Guard("browse_page")).handler(url=url, max_chars=500)


async def test_a_browser_that_does_not_start_is_named(pages: str) -> None:
    with pytest.raises(ToolError, match="the browser no-such-browser does not start"):
        await page_tool("no-such-browser", pages).handler(url=f"{pages}/home", max_chars=500)


def test_the_tool_is_there_where_a_browser_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_metrics(_: str) -> dict[str, object]:
        return {}

    def names(settings: ToolSettings) -> list[str]:
        return [tool.name for tool in browser.build(Registry(settings, no_metrics, tmp_path, str))]

    monkeypatch.setenv("PATH", str(tmp_path))
    assert names(ToolSettings()) == []
    assert names(ToolSettings(browser="/opt/chrome")) == ["browse_page"]
    (tmp_path / "chromium").touch(mode=0o755)
    assert names(ToolSettings()) == ["browse_page"]
