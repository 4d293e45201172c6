"""The state behind the fake: people, chats, files and what hangs in the air between two calls."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from goat.ports.run import Clock
from goat.testing.bot_api.errors import bad_request
from goat.testing.bot_api.messages import GENERAL, Chat, Json, Media, Message, StoredFile, User
from goat.testing.bot_api.text import NOTHING, FormattedText
from goat.testing.bot_api.updates import UpdateQueue

TYPING: Final = timedelta(seconds=5)
"""How long one chat action is seen."""

DRAFT: Final = timedelta(seconds=30)
"""How long a draft is seen."""

Place = tuple[int, int | None]
"""A chat and the topic in it."""


@dataclass(slots=True)
class Tap:
    """A button that somebody pressed. `answer` is None until the bot answers."""

    id: str
    user: User
    at: datetime
    answer: Json | None = None


@dataclass(slots=True)
class Interval:
    """A time during which a chat action was seen."""

    action: str
    begin: datetime
    end: datetime


@dataclass(slots=True)
class Draft:
    """A message that the bot is still writing."""

    id: int
    shown: FormattedText
    until: datetime


@dataclass(slots=True)
class Webhook:
    """Where updates are pushed to, and how that went last."""

    url: str
    secret: str | None
    error: str | None = None
    error_at: datetime | None = None


@dataclass
class World:
    """Everything that the methods of the Bot API read and change.

    `changed` is set, and a new one put in its place, whenever something happens; `ended` when the server goes away.
    """

    clock: Clock
    bot: User
    updates: UpdateQueue
    privacy: bool = False
    limited: bool = False
    chats: dict[int, Chat] = field(default_factory=dict)
    users: dict[int, User] = field(default_factory=dict)
    files: dict[str, StoredFile] = field(default_factory=dict)
    taps: dict[str, Tap] = field(default_factory=dict)
    commands: dict[tuple[str, str], list[Json]] = field(default_factory=dict)
    actions: dict[Place, list[Interval]] = field(default_factory=dict)
    drafts: dict[Place, Draft] = field(default_factory=dict)
    sent: dict[int, list[float]] = field(default_factory=dict)
    webhook: Webhook | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _numbers: Counter[str] = field(default_factory=Counter)

    def number(self, series: str) -> int:
        """The next number of a series, from 1."""
        self._numbers[series] += 1
        return self._numbers[series]

    def chat(self, reference: object) -> Chat:
        """The chat of an id or @username. Raises `ApiError` when there is none."""
        if isinstance(reference, str) and reference.startswith("@"):
            named = [chat for chat in self.chats.values() if chat.username == reference[1:] and chat.type != "private"]
            if named:
                return named[0]
        try:
            return self.chats[int(str(reference))]
        except (KeyError, ValueError):
            raise bad_request("chat not found") from None

    def store(self, name: str | None, content: bytes, mime: str | None, size: int | None = None) -> StoredFile:
        """Keep a file."""
        file = StoredFile(f"F{self.number('file'):06}", name, content, mime, size if size is not None else len(content))
        self.files[file.id] = file
        return file

    def post(
        self,
        chat: Chat,
        sender: User,
        shown: FormattedText = NOTHING,
        *,
        topic: int | None = None,
        media: Media | None = None,
        reply_to: Message | None = None,
        quote: str | None = None,
        markup: Json | None = None,
        album: str | None = None,
        extra: Json | None = None,
    ) -> Message:
        """Add a message to a chat."""
        chat.last_message_id += 1
        message = Message(
            id=chat.last_message_id,
            chat=chat,
            sender=sender,
            at=self.clock.now(),
            shown=shown,
            topic=None if topic == GENERAL else topic,
            media=media,
            reply_to=reply_to,
            quote=quote,
            markup=markup,
            album=album,
            extra=extra or {},
        )
        chat.messages[message.id] = message
        if sender is self.bot:
            self.end_action(chat, message.topic)
            self.drafts.pop((chat.id, message.topic), None)
        self.touch()
        return message

    def touch(self) -> None:
        """Tell all who wait that something is different."""
        self.changed.set()
        self.changed = asyncio.Event()

    def act(self, chat: Chat, topic: int | None, action: str) -> None:
        """Show an action, or go on showing it."""
        now = self.clock.now()
        seen = self.actions.setdefault((chat.id, None if topic == GENERAL else topic), [])
        if seen and seen[-1].action == action and seen[-1].end >= now:
            seen[-1].end = now + TYPING
        else:
            seen.append(Interval(action, now, now + TYPING))
        self.touch()

    def end_action(self, chat: Chat, topic: int | None) -> None:
        """A message has come: nobody is seen typing any more."""
        now = self.clock.now()
        for interval in self.actions.get((chat.id, topic), [])[-1:]:
            interval.end = min(interval.end, now)

    def deliver(self, message: Message, kind: str = "message") -> int | None:
        """Queue an update about a message; None when the bot does not get to see it."""
        standing = message.chat.bot_standing
        hidden = self.privacy and standing == "member" and not self._meant_for_bot(message)
        if hidden or standing not in ("member", "administrator"):
            return None
        return self.push({kind: message.as_json()})

    def push(self, body: Json, update_id: int | None = None) -> int | None:
        """Queue any update."""
        queued = self.updates.add(body, update_id)
        self.touch()
        return queued

    def _meant_for_bot(self, message: Message) -> bool:
        """What a bot with privacy mode sees of a group: commands, mentions of it, replies to it, service messages."""
        if message.chat.type in ("private", "channel") or not (message.text or message.media):
            return True
        if message.reply_to is not None and message.reply_to.sender is self.bot:
            return True
        raw = message.text.encode("utf-16-le")
        words = [
            raw[2 * one.offset : 2 * one.end].decode("utf-16-le").lower()
            for one in message.shown.entities
            if one.type in ("mention", "bot_command")
        ]
        own = f"@{self.bot.username}".lower()
        return any(word == own or (word.startswith("/") and ("@" not in word or word.endswith(own))) for word in words)

    def member_json(self, chat: Chat, user_id: int) -> dict[str, Any]:
        """The standing of a user in a chat."""
        if user_id == self.bot.id:
            return {"status": chat.bot_standing, "user": self.bot.as_json()}
        user = self.users.get(user_id)
        if user is None:
            raise bad_request("user not found")
        return {"status": "member" if user_id in chat.members else "left", "user": user.as_json()}
