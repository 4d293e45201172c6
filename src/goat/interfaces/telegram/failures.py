"""How a call of the Bot API fails, told apart by what the caller may do next.

BotApiError
├── NotSent           it certainly had no effect: it may be tried again
│   └── SlowDown      too many calls; not before `seconds` have passed
├── OutcomeUnknown    it may have taken effect: what is not idempotent must not be repeated
├── Refused           Telegram understood and said no: repeating it does not help
│   ├── ChatClosed    the bot may not write in this chat: blocked, thrown out, never opened
│   └── ChatMoved     the group became a supergroup with another id
├── TokenRefused      the token belongs to no bot any more
└── OtherPoller       another process receives this bot's updates, or a webhook does
"""

from __future__ import annotations

from typing import Final

from goat.errors import GoatError

_UNPARSABLE: Final = ("can't parse", "entity ", "entity_")
_REPLY_GONE: Final = ("message to be replied not found", "reply message not found", "reply_message_id_invalid")
_PLACE_GONE: Final = ("message thread not found", "topic_", "chat not found", "peer_id_invalid")


class BotApiError(GoatError):
    """A call of the Bot API failed. `reason` is short and holds no token."""

    def __init__(self, method: str, reason: str) -> None:
        self.method = method
        self.reason = reason
        super().__init__(f"Telegram, {method}: {reason}")


class NotSent(BotApiError):
    """The call had no effect for certain, as no connection came about. It may be tried again."""


class SlowDown(NotSent):
    """Telegram took nothing and wants to be left alone for `seconds`."""

    def __init__(self, method: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(method, f"too many calls; the next is allowed in {seconds:g} s")


class OutcomeUnknown(BotApiError):
    """The answer is missing or unreadable, so the call may have taken effect."""


class Refused(BotApiError):
    """Telegram refused the call for good; `reason` is its sentence, without the kind of refusal in front."""

    @property
    def unparsable(self) -> bool:
        """Whether the formatting was refused; the plain text may pass."""
        return self.reason.lower().startswith(_UNPARSABLE)

    @property
    def place_gone(self) -> bool:
        """Whether nothing at all can be sent there: no such chat or forum topic any more, or the bot is shut out."""
        return isinstance(self, ChatClosed) or self.reason.lower().startswith(_PLACE_GONE)

    @property
    def reply_gone(self) -> bool:
        """Whether the message that was to be replied to is not there any more."""
        return self.reason.lower().startswith(_REPLY_GONE)


class ChatClosed(Refused):
    """The bot may not write in this chat."""


class ChatMoved(Refused):
    """The group became a supergroup; `new_chat` is its id."""

    def __init__(self, method: str, new_chat: int) -> None:
        self.new_chat = new_chat
        super().__init__(method, f"the group became a supergroup with the id {new_chat}")


class TokenRefused(BotApiError):
    """Telegram does not know the token: it was revoked or never was one."""

    def __init__(self, method: str) -> None:
        super().__init__(method, "the bot's token is refused. Copy it again from @BotFather, /mybots, API Token.")


class OtherPoller(BotApiError):
    """Somebody else receives this bot's updates."""
