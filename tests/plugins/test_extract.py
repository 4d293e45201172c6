"""The text of a page by crawl4ai, where it is installed; a strict double stands in its place here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from goat.plugins.extract import Crawl4AiExtract, extractor, plain_markdown

PAGE = "<html><head><title>Goats</title></head><body><nav>Menu</nav><main><p>They climb.</p></main></body></html>"
LIBRARY = """
import types

class PruningContentFilterLXML:
    pass

class LXMLWebScrapingStrategy:
    def scrap(self, url, html):
        assert html.startswith("<html>")
        if "broken" in url:
            raise TypeError("no root")
        return types.SimpleNamespace(cleaned_html=html.replace("They", url))

class DefaultMarkdownGenerator:
    def __init__(self, content_filter=None, options=None, content_source="cleaned_html"):
        assert isinstance(content_filter, PruningContentFilterLXML)

    def generate_markdown(self, input_html, base_url="", citations=True):
        assert citations is False
        text = "" if "empty" in base_url else input_html.partition("<p>")[2].partition("</p>")[0]
        raw = "" if "nothing" in base_url else "Menu " + text
        return types.SimpleNamespace(fit_markdown=text, raw_markdown=raw)
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A library of that name on the path."""
    (tmp_path / "crawl4ai.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("crawl4ai", None)
    yield
    sys.modules.pop("crawl4ai", None)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("https://x.example/goats", "https://x.example/goats climb."),
        ("https://x.example/empty", "Menu"),
        ("https://x.example/empty/nothing", "# Goats\n\nThey climb."),
        ("https://x.example/broken", "# Goats\n\nThey climb."),
    ],
    ids=["pruned", "nothing left by pruning", "nothing at all", "it fails"],
)
def test_crawl4ai_gives_the_text_where_it_is_installed(url: str, text: str) -> None:
    extract = extractor()
    assert isinstance(extract, Crawl4AiExtract)
    assert extract(url, PAGE) == text


def test_a_library_of_another_shape_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "crawl4ai.py").write_text("import no_such_module_of_crawl4ai")
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("crawl4ai", None)
    assert extractor()("https://x.example/", PAGE) == "# Goats\n\nThey climb."


def test_without_it_the_plain_way_is_taken() -> None:
    assert extractor() is plain_markdown
