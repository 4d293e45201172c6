"""Pages of the web as text, and a web search."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Annotated, Protocol
from urllib.parse import parse_qs, urljoin, urlsplit

from pydantic import Field

from goat.errors import ToolError
from goat.plugins.extract import Extract, extractor, plain_markdown
from goat.plugins.registry import Registry
from goat.plugins.safe_http import Page, SafeHttp
from goat.tools.tool import ToolDefinition, tool

DUCKDUCKGO_LITE = "https://lite.duckduckgo.com/lite/"
TEXTUAL = {"application/json", "application/xml", "application/ld+json", "application/javascript"}


@dataclass(frozen=True, slots=True)
class Hit:
    """One result of a web search."""

    title: str
    url: str
    snippet: str = ""


class SearchProvider(Protocol):
    """A web search."""

    async def search(self, query: str) -> list[Hit]:
        """The results, best first. Raises `ToolError`."""
        ...


class DuckDuckGoLite:
    """DuckDuckGo's page without scripts."""

    def __init__(self, http: SafeHttp, url: str = DUCKDUCKGO_LITE) -> None:
        self._http = http
        self._url = url

    async def search(self, query: str) -> list[Hit]:
        """The results, best first."""
        page = await self._http.get(self._url, {"q": query})
        hits = await asyncio.to_thread(lite_hits, page.text, page.url)
        if not hits and page.status != 200:
            raise ToolError("web_search", f"the search page answered with HTTP {page.status}; try again later")
        return hits


def lite_hits(html: str, base: str = DUCKDUCKGO_LITE) -> list[Hit]:
    """The results of DuckDuckGo Lite's page: a link with the class `result-link`, and below it a `result-snippet`."""
    from bs4 import BeautifulSoup

    hits: list[Hit] = []
    for found in BeautifulSoup(html, "html.parser").select("a.result-link, td.result-snippet"):
        text = " ".join(found.get_text().split())
        if found.name == "td":
            if hits and not hits[-1].snippet:
                hits[-1] = replace(hits[-1], snippet=text)
            continue
        url = _target(urljoin(base, str(found.get("href", ""))))
        hits.append(Hit(text, url))
    return [hit for hit in hits if hit.url.startswith(("http://", "https://")) and "duckduckgo.com/y.js" not in hit.url]


def _target(url: str) -> str:
    """Where a result leads, without the page that counts clicks."""
    return parse_qs(urlsplit(url).query).get("uddg", [url])[0]


def readable(page: Page, extract: Extract = plain_markdown) -> str:
    """The text of a page: HTML as Markdown without menus and scripts, other texts as they are. Raises `ToolError`."""
    if page.media_type in {"text/html", "application/xhtml+xml"}:
        return extract(page.url, page.text)
    if page.media_type.startswith("text/") or page.media_type in TEXTUAL or page.media_type.endswith("+json"):
        return page.text
    raise ToolError("fetch_content", f"{page.url} is of the type {page.media_type}, which is no text")


def build(registry: Registry) -> list[ToolDefinition]:
    """`fetch_content` and `web_search`."""
    private = registry.settings.private_hosts
    search = searching(DuckDuckGoLite(SafeHttp("web_search", private)))
    return [fetching(SafeHttp("fetch_content", private), extractor()), search]


def fetching(http: SafeHttp, extract: Extract = plain_markdown) -> ToolDefinition:
    """The tool over a client."""

    @tool(outside=True, private=True, repeatable=True)
    async def fetch_content(
        url: Annotated[str, Field(max_length=2000)], max_chars: Annotated[int, Field(ge=500, le=100_000)] = 8000
    ) -> str:
        """Fetch a page of the web and give its text.

        Args:
            url: Its address, with http or https.
            max_chars: How much is given at most.
        """
        page = await http.get(url)
        text = await asyncio.to_thread(readable, page, extract)
        if page.status >= 400:
            raise ToolError("fetch_content", f"{page.url} answered with HTTP {page.status}: {text[:300]}")
        cut = f"\n[cut: {len(text):,} characters in all]" if len(text) > max_chars else ""
        return f"{page.url}\n\n{text[:max_chars]}{cut}" if text else f"{page.url}\n\n(no text)"

    return fetch_content


def searching(provider: SearchProvider) -> ToolDefinition:
    """The tool over a provider."""

    @tool(outside=True, repeatable=True)
    async def web_search(
        query: Annotated[str, Field(min_length=1, max_length=400)], results: Annotated[int, Field(ge=1, le=20)] = 8
    ) -> str:
        """Search the web. What GOAT was told itself is in its memory, not in the web.

        Args:
            query: A few words.
            results: How many results at most.
        """
        hits = (await provider.search(query))[:results]
        if not hits:
            return "nothing found"
        return "\n\n".join(f"{n}. {hit.title}\n{hit.url}\n{hit.snippet}".rstrip() for n, hit in enumerate(hits, 1))

    return web_search
