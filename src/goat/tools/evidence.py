"""Lines about what the tools of a turn did, for the conversation history: later turns can tell what was looked up."""

from __future__ import annotations

import re
from collections.abc import Sequence

from goat.records.tools import ToolUse

HEADER = "[Tool calls]"
ARGUMENTS_CHARS = 200
WHOLE_CHARS = 400
HEAD_CHARS = 200
TAIL_CHARS = 150

COPIED = re.compile(rf"\s*{re.escape(HEADER)}\n(?:called [^\n]*\n?)+\n*")
"""Such lines at the start of a reply, when a model copies them from the history."""


def evidence(uses: Sequence[ToolUse]) -> str:
    """One line a call below a header; empty when there was none."""
    if not uses:
        return ""
    return "\n".join([HEADER, *(_line(use) for use in uses)])


def without_copied_evidence(text: str) -> str:
    """The reply without evidence lines that the model wrote itself: nothing of them happened."""
    return COPIED.sub("", text, count=1) if text.lstrip().startswith(HEADER) else text


def _line(use: ToolUse) -> str:
    arguments = " ".join(use.arguments.split())
    if len(arguments) > ARGUMENTS_CHARS:
        arguments = arguments[:ARGUMENTS_CHARS] + "…"
    return f"called {use.name}({arguments}) → {_preview(use)}"


def _preview(use: ToolUse) -> str:
    text = " ".join(use.result.split())
    if use.private and use.ok:
        return f"[{len(use.result)} characters]"
    if len(text) <= WHOLE_CHARS:
        return text
    if use.name == "shell_run":
        return f"{text[:HEAD_CHARS]} … {text[-TAIL_CHARS:]}"
    return f"{text[:HEAD_CHARS]} …"
