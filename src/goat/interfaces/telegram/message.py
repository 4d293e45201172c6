"""From a raw update to one frozen record: where it happened, who did it, what was said and whether the bot is meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.wire import (
    WireChat,
    WireEntity,
    WireFile,
    WireMessage,
    WireStanding,
    WireTap,
    WireUser,
)

EXCERPT: Final = 1000
"""Characters of a message that is answered; a quoted part is short by itself."""

_COMMAND: Final = re.compile(r"\s*/([A-Za-z0-9_]{1,32})(?:@(\w{3,32}))?(?:\s+(.*))?\s*", re.DOTALL)
_READERS: Final[Mapping[str, type[WireMessage | WireTap | WireStanding]]] = {
    "message": WireMessage,
    "edited_message": WireMessage,
    "callback_query": WireTap,
    "my_chat_member": WireStanding,
}
_FILES: Final = ("document", "voice", "audio", "video", "video_note", "sticker")


@dataclass(frozen=True, slots=True)
class Me:
    """The bot itself. `commands` are the names that it answers to; a bare one of another bot is not meant for it."""

    id: int
    username: str
    commands: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent it. `language` is the app's, such as `ro` or `pt-br`, empty where it is not told."""

    id: int
    name: str
    username: str = ""
    language: str = ""
    bot: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of the message `number`, sent `at`. `kind` is the Bot API's word; `size` in bytes and `seconds` are None
    where not told. `cited` ones belong to the message that is answered.
    """

    kind: str
    file_id: str
    number: int
    at: datetime
    name: str = ""
    mime: str = ""
    size: int | None = None
    seconds: int | None = None
    cited: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A command with what stands behind it; the name has no slash and is lower case."""

    name: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Cited:
    """Words that stand elsewhere: `how` they got here, of `whom`, and the `text`, empty where there is none.

    `own` says that they are the bot's, or the sender's own.
    """

    how: str
    whom: str
    text: str
    own: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """Something that a person said.

    `text` are the words of the message or its caption, `extras` what else it holds, in words. `cited` comes from
    elsewhere and is data, and so are the files of the message that it answers; with `forwarded`, the text is somebody
    else's as well. `reply_to` is the id of the message in the same chat that it answers. `addressed` says that the bot
    is meant: in a private chat always, in a group when it is mentioned, answered or commanded.
    """

    update_id: int
    id: int
    address: Address
    sender: Sender
    at: datetime
    text: str = ""
    edited: bool = False
    command: Command | None = None
    addressed: bool = True
    attachments: tuple[Attachment, ...] = ()
    extras: tuple[str, ...] = ()
    album: str | None = None
    reply_to: int | None = None
    cited: tuple[Cited, ...] = ()
    forwarded: str = ""
    chat_title: str = ""

    @property
    def outside(self) -> bool:
        """Whether words of somebody else came with it."""
        return bool(self.forwarded) or any(not one.own for one in self.cited)


@dataclass(frozen=True, slots=True)
class Tap:
    """A pressed button. The place is None where the message below which it stood cannot be reached any more."""

    update_id: int
    id: str
    sender: Sender
    data: str
    address: Address | None = None
    message_id: int | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """The bot's standing in a chat changed: `member`, `administrator`, `restricted`, `left` or `kicked`."""

    update_id: int
    address: Address
    sender: Sender
    status: str
    chat_title: str = ""


@dataclass(frozen=True, slots=True)
class Moved:
    """A group became a supergroup, with another id."""

    update_id: int
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing for the bot to answer; `reason` is for the log."""

    update_id: int
    reason: str


Arrival: TypeAlias = Message | Tap | Standing | Moved | Skipped


def read_update(raw: Mapping[str, Any], me: Me) -> Arrival:
    """The record of an update, whatever it holds: kinds and forms that are not known become `Skipped`.

    Raises `KeyError` without `update_id`.
    """
    number = int(raw["update_id"])
    kind = next((kind for kind in _READERS if kind in raw), None)
    if kind is None:
        others = ", ".join(name for name in raw if name != "update_id")
        return Skipped(number, f"a kind that is not asked for: {others or 'none'}")
    try:
        wire = _READERS[kind].model_validate(raw[kind])
    except ValidationError as unreadable:
        part = ".".join(map(str, unreadable.errors()[0]["loc"]))
        return Skipped(number, f"a {kind} of a form that is not known, see {part or 'all of it'}")
    if isinstance(wire, WireTap):
        return _tap(number, wire, raw[kind])
    if isinstance(wire, WireStanding):
        return _standing(number, wire)
    return _message(number, wire, Address.of(raw[kind]), me, edited=kind != "message")


def _message(number: int, wire: WireMessage, place: Address, me: Me, edited: bool) -> Arrival:
    if wire.migrate_to_chat_id is not None:
        return Moved(number, wire.chat.id, wire.migrate_to_chat_id)
    if wire.migrate_from_chat_id is not None:
        return Moved(number, wire.migrate_from_chat_id, wire.chat.id)
    if wire.is_automatic_forward or wire.sender_chat is not None or wire.sender is None:
        return Skipped(number, "said in the name of a chat")
    if wire.sender.id == me.id or wire.sender.is_bot:
        return Skipped(number, "said by a bot")
    text, entities = _words(wire)
    answered = _answered(wire)
    attachments, extras = tuple(_attachments(wire)), tuple(_extras(wire, text, entities))
    if not (text or attachments or extras):
        return Skipped(number, "nothing that was said")
    forwarded = wire.forward_origin.name if wire.forward_origin is not None else ""
    found = None if forwarded else _COMMAND.fullmatch(text)
    ours = found is not None and (found[2] or me.username).casefold() == me.username.casefold()
    command = Command(found[1].lower(), found[3] or "") if found is not None and ours else None
    return Message(
        update_id=number,
        id=wire.message_id,
        address=place,
        sender=_sender(wire.sender),
        at=datetime.fromtimestamp(wire.date, UTC),
        text=text,
        edited=edited,
        command=command,
        addressed=place.private
        or _mentions(text, entities, me)
        or (answered is not None and answered.sender is not None and answered.sender.id == me.id)
        or (command is not None and (bool(found and found[2]) or command.name in me.commands)),
        attachments=(*attachments, *_attachments_again(answered, me)),
        extras=extras,
        album=wire.media_group_id,
        reply_to=answered.message_id if answered is not None else None,
        cited=tuple(_cited(wire, answered, me)),
        forwarded=forwarded,
        chat_title=wire.chat.title,
    )


def _sender(user: WireUser) -> Sender:
    return Sender(user.id, user.name, user.username, user.language_code.lower(), user.is_bot)


def _words(wire: WireMessage) -> tuple[str, list[WireEntity]]:
    """The text or caption with what is marked in it."""
    return (wire.text, wire.entities or []) if wire.text else (wire.caption, wire.caption_entities or [])


def _covered(text: str, entity: WireEntity) -> str:
    """The part of a text that an entity marks."""
    raw = text.encode("utf-16-le", "surrogatepass")
    part = raw[2 * entity.offset : 2 * (entity.offset + entity.length)]
    return part.decode("utf-16-le", "replace")


def _mentions(text: str, entities: Collection[WireEntity], me: Me) -> bool:
    """Whether the bot is named, by what Telegram marked as a mention and nothing else."""
    name = f"@{me.username}".casefold()
    for entity in entities:
        if entity.type == "text_mention" and entity.user is not None and entity.user.id == me.id:
            return True
        if entity.type == "mention" and _covered(text, entity).casefold() == name:
            return True
    return False


def _answered(wire: WireMessage) -> WireMessage | None:
    """The message that this one answers. Every message of a topic points to the one that opened it: no answer."""
    answered = wire.reply_to_message
    return None if answered is None or answered.forum_topic_created is not None else answered


def _cited(wire: WireMessage, answered: WireMessage | None, me: Me) -> Iterator[Cited]:
    quoted = wire.quote.text if wire.quote is not None else ""
    if answered is not None:
        own = _own(answered, wire, me)
        whom = _who(answered, wire, me)
        if quoted:
            yield Cited("quote", whom, quoted, own)
        else:
            text, _ = _words(answered)
            yield Cited("reply", whom, _excerpt(text) or _kinds(answered), own)
    elif wire.external_reply is not None:
        yield Cited("elsewhere", wire.external_reply.origin.name, quoted)
    if wire.via_bot is not None:
        yield Cited("via", f"@{wire.via_bot.username}", "")


def _own(answered: WireMessage, wire: WireMessage, me: Me) -> bool:
    """Whether the words that are answered are the bot's or the sender's own: what somebody passed on is neither."""
    if answered.sender is None:
        return False
    passed_on = answered.forward_origin is not None or answered.via_bot is not None or answered.sender_chat is not None
    return answered.sender.id == me.id or (_same(answered, wire) and not passed_on)


def _same(answered: WireMessage, wire: WireMessage) -> bool:
    return answered.sender is not None and wire.sender is not None and answered.sender.id == wire.sender.id


def _who(answered: WireMessage, wire: WireMessage, me: Me) -> str:
    """Whose message is answered, in the bot's eyes."""
    author = answered.sender
    if author is None:
        return _title(answered.sender_chat or answered.chat)
    if author.id == me.id:
        return "you"
    if answered.forward_origin is not None:
        return answered.forward_origin.name
    return "me" if _same(answered, wire) else author.name


def _title(chat: WireChat) -> str:
    return chat.title or chat.first_name or str(chat.id)


def _excerpt(text: str) -> str:
    return text if len(text) <= EXCERPT else text[:EXCERPT].rstrip() + " …"


def _kinds(wire: WireMessage) -> str:
    """What a message without words is."""
    kinds = [one.kind.replace("_", " ") for one in _attachments(wire)]
    return f"(a {kinds[0]})" if kinds else ""


def _attachments(wire: WireMessage) -> Iterator[Attachment]:
    """The files of a message. An animation comes as a document as well, which is the same file."""
    if wire.photo:
        yield _attachment("photo", wire.photo[-1], wire)
    if wire.animation is not None:
        yield _attachment("animation", wire.animation, wire)
    for kind in _FILES:
        file = getattr(wire, kind)
        if file is not None and not (kind == "document" and wire.animation is not None):
            yield _attachment(kind, file, wire)


def _attachments_again(answered: WireMessage | None, me: Me) -> Iterator[Attachment]:
    """The files of the message that is answered, unless they came from the bot."""
    if answered is not None and (answered.sender is None or answered.sender.id != me.id):
        yield from (replace(one, cited=True) for one in _attachments(answered))


def _attachment(kind: str, file: WireFile, wire: WireMessage) -> Attachment:
    at = datetime.fromtimestamp(wire.date, UTC)
    known = (file.file_name, file.mime_type, file.file_size, file.duration)
    return Attachment(kind, file.file_id, wire.message_id, at, *known)


def _extras(wire: WireMessage, text: str, entities: Collection[WireEntity]) -> Iterator[str]:
    """What a message holds beside words and files."""
    for entity in entities:
        if entity.type == "text_link" and entity.url:
            yield f"The link behind “{_covered(text, entity)}”: {entity.url}"
    if wire.venue is not None:
        place = wire.venue.location
        yield f"Place: {wire.venue.title}, {wire.venue.address} ({place.latitude:.5f}, {place.longitude:.5f})"
    elif wire.location is not None:
        yield f"Location: {wire.location.latitude:.5f}, {wire.location.longitude:.5f}"
    if wire.contact is not None:
        name = f"{wire.contact.first_name} {wire.contact.last_name}".strip()
        yield f"Contact: {name}, {wire.contact.phone_number}"
    if wire.poll is not None:
        yield f"Poll: {wire.poll.question} ({'; '.join(one.text for one in wire.poll.options)})"
    if wire.dice is not None:
        yield f"{wire.dice.emoji} {wire.dice.value}"


def _tap(number: int, wire: WireTap, raw: Mapping[str, Any]) -> Tap:
    sender = _sender(wire.sender)
    if wire.message is None:
        return Tap(number, wire.id, sender, wire.data)
    return Tap(number, wire.id, sender, wire.data, Address.of(raw["message"]), wire.message.message_id)


def _standing(number: int, wire: WireStanding) -> Standing:
    place = Address(wire.chat.id)
    return Standing(number, place, _sender(wire.sender), wire.new_chat_member.status, wire.chat.title)
