"""From a page's HTML to the text that a person would read: by crawl4ai where it is installed, else by markdownify.

Only the text is crawl4ai's work; the page was fetched before, from where a guard lets a tool connect to.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

Extract = Callable[[str, str], str]
"""The Markdown of a page, from its address and its HTML."""

NOISE = ("script", "style", "noscript", "template", "svg", "iframe", "form", "nav", "footer", "aside", "header")


def extractor() -> Extract:
    """The best one that is installed."""
    return Crawl4AiExtract() if importlib.util.find_spec("crawl4ai") is not None else plain_markdown


class Crawl4AiExtract:
    """crawl4ai's cleaning, pruning and Markdown. The first page imports it, and what it cannot do is done plainly.

    Its pruning leaves out menus, footers and other blocks of little text.
    """

    def __init__(self) -> None:
        self._made: tuple[Any, Any] | None = None

    def __call__(self, url: str, html: str) -> str:
        """The main text of the page; all of its text when nothing is left of it."""
        try:
            if self._made is None:
                self._made = _crawl4ai()
            scraping, generator = self._made
            cleaned = scraping.scrap(url, html).cleaned_html
            found = generator.generate_markdown(cleaned, base_url=url, citations=False)
            text = str(found.fit_markdown or found.raw_markdown or "").strip()
        except Exception:  # noqa: BLE001 - a large library with many ways to fail, and a second way is at hand
            text = ""
        return text or plain_markdown(url, html)


def _crawl4ai() -> tuple[Any, Any]:
    library = importlib.import_module("crawl4ai")
    pruning = getattr(library, "PruningContentFilterLXML", None) or library.PruningContentFilter
    return library.LXMLWebScrapingStrategy(), library.DefaultMarkdownGenerator(content_filter=pruning())


def plain_markdown(_: str, html: str) -> str:
    """The main part of the page without menus, scripts and forms."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(html, "html.parser")
    for noise in soup(NOISE):
        noise.decompose()
    main = soup.find("main") or soup.find("article") or soup.body or soup
    converter = MarkdownConverter(
        heading_style="ATX", strip=["img"], bullets="-", escape_underscores=False, escape_asterisks=False
    )
    lines = [line.rstrip() for line in str(converter.convert_soup(main)).splitlines()]
    kept = [line for place, line in enumerate(lines) if line or (place and lines[place - 1])]
    title = soup.title.get_text(strip=True) if soup.title else ""
    return "\n".join([*([f"# {title}", ""] if title else []), *kept]).strip()
