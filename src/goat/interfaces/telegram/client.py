"""The Bot API as GOAT calls it: plain values in, plain values out, failures of `failures.py`.

Answers are taken raw, as dictionaries: a field or kind that a newer Bot API brings must not break a call that took
effect. This is the only module that imports `telegram`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import httpx
from telegram import Bot, InputFile
from telegram.error import TelegramError
from telegram.request import HTTPXRequest

from goat.interfaces.telegram.address import GENERAL, Address
from goat.interfaces.telegram.chunk import Document, Entity
from goat.interfaces.telegram.failures import (
    BotApiError,
    ChatClosed,
    ChatMoved,
    NotSent,
    OtherPoller,
    OutcomeUnknown,
    Refused,
    SlowDown,
    TokenRefused,
)

Json: TypeAlias = dict[str, Any]

API: Final = "https://api.telegram.org/bot"
FILES: Final = "https://api.telegram.org/file/bot"

_CONNECTIONS: Final = 100
_CONNECT_SECONDS: Final = 10.0
_UPLOAD_SECONDS: Final = 120.0
_POLL_GRACE_SECONDS: Final = 15.0
_DEFAULT_PAUSE: Final = 5.0
_PREFIX: Final = re.compile(r"^(Bad Request|Forbidden|Conflict): ")
_TOO_BIG: Final = "file is too big"
_NOT_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
)


@dataclass(frozen=True, slots=True)
class Button:
    """A button below a message. `data` comes back when it is pressed, 1 to 64 bytes of UTF-8; `url` opens a page."""

    label: str
    data: str = ""
    url: str = ""


Buttons: TypeAlias = Sequence[Sequence[Button]]


class TelegramClient:
    """One bot. Enter it before the first call; nothing is called by that.

    `timeout` is how many seconds a call may take as a whole; uploads and polls have longer ones. Every method raises
    `BotApiError`; those that send may raise each of its kinds but `OtherPoller`.
    """

    def __init__(self, token: str, *, api: str = API, files: str = FILES, timeout: float = 30.0) -> None:
        self._timeout = timeout
        self._calls = _Request(_CONNECTIONS, timeout)
        self._polls = _Request(1, None)
        self._bot = _QuietBot(token, api, files, request=self._calls, get_updates_request=self._polls)

    async def __aenter__(self) -> Self:
        logging.getLogger("httpx").setLevel(logging.WARNING)  # at INFO it writes addresses, which hold the token
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._calls.shutdown()
        await self._polls.shutdown()

    # Receiving

    async def updates(self, offset: int | None, wait: float, kinds: Sequence[str], limit: int = 100) -> list[Json]:
        """The next updates, raw; with an offset all before it are confirmed. Waits up to `wait` seconds for the first.

        Raises `OtherPoller`, also where a webhook is set, and `OutcomeUnknown` when nothing came in `wait` and a grace.
        """
        asked = {"offset": offset, "timeout": int(wait), "allowed_updates": list(kinds), "limit": limit}
        got = await self._call("getUpdates", asked, seconds=wait + _POLL_GRACE_SECONDS)
        return [one for one in got if isinstance(one, dict)] if isinstance(got, list) else []

    async def reopen_polling(self) -> None:
        """Give up the connection that updates come through; the next poll makes a new one. No poll may run."""
        await self._polls.shutdown()
        await self._polls.initialize()

    async def me(self) -> Json:
        """The bot's own account."""
        return _object("getMe", await self._call("getMe"))

    async def webhook(self) -> Json:
        """Where updates are pushed to, as getWebhookInfo says it; an empty `url` where they are not."""
        return _object("getWebhookInfo", await self._call("getWebhookInfo"))

    async def set_webhook(self, url: str, secret: str, kinds: Sequence[str]) -> None:
        """Have updates pushed to an address, one after another, with the secret in a header.

        None that waits is dropped.
        """
        asked = {"url": url, "secret_token": secret, "allowed_updates": list(kinds), "max_connections": 1}
        await self._call("setWebhook", asked)

    async def delete_webhook(self) -> None:
        """End the pushing; what waits is kept for the polls."""
        await self._call("deleteWebhook")

    async def download(self, file_id: str, to: Path, most: int) -> int:
        """Write the content of a file of at most `most` bytes to a path and return its size in bytes.

        Raises `Refused` for one that is larger, whatever was said of its size, and `OSError` where the path cannot be
        written.
        """
        told = _object("getFile", await self._call("getFile", {"file_id": file_id}))
        if int(told.get("file_size") or 0) > most:
            raise Refused("getFile", _TOO_BIG)
        url = f"{self._bot.base_file_url}/{told.get('file_path')}"
        content = await self._answered("download", self._calls.retrieve(url), _UPLOAD_SECONDS)
        if len(content) > most:
            raise Refused("download", _TOO_BIG)
        await asyncio.to_thread(to.write_bytes, content)
        return len(content)

    # Sending

    async def send_text(
        self,
        place: Address,
        text: str,
        entities: Sequence[Entity] = (),
        *,
        reply_to: int | None = None,
        buttons: Buttons = (),
        silent: bool = False,
    ) -> int:
        """Send a text of 1 to 4096 UTF-16 units and return the id of the message; addresses in it get no preview."""
        said = {"text": text, "entities": [_entity(one) for one in entities], "link_preview_options": _NO_PREVIEW}
        return _number("sendMessage", await self._call("sendMessage", said | _where(place, reply_to, buttons, silent)))

    async def send_document(
        self,
        place: Address,
        document: Document,
        *,
        reply_to: int | None = None,
        buttons: Buttons = (),
        silent: bool = False,
    ) -> int:
        """Send a file and return the id of the message."""
        content = {"document": InputFile(document.content, filename=document.name)}
        asked = content | _where(place, reply_to, buttons, silent)
        return _number("sendDocument", await self._call("sendDocument", asked, seconds=_UPLOAD_SECONDS))

    async def edit_text(
        self, chat: int, message: int, text: str, entities: Sequence[Entity] = (), *, buttons: Buttons = ()
    ) -> None:
        """Give a message of the bot another text and these buttons; that it has them already is no failure."""
        said = {"text": text, "entities": [_entity(one) for one in entities], "link_preview_options": _NO_PREVIEW}
        await self._edit("editMessageText", {"chat_id": chat, "message_id": message, **said, **_keyboard(buttons)})

    async def edit_buttons(self, chat: int, message: int, buttons: Buttons = ()) -> None:
        """Change the buttons of a message, or take them away."""
        await self._edit("editMessageReplyMarkup", {"chat_id": chat, "message_id": message, **_keyboard(buttons)})

    async def delete_message(self, chat: int, message: int) -> None:
        """Remove a message; one that is gone already is no failure."""
        try:
            await self._call("deleteMessage", {"chat_id": chat, "message_id": message})
        except Refused as refusal:
            if not refusal.reason.lower().startswith("message to delete not found"):
                raise

    async def send_action(self, place: Address, action: str = "typing") -> None:
        """Show for up to five seconds that the bot is doing something."""
        number = GENERAL if place.forum and place.topic is None else place.topic
        topic = {} if number is None else {"message_thread_id": number}
        await self._call("sendChatAction", {"chat_id": place.chat, "action": action, **topic})

    async def answer_tap(self, tap: str, text: str = "", *, alert: bool = False) -> None:
        """Answer the press of a button, with a short text that its presser alone sees. Must come within 15 seconds."""
        await self._call("answerCallbackQuery", {"callback_query_id": tap, "text": text, "show_alert": alert})

    async def set_commands(self, commands: Mapping[str, str], language: str = "", scope: Json | None = None) -> None:
        """Set the menu: names without slash and what they do, for a language (two letters; empty: all others)."""
        listed = [{"command": name, "description": about} for name, about in commands.items()]
        asked = {"commands": listed, "language_code": language or None, "scope": scope}
        await self._call("setMyCommands", asked)

    # How calls are made

    async def _edit(self, method: str, params: Json) -> None:
        try:
            await self._call(method, params)
        except Refused as refusal:
            if not refusal.reason.lower().startswith("message is not modified"):
                raise

    async def _call(self, method: str, params: Json | None = None, *, seconds: float | None = None) -> Any:
        within = seconds or self._timeout
        return await self._answered(method, self._bot.do_api_request(method, params, read_timeout=within), within)

    async def _answered(self, method: str, call: Any, seconds: float) -> Any:
        try:
            async with asyncio.timeout(seconds):
                return await call
        except TimeoutError:
            raise OutcomeUnknown(method, f"no answer in {seconds:g} s") from None
        except _Answer as answer:
            raise _failure(method, answer) from None
        except TelegramError as failure:
            cause = failure.__cause__
            reason = type(cause).__name__ if cause is not None else str(failure)
            raise (NotSent if isinstance(cause, _NOT_SENT) else OutcomeUnknown)(method, reason) from failure


class _QuietBot(Bot):
    """Raw answers are asked for on purpose, so the hint at the methods with typed ones is not wanted."""

    __slots__ = ()

    @classmethod
    def _warn(cls, *_hint: object, **_options: object) -> None:
        """Say nothing."""


class _Answer(TelegramError):
    """An answer that is no success, with all that it says."""

    def __init__(self, status: int, description: str, parameters: Mapping[str, Any]) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.parameters = parameters


class _Request(HTTPXRequest):
    """Reads answers itself: the library's reading logs whole bodies and loses the status."""

    __slots__ = ()

    def __init__(self, connections: int, timeout: float | None) -> None:
        before = _CONNECT_SECONDS if timeout is None else min(_CONNECT_SECONDS, timeout / 3)
        super().__init__(
            connections,
            read_timeout=timeout,
            write_timeout=timeout,
            connect_timeout=before,  # well before the whole call is given up, so that it surely was not sent
            pool_timeout=before,
            media_write_timeout=_UPLOAD_SECONDS,
            httpx_kwargs={"verify": _trusted()},
        )

    async def do_request(self, *args: Any, **options: Any) -> tuple[int, bytes]:
        """The answer; one that is no success is raised."""
        status, payload = await super().do_request(*args, **options)
        if 200 <= status <= 299:
            return status, payload
        body = _parsed(payload)
        parameters = body.get("parameters")
        described = str(body.get("description") or f"the server answered with status {status}")
        raise _Answer(status, described, parameters if isinstance(parameters, dict) else {})

    @staticmethod
    def parse_json_payload(payload: bytes) -> Json:
        """The body of a success."""
        body = _parsed(payload)
        if "result" not in body:
            raise TelegramError("an answer that cannot be read")
        return body


_NO_PREVIEW: Final = {"is_disabled": True}


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates that servers are checked with; reading them takes a quarter of a second."""
    return httpx.create_ssl_context()


def _parsed(payload: bytes) -> Json:
    """The object in a body; empty where there is none."""
    try:
        body = json.loads(payload)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _failure(method: str, answer: _Answer) -> BotApiError:
    """What an answer that is no success means for the caller."""
    status, reason = answer.status, _PREFIX.sub("", answer.description)
    pause, moved = answer.parameters.get("retry_after"), answer.parameters.get("migrate_to_chat_id")
    if isinstance(moved, int):
        return ChatMoved(method, moved)
    if status == 429:
        return SlowDown(method, float(pause) if isinstance(pause, int | float) else _DEFAULT_PAUSE)
    if status == 401 or (status == 404 and reason == "Not Found"):
        return TokenRefused(method)
    kinds: dict[int, type[BotApiError]] = {403: ChatClosed, 409: OtherPoller}
    return kinds.get(status, Refused if 400 <= status <= 499 else OutcomeUnknown)(method, reason)


def _where(place: Address, reply_to: int | None, buttons: Buttons, silent: bool) -> Json:
    """The parameters that every message has in common; a reply to a message that is gone is sent without it."""
    return {
        "chat_id": place.chat,
        "message_thread_id": place.topic,
        "reply_parameters": None if reply_to is None else {"message_id": reply_to, "allow_sending_without_reply": True},
        "disable_notification": silent or None,
        **(_keyboard(buttons) if buttons else {}),
    }


def _keyboard(buttons: Buttons) -> Json:
    rows = [[_button(one) for one in row] for row in buttons]
    return {"reply_markup": {"inline_keyboard": rows}} if rows else {}


def _button(button: Button) -> Json:
    return {"text": button.label, **({"url": button.url} if button.url else {"callback_data": button.data})}


def _entity(entity: Entity) -> Json:
    extra = {"url": entity.url, "language": entity.language}
    known = {name: value for name, value in extra.items() if value is not None}
    return {"type": entity.type, "offset": entity.offset, "length": entity.length, **known}


def _object(method: str, result: Any) -> Json:
    if not isinstance(result, dict):
        raise OutcomeUnknown(method, "an answer of another form than expected")
    return result


def _number(method: str, result: Any) -> int:
    number = _object(method, result).get("message_id")
    if not isinstance(number, int):
        raise OutcomeUnknown(method, "an answer without the id of the message")
    return number
