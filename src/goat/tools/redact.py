"""Blacks out secrets in texts that leave the place where they belong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MASK = "•••"
SHORTEST = 6
"""A secret shorter than this is a common word, and no key is that short."""

LOOKS_SECRET = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|xox[abprs]|AKIA|AIza|hf|gsk)[-_]?[A-Za-z0-9_-]{16,}"
    r"|(?:\b|(?<=bot))\d{6,12}:[A-Za-z0-9_-]{30,}"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/-]{12,}=*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----",
    re.DOTALL,
)
"""Keys of well-known providers, Telegram bot tokens, bearer tokens and private keys."""


class Redactor:
    """Replaces the given secrets, also URL-encoded, and whatever looks like one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {
            form
            for secret in secrets
            if len(secret) >= SHORTEST
            for form in (secret, quote(secret, safe=""), quote_plus(secret))
        }
        ordered = sorted(forms, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, ordered)), re.IGNORECASE) if ordered else None

    def __call__(self, text: str) -> str:
        """The text with every secret replaced."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        return LOOKS_SECRET.sub(MASK, text)
