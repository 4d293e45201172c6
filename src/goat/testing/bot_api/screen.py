"""What a person sees of a chat in the end: the messages that stand there, not the calls that made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from goat.testing.bot_api.entities import TextEntity
from goat.testing.bot_api.messages import GENERAL, Chat, Media, Message
from goat.testing.bot_api.world import Interval, World


@dataclass(frozen=True, slots=True)
class Seen:
    """One message as it stands. `buttons` are the labels in their rows, `media` the kind of file, if any."""

    id: int
    sender: str
    from_bot: bool
    at: datetime
    text: str
    entities: tuple[TextEntity, ...]
    buttons: tuple[tuple[str, ...], ...]
    media: Media | None
    edited: bool
    reply_to: int | None
    quote: str | None
    topic: int | None
    reactions: tuple[str, ...]
    message: Message
    """The message behind it, to reply to or to press a button of."""

    def marked(self, kind: str) -> list[str]:
        """The parts of the text that an entity of this type covers."""
        raw = self.text.encode("utf-16-le")
        return [raw[2 * one.offset : 2 * one.end].decode("utf-16-le") for one in self.entities if one.type == kind]


@dataclass(frozen=True, slots=True)
class Screen:
    """A chat, or one topic of it, oldest message first."""

    title: str
    messages: tuple[Seen, ...]
    actions: tuple[Interval, ...]
    """When the bot was seen typing or uploading."""

    draft: str | None

    @property
    def texts(self) -> list[str]:
        """The texts of all messages."""
        return [seen.text for seen in self.messages]

    @property
    def answers(self) -> list[str]:
        """The texts of the bot's messages."""
        return [seen.text for seen in self.messages if seen.from_bot]

    @property
    def last(self) -> Seen:
        """The newest message. Raises `IndexError` on an empty screen."""
        return self.messages[-1]

    def drawing(self) -> str:
        """The screen as plain text."""
        lines = [f"── {self.title} ──"]
        for seen in self.messages:
            lines += [f"{seen.sender} {seen.at:%H:%M}" + (" (edited)" if seen.edited else "")]
            if seen.media is not None:
                lines += [f"  <{seen.media.kind} {seen.media.file.name or ''}>"]
            lines += [f"  {line}" for line in seen.text.splitlines()]
            lines += ["  " + " ".join(f"[{label}]" for label in row) for row in seen.buttons]
        return "\n".join(lines)


def draw(world: World, chat: Chat, topic: int | None) -> Screen:
    """The screen of a chat; with a topic only that one, with the thread id 1 a forum's General topic."""
    shown = [one for one in chat.messages.values() if topic is None or one.topic == _own(topic)]
    seen_actions = [
        interval
        for (chat_id, where), intervals in world.actions.items()
        if chat_id == chat.id and (topic is None or where == _own(topic))
        for interval in intervals
    ]
    draft = world.drafts.get((chat.id, _own(topic)))
    return Screen(
        title=chat.title if topic is None else f"{chat.title} · {chat.topics.get(topic, 'General')}",
        messages=tuple(_seen(world, one) for one in shown),
        actions=tuple(sorted(seen_actions, key=lambda interval: interval.begin)),
        draft=draft.shown.text if draft is not None and draft.until > world.clock.now() else None,
    )


def _own(topic: int | None) -> int | None:
    return None if topic == GENERAL else topic


def _seen(world: World, message: Message) -> Seen:
    rows: Sequence[Sequence[Mapping[str, Any]]] = message.buttons
    return Seen(
        id=message.id,
        sender=message.sender.first_name,
        from_bot=message.sender is world.bot,
        at=message.at,
        text=message.text,
        entities=message.shown.entities,
        buttons=tuple(tuple(str(button["text"]) for button in row) for row in rows),
        media=message.media,
        edited=message.edited_at is not None,
        reply_to=message.reply_to.id if message.reply_to else None,
        quote=message.quote,
        topic=message.topic,
        reactions=tuple(message.reactions.values()),
        message=message,
    )
