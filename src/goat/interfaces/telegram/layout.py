"""Lays Markdown out as text for a chat: blocks on lines of their own, lists with bullets, very long code as files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from markdown_it.tree import SyntaxTreeNode

from goat.interfaces.telegram.chunk import Document, units
from goat.interfaces.telegram.inline import write_inline
from goat.interfaces.telegram.rich_text import RichText, Writer
from goat.interfaces.telegram.tables import write_table

_BULLETS: Final = ("• ", "◦ ", "▪ ")
_TASK: Final = re.compile(r"\[([ xX])\] +")
_RULE: Final = "──────────"
_STEP: Final = "  "
_BLANK_LINE: Final = re.compile(r"[\s>]*")
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9+#_.-]{1,32}")
_ENDINGS: Final = {
    "bash": "sh",
    "c++": "cpp",
    "javascript": "js",
    "markdown": "md",
    "python": "py",
    "ruby": "rb",
    "rust": "rs",
    "shell": "sh",
    "typescript": "ts",
    "yml": "yaml",
}


class Layout:
    """Writes one document. Code of more than `file_above` UTF-16 units becomes a file."""

    def __init__(self, source: str, file_above: int) -> None:
        self._lines = source.split("\n")
        self._file_above = file_above
        self._writer = Writer()
        self._files = 0

    def parts(self, root: SyntaxTreeNode) -> list[RichText | Document]:
        """The texts and files in their order."""
        self._blocks(root.children)
        return self._writer.parts

    def _blocks(self, nodes: Sequence[SyntaxTreeNode], depth: int = 0) -> None:
        for node in nodes:
            self._block(node, depth)

    def _block(self, node: SyntaxTreeNode, depth: int) -> None:
        """One block; `depth` counts the bulleted lists around it."""
        match node.type:
            case "paragraph":
                self._begin(node)
                self._inline(node)
            case "heading":
                self._begin(node)
                with self._writer.styled(bold=True, heading=True):
                    self._inline(node)
            case "bullet_list" | "ordered_list":
                self._list(node, depth)
            case "blockquote":
                self._begin(node)
                with self._writer.quoted():
                    self._blocks(node.children, depth)
            case "fence" | "code_block":
                self._code(node)
            case "table":
                begin, end = node.map or (0, 0)
                write_table(self._writer, node, self._lines[begin:end], self._blank_above(node))
            case "hr":
                self._begin(node)
                self._writer.text(_RULE)

    def _begin(self, node: SyntaxTreeNode) -> None:
        self._writer.block(self._blank_above(node))

    def _blank_above(self, node: SyntaxTreeNode) -> bool:
        """Whether the author left a line free above."""
        first = node.map[0] if node.map else 0
        return first > 0 and _BLANK_LINE.fullmatch(self._lines[first - 1]) is not None

    def _inline(self, node: SyntaxTreeNode) -> None:
        for inline in node.children:
            write_inline(self._writer, inline.children)

    def _list(self, node: SyntaxTreeNode, depth: int) -> None:
        ordered = node.type == "ordered_list"
        bullet = _BULLETS[min(depth, len(_BULLETS) - 1)]
        for item, number in zip(node.children, _numbers(node), strict=True):
            self._begin(item)
            self._writer.mark(_task_box(item) or (f"{number}{item.markup} " if ordered else bullet))
            with self._writer.indented(_STEP):
                self._blocks(item.children, depth + (not ordered))

    def _code(self, node: SyntaxTreeNode) -> None:
        code = node.content.rstrip("\n")
        if not code.strip():
            return
        language = _language(node.info)
        if units(code) > self._file_above:
            self._files += 1
            self._writer.attach(Document(_file_name(language, self._files), node.content.encode()))
            return
        self._writer.block(self._blank_above(node), own_line=True)
        with self._writer.framed("pre", **({"language": language} if language else {})):
            self._writer.text("\n".join(line.expandtabs(4) for line in code.split("\n")))


def _numbers(node: SyntaxTreeNode) -> list[str]:
    """The numbers of a list's items as they are written; the same number everywhere means counting from it."""
    written = [item.info for item in node.children]
    if len(set(written)) > 1 or not written[0]:
        return written
    return [str(number) for number in range(int(written[0]), int(written[0]) + len(written))]


def _task_box(item: SyntaxTreeNode) -> str | None:
    """The box of a list item that begins with `[ ]` or `[x]`, which is taken out of its text."""
    first = next((node for node in item.walk() if not node.children and node is not item), None)
    if first is None or first.type != "text" or first.token is None:
        return None
    found = _TASK.match(first.content)
    if found is None:
        return None
    first.token.content = first.content[found.end() :]
    return "☐ " if found[1] == " " else "☑ "


def _language(info: str) -> str:
    """The first word of what stands behind a fence, as far as it can be the name of a language."""
    found = _LANGUAGE.match(info.strip().lstrip("{.").rstrip("}"))
    return found[0] if found else ""


def _file_name(language: str, number: int) -> str:
    ending = _ENDINGS.get(language.lower(), language.lower())
    if not re.fullmatch(r"[a-z]{1,5}", ending):
        ending = "txt"
    return f"code{'' if number == 1 else f'-{number}'}.{ending}"
