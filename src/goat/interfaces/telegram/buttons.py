"""Buttons that go on meaning the same after a restart: each carries a token, and the working store what it stands for.

Telegram takes 64 bytes of data with a button, so what a button means is kept here and its token alone is sent.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Final, Protocol

from goat.errors import BackendUnavailable
from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.client import Button
from goat.interfaces.telegram.failures import BotApiError
from goat.interfaces.telegram.message import Tap
from goat.interfaces.texts import texts_for
from goat.ports.stores import WorkingStore

KEPT_SECONDS: Final = 14 * 86400.0
"""How long a button is known. Pressed later it only says that it is too old."""

LABEL_CHARS: Final = 40
"""A longer label would not be readable on a telephone."""

TOLD_CHARS: Final = 200
"""How much can be told to whoever pressed a button; Telegram refuses a longer text."""

_TOKEN_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a button is for: the kind says who handles it, the value what it chooses.

    It belongs to a chat of the journal, and to one person where `user` is not 0. Pressed twice, `once` lets only the
    first through.
    """

    kind: str
    value: str
    chat: str
    user: int = 0
    once: bool = False


Handler = Callable[[Tap, Meaning], Awaitable[str]]
"""What a press does; it returns what the one who pressed is told, briefly, or nothing."""


class TapAnswers(Protocol):
    """What is needed of the Bot API."""

    async def answer_tap(self, tap: str, text: str = "", *, alert: bool = False) -> None:
        """Answer the press of a button. Raises `BotApiError`."""
        ...


class Buttons:
    """Makes buttons and handles their presses. `admin` says whether a user is the admin, who may press all."""

    def __init__(self, working: WorkingStore, answers: TapAnswers, admin: Callable[[int], bool]) -> None:
        self._working = working
        self._answers = answers
        self._admin = admin
        self._handlers: dict[str, Handler] = {}

    def on(self, kind: str, handler: Handler) -> None:
        """Give the presses of one kind of button to a handler."""
        self._handlers[kind] = handler

    async def make(self, label: str, meaning: Meaning) -> Button:
        """A button. Raises `BackendUnavailable`."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        await self._working.put(_key(token), json.dumps(asdict(meaning), ensure_ascii=False), KEPT_SECONDS)
        return Button(_short(label, LABEL_CHARS), token)

    async def tapped(self, tap: Tap) -> None:
        """Do what the button stands for, if this person may; the press is answered in any case."""
        say = texts_for(tap.sender.language)
        told = ""
        try:
            meaning = await self._meaning(tap)
            if meaning is None:
                told = say("buttons.too_old")
            elif not self._may_press(tap, meaning):
                told = say("buttons.not_yours")
            elif meaning.once and not await self._working.claim(f"{_key(tap.data)}:pressed", KEPT_SECONDS):
                told = say("buttons.pressed")
            else:
                told = await self._handlers[meaning.kind](tap, meaning)
        except BackendUnavailable:
            told = say("buttons.failed")
        finally:
            with suppress(BotApiError):  # such as a press that is more than 15 seconds old: it has had its effect
                await self._answers.answer_tap(tap.id, _short(told, TOLD_CHARS))

    async def _meaning(self, tap: Tap) -> Meaning | None:
        """What the token of a press stands for, where its message is; None for one that is not known."""
        stored = await self._working.get(_key(tap.data))
        if stored is None:
            return None
        meaning = Meaning(**json.loads(stored.body))
        elsewhere = tap.address is not None and tap.address.chat != Address.parse(meaning.chat).chat
        return None if elsewhere or meaning.kind not in self._handlers else meaning

    def _may_press(self, tap: Tap, meaning: Meaning) -> bool:
        return meaning.user in (0, tap.sender.id) or self._admin(tap.sender.id)


def _key(token: str) -> str:
    return f"telegram:button:{token}"


def _short(text: str, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
