"""People who use the bot: what they do in their app becomes messages and updates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Self

from goat.testing.bot_api.entities import TextEntity, settled, units, with_detected
from goat.testing.bot_api.messages import Chat, Json, Media, Message, User
from goat.testing.bot_api.screen import Seen
from goat.testing.bot_api.text import NOTHING, TEXT, FormattedText
from goat.testing.bot_api.world import Tap, World

_OGG: Final = b"OggS" + bytes(60)
_JPEG: Final = b"\xff\xd8\xff\xe0" + bytes(60)

Pointed = Message | Seen
"""A message, as the one who wrote it or as the screen has it."""


def typed(text: str, entities: tuple[TextEntity, ...] = ()) -> FormattedText:
    """A text as an app sends it: addresses, commands and mentions are marked."""
    return FormattedText(text, tuple(with_detected(text, settled(entities))))


@dataclass(frozen=True)
class Person:
    """Somebody with the app open in one chat, at first the private chat with the bot; see `at` for others."""

    world: World
    user: User
    chat: Chat
    topic: int | None = None

    @property
    def id(self) -> int:
        """The numeric id."""
        return self.user.id

    def at(self, chat: Chat, topic: int | None = None) -> Self:
        """The same person in a group or one of its topics; joins the group silently."""
        chat.members.setdefault(self.user.id, self.user)
        return replace(self, chat=chat, topic=topic)

    def says(self, text: str, entities: tuple[TextEntity, ...] = (), **extra: Any) -> Message:
        """Send a text; `extra` are fields of the Bot API's message that nothing else sets."""
        return self._sent(typed(text, entities), extra=extra)

    def pastes(self, text: str) -> list[Message]:
        """Send a text of any length; the app splits it where a message is full."""
        parts, room = [""], TEXT
        for character in text:
            if room < units(character):
                parts, room = [*parts, ""], TEXT
            parts[-1] += character
            room -= units(character)
        return [self.says(part) for part in parts]

    def starts(self, payload: str = "") -> Message:
        """Press Start, perhaps behind a link with a payload."""
        return self.says(f"/start {payload}".strip())

    def replies_to(self, message: Pointed, text: str, quote: str | None = None, **extra: Any) -> Message:
        """Answer a message, or the quoted part of it."""
        return self._sent(typed(text), reply_to=_behind(message), quote=quote, extra=extra)

    def posts(self, channel: Chat, text: str) -> Message:
        """Write in a channel, in the channel's name."""
        message = self.world.post(channel, self.user, typed(text), extra={"sender_chat": channel.as_json()})
        self.world.deliver(message, "channel_post")
        return message

    def edits(self, message: Pointed, text: str) -> Message:
        """Change one's own message, or its caption."""
        changed = _behind(message)
        changed.shown = typed(text)
        changed.edited_at = self.world.clock.now()
        self.world.deliver(changed, "edited_message")
        return changed

    def deletes(self, message: Pointed) -> None:
        """Remove a message; a bot is not told."""
        del self.chat.messages[_behind(message).id]
        self.world.touch()

    def taps(self, message: Pointed, label: str) -> Tap:
        """Press the button with this label. Raises `LookupError` when the message has none such now."""
        pressed = _behind(message)
        labelled = [button for row in pressed.buttons for button in row if button["text"] == label]
        if not labelled:
            raise LookupError(f"no button {label!r} below {pressed.text!r}")
        return self.presses(str(labelled[0]["callback_data"]), pressed)

    def presses(self, data: str, message: Pointed | None = None, **extra: Any) -> Tap:
        """Send callback data as it is; without a message as from one that the bot cannot reach any more."""
        world = self.world
        tap = Tap(f"Q{world.number('tap')}", self.user, world.clock.now())
        world.taps[tap.id] = tap
        body: Json = {
            "id": tap.id,
            "from": self.user.as_json(),
            "chat_instance": str(self.chat.id),
            "data": data,
            **extra,
        }
        if message is not None:
            body["message"] = _behind(message).as_json()
        world.push({"callback_query": body})
        return tap

    def sends_photo(self, content: bytes = _JPEG, caption: str = "") -> Message:
        """Send a picture."""
        return self._sends("photo", None, content, "image/jpeg", caption)

    def sends_album(self, pictures: list[bytes], caption: str = "") -> list[Message]:
        """Send several pictures at once; the caption stands below the first."""
        album = str(self.world.number("album"))
        return [
            self._sends("photo", None, content, "image/jpeg", "" if place else caption, album=album)
            for place, content in enumerate(pictures)
        ]

    def sends_document(
        self, name: str | None, content: bytes, mime: str | None = None, caption: str = "", size: int | None = None
    ) -> Message:
        """Send a file; `size` may claim more bytes than there are."""
        return self._sends("document", name, content, mime, caption, size=size)

    def sends_voice(
        self, seconds: int = 3, content: bytes = _OGG, caption: str = "", size: int | None = None
    ) -> Message:
        """Send a voice note."""
        return self._sends("voice", None, content, "audio/ogg", caption, seconds=seconds, size=size)

    def sends_audio(self, name: str, content: bytes, seconds: int = 180, caption: str = "") -> Message:
        """Send a piece of music."""
        return self._sends("audio", name, content, "audio/mpeg", caption, seconds=seconds)

    def forwards(self, text: str, origin: User | Chat | str) -> Message:
        """Forward somebody's text: a user's, a channel's, or that of one who hides behind a name."""
        return self._sent(typed(text), extra={"forward_origin": self._origin(origin)})

    def quotes_elsewhere(self, text: str, quote: str, origin: User | Chat | str) -> Message:
        """Write an answer to a message of another chat."""
        told = {"origin": self._origin(origin)}
        cited = {"text": quote, "position": 0, "is_manual": True}
        return self._sent(typed(text), extra={"external_reply": told, "quote": cited})

    def reacts(self, message: Pointed, emoji: str) -> None:
        """Put a reaction below a message; the bot is told if it asked for such updates."""
        chosen = _behind(message)
        old = chosen.reactions.get(self.user.id)
        chosen.reactions[self.user.id] = emoji
        self.world.push(
            {
                "message_reaction": {
                    "chat": chosen.chat.as_json(),
                    "message_id": chosen.id,
                    "user": self.user.as_json(),
                    "date": int(self.world.clock.now().timestamp()),
                    "old_reaction": [{"type": "emoji", "emoji": old}] if old else [],
                    "new_reaction": [{"type": "emoji", "emoji": emoji}],
                }
            }
        )

    def presses_stop(self, draft_id: int) -> int | None:
        """Press the stop button of a draft."""
        return self.world.push({"stopped_message_generation": {"chat": self.chat.as_json(), "draft_id": draft_id}})

    def joins(self, chat: Chat) -> Message:
        """Enter a group."""
        chat.members[self.user.id] = self.user
        return self.at(chat)._sent(NOTHING, extra={"new_chat_members": [self.user.as_json()]})

    def leaves(self, chat: Chat) -> Message:
        """Leave a group."""
        chat.members.pop(self.user.id, None)
        message = self.world.post(chat, self.user, extra={"left_chat_member": self.user.as_json()})
        self.world.deliver(message)
        return message

    def adds_bot(self, chat: Chat) -> Message:
        """Let the bot into a group."""
        self._stands(chat, "member")
        return self.at(chat)._sent(NOTHING, extra={"new_chat_members": [self.world.bot.as_json()]})

    def makes_admin(self, chat: Chat) -> None:
        """Make the bot an administrator of a group."""
        self._stands(chat, "administrator")

    def removes_bot(self, chat: Chat) -> None:
        """Throw the bot out of a group."""
        self._stands(chat, "kicked")

    def blocks_bot(self) -> None:
        """Block the bot in the private chat."""
        self._stands(self.world.chats[self.user.id], "blocked")

    def unblocks_bot(self) -> None:
        """Let the bot write again."""
        self._stands(self.world.chats[self.user.id], "member")

    def _stands(self, chat: Chat, standing: str) -> None:
        """Change what the bot may do in a chat, and tell it."""
        member = self.world.bot.as_json()
        old, chat.bot_standing = chat.bot_standing, standing
        statuses = [{"blocked": "kicked", "unknown": "left"}.get(one, one) for one in (old, standing)]
        kicked: Json = {"until_date": 0}
        self.world.push(
            {
                "my_chat_member": {
                    "chat": chat.as_json(),
                    "from": self.user.as_json(),
                    "date": int(self.world.clock.now().timestamp()),
                    "old_chat_member": {"status": statuses[0], "user": member}
                    | (kicked if statuses[0] == "kicked" else {}),
                    "new_chat_member": {"status": statuses[1], "user": member}
                    | (kicked if statuses[1] == "kicked" else {}),
                }
            }
        )

    def _origin(self, origin: User | Chat | str) -> Json:
        date = {"date": int(self.world.clock.now().timestamp())}
        if isinstance(origin, User):
            return {"type": "user", "sender_user": origin.as_json(), **date}
        if isinstance(origin, Chat):
            return {"type": "channel", "chat": origin.as_json(), "message_id": 1, **date}
        return {"type": "hidden_user", "sender_user_name": origin, **date}

    def _sends(
        self,
        kind: str,
        name: str | None,
        content: bytes,
        mime: str | None,
        caption: str,
        *,
        size: int | None = None,
        seconds: int = 0,
        album: str | None = None,
    ) -> Message:
        media = Media(kind, self.world.store(name, content, mime, size), seconds)
        return self._sent(typed(caption), media=media, album=album)

    def _sent(self, shown: FormattedText, **options: Any) -> Message:
        if self.chat.type == "private" and self.chat.bot_standing == "unknown":
            self.chat.bot_standing = "member"
        message = self.world.post(self.chat, self.user, shown, topic=self.topic, **options)
        self.world.deliver(message)
        return message


def _behind(message: Pointed) -> Message:
    return message.message if isinstance(message, Seen) else message
