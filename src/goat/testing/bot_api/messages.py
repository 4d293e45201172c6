"""Users, chats, files and messages of the fake Telegram, and their forms in the Bot API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias

from goat.testing.bot_api.text import NOTHING, FormattedText

Json: TypeAlias = dict[str, Any]

GENERAL: Final = 1
"""The thread id of a forum's first topic, which no message carries."""


@dataclass(frozen=True, slots=True)
class User:
    """A person or a bot."""

    id: int
    first_name: str
    username: str | None = None
    language: str | None = None
    is_bot: bool = False

    def as_json(self) -> Json:
        """As a message's sender."""
        body: Json = {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name}
        if self.username:
            body["username"] = self.username
        if self.language:
            body["language_code"] = self.language
        return body


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file on Telegram's side. `size` may claim more bytes than `content` holds."""

    id: str
    name: str | None
    content: bytes
    mime: str | None
    size: int

    @property
    def path(self) -> str:
        """Where it is downloaded. Of its name only a plain ending is in it."""
        ending = re.search(r"\.[A-Za-z0-9]{1,8}$", self.name or "")
        return f"files/{self.id}" + (ending[0] if ending else "")

    def as_json(self) -> Json:
        """The fields that every kind of file has."""
        return {"file_id": self.id, "file_unique_id": f"u{self.id}", "file_size": self.size}


@dataclass(frozen=True, slots=True)
class Media:
    """What a message carries beside its text: `photo`, `document`, `voice`, `audio`, `video`."""

    kind: str
    file: StoredFile
    seconds: int = 0
    size: tuple[int, int] = (1280, 720)

    def as_json(self) -> Json | list[Json]:
        """The field of the message that is named after the kind."""
        body = self.file.as_json()
        if self.kind == "photo":
            width, height = self.size
            return [
                {**body, "width": width // part, "height": height // part, "file_size": self.file.size // part}
                for part in (8, 2, 1)
            ]
        if self.kind == "video":
            body |= {"width": self.size[0], "height": self.size[1]}
        if self.kind != "document":
            body["duration"] = self.seconds
        if self.file.mime:
            body["mime_type"] = self.file.mime
        if self.file.name and self.kind != "voice":
            body["file_name"] = self.file.name
        return body


@dataclass(slots=True)
class Chat:
    """A private chat, group, supergroup or channel with its messages as they stand now."""

    id: int
    type: str
    title: str
    username: str | None = None
    is_forum: bool = False
    topics: dict[int, str] = field(default_factory=dict)
    members: dict[int, User] = field(default_factory=dict)
    bot_standing: str = "member"
    moved_to: int | None = None
    messages: dict[int, Message] = field(default_factory=dict)
    last_message_id: int = 0

    def as_json(self) -> Json:
        """As a message's chat."""
        named = "first_name" if self.type == "private" else "title"
        body: Json = {"id": self.id, "type": self.type, named: self.title}
        if self.username:
            body["username"] = self.username
        if self.is_forum:
            body["is_forum"] = True
        return body


@dataclass(slots=True)
class Message:
    """One message as it stands now."""

    id: int
    chat: Chat
    sender: User
    at: datetime
    shown: FormattedText = NOTHING
    topic: int | None = None
    media: Media | None = None
    reply_to: Message | None = None
    quote: str | None = None
    markup: Json | None = None
    album: str | None = None
    edited_at: datetime | None = None
    reactions: dict[int, str] = field(default_factory=dict)
    extra: Json = field(default_factory=dict)
    """Fields of the Bot API that nothing here depends on: origins of forwards, service messages."""

    @property
    def text(self) -> str:
        """The text or caption."""
        return self.shown.text

    @property
    def buttons(self) -> Sequence[Sequence[Mapping[str, Any]]]:
        """The rows of inline buttons below it."""
        rows: Sequence[Sequence[Mapping[str, Any]]] = (self.markup or {}).get("inline_keyboard", [])
        return rows

    def as_json(self, nested: bool = False) -> Json:
        """As an update carries it; a message that is replied to comes without what that one replies to."""
        body: Json = {
            "message_id": self.id,
            "from": self.sender.as_json(),
            "chat": self.chat.as_json(),
            "date": int(self.at.timestamp()),
        }
        if self.edited_at is not None:
            body["edit_date"] = int(self.edited_at.timestamp())
        if self.topic is not None:
            body["message_thread_id"] = self.topic
            if self.topic in self.chat.topics:
                body["is_topic_message"] = True
        if self.album is not None:
            body["media_group_id"] = self.album
        body |= self._content()
        if not nested:
            body |= self._reply()
        if self.buttons:
            body["reply_markup"] = {"inline_keyboard": self.buttons}
        return {**body, **self.extra}

    def _content(self) -> Json:
        entities = [entity.as_json() for entity in self.shown.entities]
        if self.media is None:
            return {"text": self.text, **({"entities": entities} if entities else {})} if self.text else {}
        body: Json = {self.media.kind: self.media.as_json()}
        if self.text:
            body["caption"] = self.text
        if entities:
            body["caption_entities"] = entities
        return body

    def _reply(self) -> Json:
        if self.reply_to is None:
            return {}
        body: Json = {"reply_to_message": self.reply_to.as_json(nested=True)}
        if self.quote is not None:
            position = len(self.reply_to.text.partition(self.quote)[0].encode("utf-16-le")) // 2
            body["quote"] = {"text": self.quote, "position": position, "is_manual": True}
        return body
