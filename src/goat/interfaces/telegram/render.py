"""Renders Markdown as a list of Telegram messages: texts with entities, and files in the place of very long code.

Entities are sent beside the text instead of markup inside it, so no text can be malformed or lose characters. The
limits are Telegram's: 4096 UTF-16 code units and 100 entities a message.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from markdown_it.tree import SyntaxTreeNode

from goat.interfaces.telegram.chunk import TEXT_UNITS, Chunk, Document, Entity
from goat.interfaces.telegram.chunks import chunks_of
from goat.interfaces.telegram.layout import Layout
from goat.interfaces.telegram.markdown import parser
from goat.interfaces.telegram.rich_text import PLAIN, RichText, Run

__all__ = ["Chunk", "Document", "Entity", "plain", "render"]

_CODE_MESSAGES: Final = 3
"""Code that would fill more messages than this is sent as a file."""

_LINE_END: Final = re.compile("\r\n?|[\u2028\u2029]")
_UNSHOWN: Final = re.compile("[\u202a-\u202e\u0333\u033f]|[\u200e\u200f](?=[\u200e\u200f])")
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NO_CHARACTER: Final = re.compile("[\ud800-\udfff]")
_RING: Final = re.compile(".\u030a")


def render(source: str, limit: int = TEXT_UNITS) -> tuple[Chunk, ...]:
    """The messages that show a Markdown text, of at most `limit` UTF-16 units each.

    None for a text that shows nothing. Headings, emphasis, links, code, quotes, lists and tables are formatted;
    everything else stays as it is, HTML included. A text that nests too deeply to be laid out comes as it is written.
    """
    readable = _readable(source)
    try:
        tree = SyntaxTreeNode(parser().parse(readable))
        parts = Layout(readable, file_above=_CODE_MESSAGES * limit).parts(tree)
    except RecursionError:
        return plain(source, limit)
    return tuple(
        chunk
        for part in parts
        for chunk in ([Chunk("", document=part)] if isinstance(part, Document) else chunks_of(part, limit))
    )


def plain(source: str, limit: int = TEXT_UNITS) -> tuple[Chunk, ...]:
    """The messages that show a text as it is written."""
    return tuple(chunks_of(RichText([Run(_readable(source).expandtabs(4), PLAIN)]), limit))


def _readable(source: str) -> str:
    """The text without what Telegram would remove or refuse, so that nothing shifts afterwards."""
    text = _LINE_END.sub("\n", source)
    text = _NO_CHARACTER.sub("\ufffd", _CONTROL.sub(" ", text))
    text = _RING.sub(lambda found: unicodedata.normalize("NFC", found[0]).removesuffix("\u030a"), text)
    return _UNSHOWN.sub("", text)
