"""Chats exported by Telegram Desktop as machine-readable JSON (`result.json`), one chat or the full archive.

The format has no published schema; it is what the exporter of Telegram Desktop writes. It changed over the years: old
files have no `date_unixtime` (their `date` is in the exporting computer's zone), numbers as `from_id`, and an `edited`
of 1970 on messages that nobody edited. All versions write control characters as `\\x0B`, which JSON does not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import IO, Any, Final

import ijson

from goat.adapters.history_file import BadValue, BrokenHistory, HistoryFile, Reading
from goat.adapters.history_json import JsonStream
from goat.adapters.history_sniff import Shape
from goat.adapters.history_telegram_text import media_line, service_line, words
from goat.adapters.history_values import Json, as_object, iso_moment, shortened, text_of, unix_moment, whole_number
from goat.records.history import ArchivedFact, ArchivedIdentity, BadRecord, HistoryKind, HistoryRecord

_CHATS: Final = frozenset({"", "chats.list.item", "left_chats.list.item"})
"""Where a chat stands: the root of a single chat's file, or an element of the archive's lists."""

_HEADS: Final = {".".join(filter(None, (chat, field))): field for chat in _CHATS for field in ("id", "name", "type")}
_MESSAGES: Final = frozenset(f"{chat}.messages".lstrip(".") for chat in _CHATS)
_ITEMS: Final = frozenset(f"{messages}.item" for messages in _MESSAGES)
_UNNAMED: Final = {"saved_messages": "Saved Messages", "replies": "Replies"}
_PRIVATE: Final = ("personal_chat", "bot_chat")
_DELETED: Final = "Deleted Account"
_FIRST_EDIT: Final = datetime(2013, 1, 1, tzinfo=UTC)
"""Telegram is younger than this: an earlier `edited` means never."""

_REPLY_FIELDS: Final = ("reply_to_message_id", "message_id", "game_message_id", "invoice_message_id")
_OLD_KINDS: Final = {1: "chat", 2: "channel"}
_BACKSLASH: Final = 0x5C
_ESCAPE: Final = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|.)", re.DOTALL)
_CUT: Final = re.compile(rb"\\(?:x[0-9A-Fa-f]?)?")

_TOPIC_MEMORY: Final = 50_000
"""How many messages of forum topics are remembered, so that a reply to one is known to lie in its topic."""


def recognises(shape: Shape) -> bool:
    """Whether the beginning of a file looks like an export of Telegram Desktop."""
    if shape.root != "map":
        return False
    single = "messages" in shape.keys and not shape.keys.isdisjoint(_HEADS)
    archive = {"chats", "left_chats"} & shape.keys or {"about", "personal_information"} <= shape.keys
    return single or bool(archive)


@dataclass(frozen=True, slots=True)
class _Chat:
    """The head of a chat: what the export says before its messages."""

    id: int
    type: str
    name: str

    @property
    def peer(self) -> str:
        if self.type.endswith(("supergroup", "channel")):
            return f"channel{self.id}"
        return f"chat{self.id}" if self.type.endswith("group") else f"user{self.id}"

    @property
    def title(self) -> str:
        return self.name or _UNNAMED.get(self.type, _DELETED)


class TelegramHistory:
    """A `HistorySource` over a Telegram export.

    `zone` is where the export was made; only files without `date_unixtime` need it. Keys are
    `telegram:<peer>/<message id>`, as Telegram numbers them. A message of the type `unsupported` has neither words nor
    a time and is passed over.
    """

    format = "Telegram export"

    def __init__(self, file: HistoryFile, zone: tzinfo = UTC) -> None:
        self._file = file
        self._zone = zone

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return self._file.size

    def read(self, on_bad: Callable[[BadRecord], None] | None = None) -> Iterator[HistoryRecord]:
        """As the port says; records are counted over all chats of the file."""
        reading = Reading(self._file.path, on_bad)
        topics = _Topics()
        with reading.until_broken(), self._file.open() as raw:
            walk = _Walk(self._file, raw)
            for chat, item in walk.messages():
                reading.next()
                reading.position = walk.position
                try:
                    record = self._record(chat, walk.me, item)
                except BadValue as fault:
                    reading.bad(f"{_name_of(chat, item)}: {fault}")
                    continue
                if record is not None:
                    placed = topics.place(chat, item, record)
                    yield replace(placed, number=reading.number, position=reading.position)

    def values(self, _on_bad: Callable[[BadRecord], None] | None, /) -> Iterator[ArchivedFact | ArchivedIdentity]:
        """There are none in this format."""
        return iter(())

    def _record(self, chat: _Chat, me: str, item: Json) -> HistoryRecord | None:
        """The record of one message, None for a message that says nothing. Raises `BadValue`."""
        item = as_object(item, "the message")
        kind = text_of(item.get("type"))
        if kind == "unsupported":
            return None
        service = kind == "service"
        sender_id, sender_name = _sender(chat, item)
        text, media = (service_line(item), "") if service else (words(item), media_line(item))
        if not text.strip():
            text = media = media or "[message without text]"
        return HistoryRecord(
            source="telegram",
            key=_key(chat.peer, _id_of(item)),
            chat=f"telegram:{chat.peer}",
            chat_title=chat.title,
            sender_id=sender_id,
            sender_name=sender_name,
            text=text,
            at=self._moment(item),
            number=0,
            position=0,
            kind=HistoryKind.SERVICE if service else HistoryKind.MEDIA if text == media else HistoryKind.MESSAGE,
            reply_to=_reply_to(chat, item),
            edited=self._edited(item),
            own=_own(chat, me, sender_id),
            forwarded_from=_forwarded_from(item),
            media=media,
        )

    def _moment(self, item: Json) -> datetime:
        seconds = item.get("date_unixtime")
        return iso_moment(item.get("date"), self._zone) if seconds is None else unix_moment(seconds)

    def _edited(self, item: Json) -> bool:
        if "edited" not in item:
            return False
        try:
            return iso_moment(item["edited"], self._zone) > _FIRST_EDIT
        except BadValue:
            return True


def mend_escapes(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes with each `\\xHH` of the exporter written as JSON's `\\u00HH`."""
    held = b""
    for chunk in chunks:
        data = held + chunk
        cut = _open_escape(data)
        data, held = data[:cut], data[cut:]
        yield _ESCAPE.sub(_mended, data) if b"\\x" in data else data
    yield held


def _mended(escape: re.Match[bytes]) -> bytes:
    code = escape.group(1)
    return b"\\u00" + code if code else escape.group()


def _open_escape(data: bytes) -> int:
    """Where an escape begins that the end of the data cuts in two; the length of the data where none does."""
    for at in range(len(data) - 1, max(len(data) - 4, -1), -1):
        if data[at] == _BACKSLASH:
            run = at + 1 - len(data[: at + 1].rstrip(b"\\"))
            return at if run % 2 and _CUT.fullmatch(data, at) else len(data)
    return len(data)


class _Walk:
    """Goes through the events of an export and picks out its messages, each with the head of its chat."""

    def __init__(self, file: HistoryFile, raw: IO[bytes]) -> None:
        self._file = file
        self._stream = JsonStream(file, raw, mend_escapes)
        self._head: Json = {}
        self._chat = _Chat(0, "", "")
        self._chats_seen = 0
        self._late_heads: list[Json] | None = None
        self.me = ""

    @property
    def position(self) -> int:
        return self._stream.position

    def messages(self) -> Iterator[tuple[_Chat, Any]]:
        building: ijson.ObjectBuilder | None = None
        for path, event, value in self._stream.events():
            if building is not None:
                building.event(event, value)
                if event == "end_map" and path in _ITEMS:
                    yield self._chat, building.value
                    building = None
                    self._stream.record_done()
            elif path not in _ITEMS:
                self._outside(path, event, value)
                self._stream.record_done()
            elif event == "start_map":
                building = ijson.ObjectBuilder()
                building.event(event, value)
            elif event != "end_array":
                yield self._chat, value

    def _outside(self, path: str, event: str, value: Any) -> None:
        """Take note of what stands around the messages."""
        if path in _HEADS:
            self._head[_HEADS[path]] = value
        elif path in _CHATS and event == "start_map":
            self._head = {}
        elif path in _MESSAGES and event == "start_array":
            self._chat = self._chat_here()
            self._chats_seen += 1
        elif path == "personal_information.user_id":
            self.me = f"user{value}"

    def _chat_here(self) -> _Chat:
        """The chat whose messages begin. Tools that sort keys put its head behind them: then the file is read twice."""
        head = self._head
        if "id" not in head or "type" not in head:
            if self._late_heads is None:
                self._late_heads = _all_heads(self._file)
            head = self._late_heads[self._chats_seen]
        number = whole_number(head.get("id"))
        if number is None:
            raise BrokenHistory(f"the chat {shortened(head.get('name'))} has no id")
        return _Chat(number, text_of(head.get("type")), text_of(head.get("name")))


def _all_heads(file: HistoryFile) -> list[Json]:
    """The heads of the chats that have messages, in their order, wherever their fields stand."""
    heads: list[Json] = []
    head: Json = {}
    with file.open() as raw:
        stream = JsonStream(file, raw, mend_escapes)
        for path, event, value in stream.events():
            if path in _HEADS:
                head[_HEADS[path]] = value
            elif path in _MESSAGES:
                head["messages"] = True
            elif path in _CHATS and event == "end_map":
                if "messages" in head:
                    heads.append(head)
                head = {}
            stream.record_done()
    return heads


class _Topics:
    """Finds the forum topic of a message. An export does not name it: a message replies to the service message that
    opened the topic, or to another message of the topic."""

    def __init__(self) -> None:
        self._peer = ""
        self._titles: dict[int, str] = {}
        self._placed: dict[int, str] = {}

    def place(self, chat: _Chat, item: Json, record: HistoryRecord) -> HistoryRecord:
        """The record with its topic. A message that only stands in a topic is no reply to the topic's opening."""
        if chat.peer != self._peer:
            self._peer, self._titles, self._placed = chat.peer, {}, {}
        number = _id_of(item)
        if item.get("action") == "topic_created":
            self._titles[number] = text_of(item.get("title"))
            return replace(record, topic=self._titles[number])
        target = whole_number(item.get("reply_to_message_id"))
        if not self._titles or target is None or "reply_to_peer_id" in item:
            return record
        if target in self._titles:
            record = replace(record, reply_to=None)
        topic = self._titles.get(target) or self._placed.get(target, "")
        if topic:
            self._placed[number] = topic
            if len(self._placed) > _TOPIC_MEMORY:
                del self._placed[next(iter(self._placed))]
        return replace(record, topic=topic)


def _id_of(item: Json) -> int:
    number = whole_number(item.get("id"))
    if number is None:
        raise BadValue(f"its id is {shortened(item.get('id'))}")
    return number


def _key(peer: str, number: int) -> str:
    return f"telegram:{peer}/{number}"


def _name_of(chat: _Chat, item: object) -> str:
    """A message as it is named to the person who has to find it."""
    number = item.get("id") if isinstance(item, dict) else None
    return f"message {shortened(number)} of the chat {shortened(chat.title)}"


def _sender(chat: _Chat, item: Json) -> tuple[str, str]:
    """The sender's id and name. A deleted account keeps its id and has null for a name; a channel's post is its own."""
    for role in ("from", "actor"):
        if role in item or f"{role}_id" in item:
            return _peer_of(item.get(f"{role}_id")), text_of(item.get(role)) or _DELETED
    return (chat.peer, chat.title) if chat.type.endswith("channel") else ("", "")


def _peer_of(value: object) -> str:
    """`user1`, `chat1` or `channel1`; old exports pack the kind into the upper bits of a number."""
    number = whole_number(value)
    if number is None:
        return text_of(value)
    kind = _OLD_KINDS.get(number >> 32, "user")
    return f"{kind}{number & 0xFFFFFFFF if kind != 'user' else number}"


def _reply_to(chat: _Chat, item: Json) -> str | None:
    for field in _REPLY_FIELDS:
        number = whole_number(item.get(field))
        if number is not None:
            return _key(_peer_of(item.get("reply_to_peer_id")) or chat.peer, number)
    return None


def _own(chat: _Chat, me: str, sender: str) -> bool | None:
    if chat.type == "saved_messages":
        return True
    if not sender:
        return None
    if chat.type in _PRIVATE:
        return sender != chat.peer
    return sender == me if me else None


def _forwarded_from(item: Json) -> str:
    """Whose words a forwarded message holds."""
    for field in ("forwarded_from", "saved_from"):
        if field in item:
            return text_of(item[field]) or _DELETED
    return ""
