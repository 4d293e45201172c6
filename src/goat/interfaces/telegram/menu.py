"""The menu of commands that Telegram shows: put into its form, and set for each language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from goat.interfaces.telegram.failures import BotApiError
from goat.interfaces.texts import ENGLISH, LANGUAGES, Texts, texts_for
from goat.records.turns import Notice

MOST: Final = 60
"""A longer menu is of no use, and Telegram refuses one of more than a hundred."""

ABOUT_CHARS: Final = 256

_UNUSABLE: Final = re.compile(r"[^a-z0-9_]+")


class Menus(Protocol):
    """What is needed of the Bot API."""

    async def set_commands(
        self, commands: Mapping[str, str], language: str = "", scope: dict[str, Any] | None = None
    ) -> None:
        """Set the menu of a language, empty for all that have none. Raises `BotApiError`."""
        ...


def sanitised(commands: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Names and what they do, as Telegram takes them: the first of equal names, the first `MOST` of all."""
    menu: dict[str, str] = {}
    for name, about in commands:
        usable = _UNUSABLE.sub("_", name.lower()).strip("_")[:32].strip("_")
        told = " ".join(about.split())
        if usable and usable not in menu:
            menu[usable] = (told if len(told) <= ABOUT_CHARS else told[: ABOUT_CHARS - 1] + "…") or usable
    return dict(list(menu.items())[:MOST])


async def publish(
    menus: Menus,
    commands: Callable[[Texts], Iterable[tuple[str, str]]],
    tell: Callable[[Notice], None],
    chat: int | None = None,
) -> bool:
    """Set the menu in every language, for one chat or for all; False when Telegram did not take it.

    The commands work without a menu, so a failure is told and nothing more.
    """
    scope = None if chat is None else {"type": "chat", "chat_id": chat}
    try:
        for language in LANGUAGES:
            menu = sanitised(commands(texts_for(language)))
            await menus.set_commands(menu, "" if language == ENGLISH else language, scope)
    except BotApiError as failure:
        tell(Notice("the menu of commands", f"Telegram did not take it: {failure.reason}"))
        return False
    return True
