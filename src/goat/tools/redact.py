"""Blacks out secrets in texts that leave the place where they belong."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
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


def _forms(secret: str) -> Iterator[str]:
    """The secret as it is, URL-encoded, and in Base64, wherever it begins in the encoded text."""
    yield from (secret, quote(secret, safe=""), quote_plus(secret))
    data = secret.encode()
    for before, shared in ((0, 0), (1, 2), (2, 3)):
        padded = bytes(before) + data
        encoded = b64encode(padded[: len(padded) // 3 * 3]).decode()[shared:]
        if len(encoded) >= SHORTEST:
            yield from (encoded, encoded.replace("+", "-").replace("/", "_"))


class Redactor:
    """Replaces the given secrets, also URL-encoded and in Base64, and whatever looks like one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
        ordered = sorted(forms, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, ordered)), re.IGNORECASE) if ordered else None

    def __call__(self, text: str) -> str:
        """The text with every secret replaced."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        return LOOKS_SECRET.sub(MASK, text)
