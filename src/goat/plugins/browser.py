"""A page as a browser shows it, scripts and all: Chromium, driven by playwright (the extra `browser`)."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import Field

from goat.errors import ToolError
from goat.plugins.guard_proxy import MOST_BYTES, GuardProxy, guard_proxy
from goat.plugins.registry import Registry
from goat.plugins.safe_http import Guard
from goat.tools.tool import ToolDefinition, tool

if TYPE_CHECKING:
    from playwright.async_api import Page

T = TypeVar("T")

PAGE_SECONDS = 30.0
QUIET_SECONDS = 5.0
"""How long a loaded page may go on fetching before it is read as it is."""

START_SECONDS = 60.0
"""How long a start that nobody waits for any more may still take until it is undone."""

CLOSE_SECONDS = 10.0

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SWITCHES = (
    "--disable-background-networking",
    "--component-updater=url-source=http://localhost:1",
    "--gaia-url=http://localhost:1",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--js-flags=--max-old-space-size=256",
    "--mute-audio",
)
"""Nothing of a page goes past the proxy, the browser asks for nothing of its own, and no script takes all memory."""

READ = """(most) => {
  const text = String(document.body ? document.body.innerText : "");
  return [String(document.title).slice(0, 300), text.slice(0, most), text.length];
}"""


def build(registry: Registry) -> list[ToolDefinition]:
    """`browse_page` where playwright and a browser are there, else nothing."""
    if importlib.util.find_spec("playwright") is None:
        return []
    chromium = registry.settings.browser or next(filter(None, map(shutil.which, CHROMIUMS)), "")
    return [browsing(chromium, Guard("browse_page", registry.settings.private_hosts))] if chromium else []


def browsing(
    chromium: str, guard: Guard, seconds: float = PAGE_SECONDS, most_bytes: int = MOST_BYTES
) -> ToolDefinition:
    """The tool over a browser, which is started for each call and ended with it."""

    @tool(outside=True, private=True, repeatable=True, parallel=False, timeout_seconds=seconds + 15)
    async def browse_page(
        url: Annotated[str, Field(max_length=2000)], max_chars: Annotated[int, Field(ge=500, le=100_000)] = 8000
    ) -> str:
        """Open a page of the web in a browser and give the text that it shows; slower than fetch_content.

        For pages that are empty without scripts.

        Args:
            url: Its address, with http or https.
            max_chars: How much is given at most.
        """
        parts = guard.parts(url)
        await guard.address(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        try:
            async with (
                asyncio.timeout(seconds),
                guard_proxy(guard, most_bytes) as proxy,
                _page(chromium, proxy) as page,
            ):
                return await _unless_exhausted(_shown(page, url, max_chars, proxy), proxy)
        except TimeoutError as late:
            raise ToolError("browse_page", f"{parts.hostname} was not shown within {seconds:g} seconds") from late

    return browse_page


@asynccontextmanager
async def _page(chromium: str, proxy: GuardProxy) -> AsyncIterator[Page]:
    """An empty page of a browser of its own, without a trace of earlier ones."""
    from playwright.async_api import Error, async_playwright

    with tempfile.TemporaryDirectory(prefix="goat-browser-", ignore_cleanup_errors=True) as folder:
        async with _held(async_playwright().start(), lambda driver: driver.stop()) as driver:
            launching = driver.chromium.launch(
                executable_path=chromium,
                args=list(SWITCHES),
                env={"HOME": folder, "PATH": os.defpath, "LANG": "C.UTF-8"},
                proxy={"server": f"http://127.0.0.1:{proxy.port}", "bypass": "<-loopback>"},
                chromium_sandbox=_sandbox_works(),
            )
            async with AsyncExitStack() as stack:
                try:
                    browser = await stack.enter_async_context(_held(launching, lambda one: one.close()))
                except Error as failed:
                    told = f"the browser {chromium} does not start: {_first(failed)}"
                    raise ToolError("browse_page", told) from failed
                context = await browser.new_context(accept_downloads=False, service_workers="block")
                yield await context.new_page()


@asynccontextmanager
async def _held(making: Coroutine[Any, Any, T], release: Callable[[T], Awaitable[None]]) -> AsyncIterator[T]:
    """What is made, released in the end; also when the work was cancelled while it was still being made.

    What does not close in time is left to its driver, which kills it.
    """
    from playwright.async_api import Error

    made = asyncio.ensure_future(making)
    try:
        yield await asyncio.shield(made)
    finally:
        with suppress(Error, TimeoutError):
            thing = await asyncio.wait_for(asyncio.shield(made), START_SECONDS)
            async with asyncio.timeout(CLOSE_SECONDS):
                await release(thing)


async def _unless_exhausted(work: Coroutine[Any, Any, str], proxy: GuardProxy) -> str:
    """What the work gives; an error as soon as the page has fetched too much."""
    reading = asyncio.create_task(work)
    too_large = asyncio.create_task(proxy.exhausted.wait())
    try:
        await asyncio.wait({reading, too_large}, return_when=asyncio.FIRST_COMPLETED)
        if too_large.done():
            raise ToolError("browse_page", "the page is too large, with all that it fetches")
        return await reading
    finally:
        for task in (reading, too_large):
            task.cancel()
        await asyncio.gather(reading, too_large, return_exceptions=True)


async def _shown(page: Page, url: str, max_chars: int, proxy: GuardProxy) -> str:
    from playwright.async_api import Error

    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).hostname or ""))

    def denied() -> list[str]:
        return list(dict.fromkeys(proxy.denied[host] for host in asked if host in proxy.denied))

    try:
        answer = await page.goto(url, wait_until="domcontentloaded")
        with suppress(Error):  # a page that never rests is read as it is
            await page.wait_for_load_state("networkidle", timeout=QUIET_SECONDS * 1000)
        title, text, length = await page.evaluate(READ, max_chars)
    except Error as failed:
        if denied():
            raise ToolError("browse_page", f"it led elsewhere, and {denied()[-1]}") from failed
        raise ToolError("browse_page", f"the page cannot be shown: {_first(failed)}") from failed
    if answer is not None and answer.status >= 400:
        raise ToolError("browse_page", f"{page.url} answered with HTTP {answer.status}: {text[:300]}")
    notes = [f"[cut: {length:,} characters in all]"] if length > max_chars else []
    if denied():
        notes.append(f"[the page also asked for what it did not get: {'; '.join(denied()[:5])}]")
    return "\n".join([page.url, "", *([f"# {title}", ""] if title else []), text.strip() or "(no text)", *notes])


def _sandbox_works() -> bool:
    """Chromium's own sandbox refuses to run as root."""
    return not hasattr(os, "geteuid") or os.geteuid() != 0


def _first(failed: Exception) -> str:
    """The first line of an error of the driver, which goes on with a log."""
    return str(failed).partition("\n")[0][:300]
