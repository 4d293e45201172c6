"""Writes what stands inside a line: emphasis, code, links and pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from markdown_it.tree import SyntaxTreeNode

from goat.interfaces.telegram.rich_text import Writer

_STYLES: Final = {"strong": "bold", "em": "italic", "s": "strikethrough"}
_HOST: Final = re.compile(r"(?:[\w-]+\.)+[\w-]+\.?|[0-9a-f:.]*:[0-9a-f:.]+")


def write_inline(writer: Writer, nodes: Sequence[SyntaxTreeNode]) -> None:
    """Write the children of an inline node."""
    for node in nodes:
        match node.type:
            case "text":
                writer.text(node.content.replace("\t", " "))
            case "softbreak" | "hardbreak":
                writer.line()
            case "code_inline":
                with writer.framed("code"):
                    writer.text(node.content.replace("\t", " "))
            case "strong" | "em" | "s":
                with writer.styled(**{_STYLES[node.type]: True}):
                    write_inline(writer, node.children)
            case "link":
                _write_link(writer, node.children, str(node.attrs["href"]))
            case "image":
                _write_link(writer, node.children, str(node.attrs["src"]))


def plain_text(nodes: Sequence[SyntaxTreeNode]) -> str:
    """The same without any formatting."""
    parts = []
    for node in nodes:
        if node.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif node.type in ("text", "code_inline"):
            parts.append(node.content.replace("\t", " "))
        else:
            parts.append(plain_text(node.children))
    return "".join(parts)


def _write_link(writer: Writer, label: Sequence[SyntaxTreeNode], address: str) -> None:
    """A link; where Telegram would refuse the address it stands as text behind the label."""
    shown = plain_text(label)
    target = linkable(address)
    if target and shown.strip():
        with writer.framed("text_link", url=target):
            write_inline(writer, label)
        return
    write_inline(writer, label)
    readable = re.sub(r"^(mailto|tel):", "", address)
    if not readable or readable == shown or re.match(r"#|data:", readable):
        return
    if not shown.strip():
        writer.text(readable)
    elif readable != address:
        writer.text(f" ({readable})")
    else:
        writer.text(" (")
        with writer.framed("code"):
            writer.text(readable)
        writer.text(")")


def linkable(address: str) -> str | None:
    """The address as Telegram takes it for a link; None when it does not: it wants the web and a host with a dot."""
    if re.match(r"tg://\w", address):
        return address
    full = f"https://{address}" if address.startswith("www.") else address
    try:
        parts = urlsplit(full)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return None
    usable = parts.scheme in ("http", "https") and host is not None and _HOST.fullmatch(host)
    return full if usable and not re.search(r"\s", full) else None
