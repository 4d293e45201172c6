"""The door that every text from outside passes before it is stored."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> tuple[str, bool]:
    """Replace what UTF-8 and SQL text cannot hold; say whether anything was replaced.

    Each NUL and each lone surrogate becomes U+FFFD, the replacement character, so no offset into the text moves.
    Everything else, line ends and unnormalised accents included, stays as it is.
    """
    cleaned, replaced = _UNSTORABLE.subn("�", text)
    return cleaned, replaced > 0
