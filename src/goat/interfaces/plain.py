"""Text from outside, made safe to show: nothing in it may steer the terminal."""

from __future__ import annotations

import re

from rich.console import Console

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """The text with its control characters as pictures (ESC becomes U+241B); line ends and tabs stay.

    Without this a stored or imported message could clear the screen, rename the window or forge a prompt.
    """
    return _CONTROL.sub(_picture, text.replace("\r\n", "\n"))


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


def shown(console: Console, text: str) -> str:
    """What to print of a text from outside: safe on a terminal, as it is into a file or a pipe."""
    return visible(text) if console.is_terminal else text
