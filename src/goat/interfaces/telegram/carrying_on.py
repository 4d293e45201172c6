"""Goes on without what a store could not do, and never without a word about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from goat.errors import BackendUnavailable
from goat.records.turns import Notice

SUBJECT: Final = "Telegram"


@contextmanager
def carrying_on(notice: Callable[[Notice], None], without: str) -> Iterator[None]:
    """End the block where a store is away, and tell that the bot goes on `without` this, with the store's reason."""
    try:
        yield
    except BackendUnavailable as away:
        notice(Notice(SUBJECT, f"{without}. {away}"))
