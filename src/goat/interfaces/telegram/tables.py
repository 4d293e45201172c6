"""Writes tables: aligned in a monospaced block when that fits the width of a phone, else row by row as a list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from markdown_it.tree import SyntaxTreeNode
from wcwidth import wcswidth

from goat.interfaces.telegram.inline import plain_text, write_inline
from goat.interfaces.telegram.rich_text import Writer

NARROW: Final = 36
"""Columns of monospaced text that a phone shows in one line."""

_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_GAP: Final = "  "
_NOTHING: Final = "–"


def write_table(writer: Writer, table: SyntaxTreeNode, lines: Sequence[str], blank: bool) -> None:
    """Write a table; `lines` are those of its source, `blank` whether a blank line stood above."""
    rows = [[_cell(cell) for cell in row.children] for part in table.children for row in part.children]
    texts = [[plain_text(cell).strip() for cell in row] for row in rows]
    if _has_surplus_cells(lines, len(rows[0])):
        grid: str | None = "\n".join(line.strip().expandtabs(4) for line in lines)
    else:
        grid = None if _needs_formatting(rows, texts) else _grid(texts, _alignments(table))
    if grid is not None:
        writer.block(blank, own_line=True)
        with writer.framed("pre"):
            writer.text(grid)
    elif len(rows) > 1:
        _write_list(writer, rows, texts, blank)
    else:
        _write_rows_alone(writer, rows, blank)


def _cell(cell: SyntaxTreeNode) -> list[SyntaxTreeNode]:
    """What stands in a cell; a break that HTML writes is one, as Markdown has none for cells."""
    for node in cell.walk():
        if node.type == "text" and node.token is not None:
            node.token.content = _BREAK.sub("\n", node.content)
    return [node for inline in cell.children for node in inline.children]


def _has_surplus_cells(lines: Sequence[str], columns: int) -> bool:
    """Whether a row holds more cells than the head, which the parser would drop."""
    return any(
        len(re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))) > columns for line in lines
    )


def _needs_formatting(rows: Sequence[Sequence[list[SyntaxTreeNode]]], texts: Sequence[Sequence[str]]) -> bool:
    linked = any(node.type in ("link", "image") for row in rows for cell in row for one in cell for node in one.walk())
    return linked or any("\n" in text for row in texts for text in row)


def _alignments(table: SyntaxTreeNode) -> list[str]:
    head = table.children[0].children[0]
    return [str(cell.attrs.get("style", "")).removeprefix("text-align:") for cell in head.children]


def _grid(texts: Sequence[Sequence[str]], alignments: Sequence[str]) -> str | None:
    """The rows in columns with a line below the head; None when that is too wide."""
    widths = [max(_width(text) for text in column) for column in zip(*texts, strict=True)]
    if sum(widths) + len(_GAP) * (len(widths) - 1) > NARROW:
        return None
    head, *body = [_GAP.join(map(_padded, row, widths, alignments)).rstrip() for row in texts]
    ruled = [head, _GAP.join("─" * width for width in widths)] if head.strip() else []
    return "\n".join([*ruled, *body])


def _padded(text: str, width: int, alignment: str) -> str:
    space = width - _width(text)
    before = {"right": space, "center": space // 2}.get(alignment, 0)
    return " " * before + text + " " * (space - before)


def _width(text: str) -> int:
    return max(wcswidth(text), 0)


def _write_list(
    writer: Writer, rows: Sequence[Sequence[list[SyntaxTreeNode]]], texts: Sequence[Sequence[str]], blank: bool
) -> None:
    """Each row as a title, its first cell, and the other cells below it with the names of their columns."""
    names = texts[0]
    for number, (row, shown) in enumerate(zip(rows[1:], texts[1:], strict=True)):
        writer.block(blank or number > 0)
        with writer.styled(bold=True):
            writer.text(f"{names[0]}: " if names[0] else "")
            _write_cell(writer, row[0], shown[0])
        for name, cell, text in zip(names[1:], row[1:], shown[1:], strict=True):
            writer.block(blank=False)
            writer.mark("• ")
            writer.text(f"{name}: " if name else "")
            with writer.indented("  "):
                _write_cell(writer, cell, text)


def _write_cell(writer: Writer, cell: list[SyntaxTreeNode], text: str) -> None:
    if text:
        write_inline(writer, cell)
    else:
        writer.text(_NOTHING)


def _write_rows_alone(writer: Writer, rows: Sequence[Sequence[list[SyntaxTreeNode]]], blank: bool) -> None:
    """A head without rows, one cell a line."""
    for number, cell in enumerate(rows[0]):
        writer.block(blank and not number)
        write_inline(writer, cell)
