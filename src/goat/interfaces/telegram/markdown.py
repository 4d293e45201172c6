"""Markdown as models write it in a chat: CommonMark with tables and strikethrough, made safe for names and paths.

It departs from CommonMark where that would swallow characters that are no markup: HTML, character references,
underlined headings and reference definitions are text; addresses, paths, `__init__`-like names and an asterisk between
two letters or digits stay as they are. File names that Telegram would take for internet addresses become code.
"""

from __future__ import annotations

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

_DOMAINS_OF_FILES: Final = "am|cc|md|mk|ml|mov|pl|pm|ps|pub|py|rs|sh|so|tf|zip"
"""Endings of files that are top-level domains as well."""

_DUNDERS: Final = (
    "all|call|class|dict|doc|enter|eq|exit|file|future|getattr|hash|init|iter|len|main|name|new|next|post_init|pycache|"
    "repr|setattr|slots|str|version"
)
_LITERAL: Final = re.compile(
    rf"""
    (?P<address>(?:https?|ftp)://[^\s<>"`\[\]]+)
  | (?P<path>[A-Za-z]:\\[^\s<>:"|?*`]+ | \\\\[\w.$-]+\\[^\s<>:"|?*`]+)
  | (?P<file>/?(?:[\w.+~-]{{1,255}}/){{0,50}}[\w.+-]{{0,255}}\w\.(?:{_DOMAINS_OF_FILES})(?![\w/@-]|\.\w))
  | (?P<route>[~/]?/?[^\W_][\w.+-]{{0,255}}(?:/[\w.+~-]{{1,255}}){{1,50}})
  | (?P<name>__(?:{_DUNDERS})__ | __\w+?__(?=[.(\[]\w))
    """,
    re.VERBOSE,
)
_BEGINNING: Final = re.compile(r"(?<![\w/\\.@:~+-])[\w/\\.~]")


def parser() -> MarkdownIt:
    """A parser of its own for each caller; building one takes well under a millisecond."""
    markdown = MarkdownIt("commonmark", {"html": False, "maxNesting": 10_000})
    markdown.enable(["table", "strikethrough"])
    markdown.disable(["entity", "html_block", "html_inline", "lheading", "reference"])
    markdown.inline.ruler.before("text", "literal", _literal)
    markdown.inline.ruler.before("emphasis", "asterisk", _asterisk)
    return markdown


def _literal(state: StateInline, silent: bool) -> bool:
    """Text up to the next name, path or address, or that one as a whole."""
    terminator = state.md.inline.terminator_re.search(state.src, state.pos)
    end = terminator.end() if terminator else state.posMax
    for beginning in _BEGINNING.finditer(state.src, state.pos, min(end, state.posMax)):
        found = _LITERAL.match(state.src, beginning.start(), state.posMax)
        if found is None:
            continue
        if found.start() == state.pos:
            return _take(state, found, silent)
        if not silent:
            state.append_pending(state.src[state.pos : found.start()])
        state.pos = found.start()
        return True
    return False


def _take(state: StateInline, found: re.Match[str], silent: bool) -> bool:
    text = _without_punctuation(found[0]) if found.lastgroup in ("address", "path", "route") else found[0]
    if not silent and found.lastgroup == "file":
        state.push("code_inline", "code", 0).content = text
    elif not silent:
        state.append_pending(text)
    state.pos += len(text)
    return True


def _without_punctuation(text: str) -> str:
    """An address without what ends the sentence or the emphasis around it."""
    while True:
        shorter = text.rstrip("*_~.,;:!?'")
        if shorter.endswith(")") and shorter.count(")") > shorter.count("("):
            shorter = shorter[:-1]
        if shorter == text:
            return text
        text = shorter


def _asterisk(state: StateInline, silent: bool) -> bool:
    """A single asterisk inside a word multiplies."""
    around = state.src[max(state.pos - 1, 0) : state.pos + 2]
    if not re.fullmatch(r"[A-Za-z0-9]\*[A-Za-z0-9]", around):
        return False
    if not silent:
        state.append_pending("*")
    state.pos += 1
    return True
