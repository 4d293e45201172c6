"""Where something is said on Telegram, and the name that the journal knows the place by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

CHANNEL: Final = "telegram"
"""The channel of replies and the source of messages."""

GENERAL: Final = 1
"""The thread id of a forum's General topic; messages are sent without it, chat actions with it."""


@dataclass(frozen=True, slots=True)
class Address:
    """A chat, or one forum topic of it. `chat` is negative for groups; General and no topic at all are None.

    `forum` says that a group is known to have topics; the place is the same without it.
    """

    chat: int
    topic: int | None = None
    forum: bool = field(default=False, compare=False)

    @property
    def name(self) -> str:
        """The chat's name in the journal, such as `telegram:700001` or `telegram:-1001:7`."""
        return f"{CHANNEL}:{self.chat}" if self.topic is None else f"{CHANNEL}:{self.chat}:{self.topic}"

    @property
    def private(self) -> bool:
        """Whether it is the chat of one person with the bot, whose ids are positive."""
        return self.chat > 0

    @classmethod
    def parse(cls, name: str) -> Self:
        """The address behind a chat's name. Raises `ValueError` for the name of another channel's chat."""
        channel, *numbers = name.split(":")
        if channel != CHANNEL or len(numbers) not in (1, 2):
            raise ValueError(f"{name!r} is no chat of Telegram")
        chat, *topic = (int(number) for number in numbers)
        return cls(chat, topic[0] if topic else None)

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Self:
        """Where a message of the Bot API stands. Raises `LookupError` or `TypeError` when it has no chat.

        Outside forums a thread id only says which message is being answered.
        """
        topic = message.get("message_thread_id") if message.get("is_topic_message") else None
        chat, own = message["chat"], None if topic in (None, GENERAL) else int(topic)
        return cls(int(chat["id"]), own, forum=chat.get("is_forum") is True)
