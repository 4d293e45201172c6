"""Chats exported by ChatGPT (`conversations.json`, or the zip archive as it is downloaded).

A conversation is a tree: every edit of a question and every new try of an answer is a branch. What a person saw last is
the path from the root to `current_node`, and that is what is read. Hidden messages, system texts, the model's thoughts
and its talk with tools are no part of the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from goat.adapters.history_file import BadValue, HistoryFile, Reading
from goat.adapters.history_json import whole_objects
from goat.adapters.history_sniff import Shape
from goat.adapters.history_values import Json, as_object, clean, shortened, text_of, unix_moment
from goat.records.episodes import Role
from goat.records.history import ArchivedFact, ArchivedIdentity, BadRecord, HistoryKind, HistoryRecord

_NAMES: Final = {"user": "user", "assistant": "ChatGPT"}
_SHOWN_TYPES: Final = ("text", "multimodal_text", "code")
_ASSETS: Final = {
    "image_asset_pointer": "[image]",
    "audio_asset_pointer": "[audio]",
    "real_time_user_audio_video_asset_pointer": "[voice and video]",
    "video_container_asset_pointer": "[video]",
}


def recognises(shape: Shape) -> bool:
    """Whether the beginning of a file looks like an export of ChatGPT: a list of conversations, or one of them."""
    return "item.mapping" in shape.keys if shape.root == "array" else "mapping" in shape.keys


@dataclass(frozen=True, slots=True)
class _Node:
    """A message of the path, in the terms of the export."""

    id: str
    message: Json
    edited: bool


class ChatGptHistory:
    """A `HistorySource` over the files of a ChatGPT export (large exports come in several).

    Keys are `chatgpt:<conversation id>/<message id>`; an answer replies to the question before it.
    """

    format = "ChatGPT export"

    def __init__(self, files: Sequence[HistoryFile]) -> None:
        self._files = tuple(files)

    @property
    def size(self) -> int:
        """The bytes of all files, unpacked."""
        return sum(file.size for file in self._files)

    def read(self, on_bad: Callable[[BadRecord], None] | None = None) -> Iterator[HistoryRecord]:
        """As the port says; a record is a message of a path, or a conversation that has no path."""
        reading = Reading(self._files[0].path, on_bad)
        before = 0
        for file in self._files:
            with reading.until_broken(), file.open() as raw:
                for conversation in whole_objects(file, raw, reading, before):
                    yield from _messages(conversation, reading)
            before += file.size

    def values(self, _on_bad: Callable[[BadRecord], None] | None, /) -> Iterator[ArchivedFact | ArchivedIdentity]:
        """There are none in this format."""
        return iter(())


def _messages(conversation: object, reading: Reading) -> Iterator[HistoryRecord]:
    try:
        conversation = as_object(conversation, "the conversation")
        name = _id(conversation)
        path = _path(conversation)
    except BadValue as fault:
        reading.next()
        reading.bad(f"a conversation cannot be read: {fault}")
        return
    time: object = conversation.get("create_time")
    question: str | None = None
    for node in path:
        reading.next()
        try:
            given = node.message.get("create_time")
            time = time if given is None else given
            record = _record(conversation, name, node, unix_moment(time), reading)
        except BadValue as fault:
            title = shortened(text_of(conversation.get("title")))
            reading.bad(f"message {shortened(node.id)} of the conversation {title}: {fault}")
            continue
        if record.own:
            question = record.key
        yield record if record.own else replace(record, reply_to=question)


def _path(conversation: Json) -> list[_Node]:
    """The shown messages from the first to the last that a person saw. Raises `BadValue`."""
    mapping = as_object(conversation.get("mapping"), "its mapping")
    at = conversation.get("current_node")
    if not isinstance(at, str) or at not in mapping:
        at = _newest_leaf(mapping)
    seen: set[str] = set()
    path: list[_Node] = []
    while isinstance(at, str) and at in mapping:
        if at in seen:
            raise BadValue(f"its message {shortened(at)} answers itself")
        seen.add(at)
        node = as_object(mapping[at], f"its message {shortened(at)}")
        parent = node.get("parent")
        message = node.get("message")
        if isinstance(message, dict) and _is_shown(message):
            path.append(_Node(at, message, _was_edited(mapping, parent, message)))
        at = parent
    path.reverse()
    return path


def _newest_leaf(mapping: Json) -> str | None:
    leaves = [key for key, node in mapping.items() if isinstance(node, dict) and not node.get("children")]
    return max(leaves, key=lambda key: _time_or_zero(mapping[key].get("message")), default=None)


def _time_or_zero(message: object) -> float:
    time = message.get("create_time") if isinstance(message, dict) else None
    return time if isinstance(time, int | float) else 0.0


def _role(message: Json) -> str:
    author = message.get("author")
    return text_of(author.get("role")) if isinstance(author, dict) else ""


def _is_shown(message: Json) -> bool:
    content, meta = message.get("content"), message.get("metadata")
    hidden = isinstance(meta, dict) and meta.get("is_visually_hidden_from_conversation")
    return (
        _role(message) in _NAMES
        and not hidden
        and message.get("recipient") in (None, "all")
        and isinstance(content, dict)
        and content.get("content_type", "text") in _SHOWN_TYPES
        and bool(_text(content).strip())
    )


def _was_edited(mapping: Json, parent: object, message: Json) -> bool:
    """Whether this is a question that was asked again: its parent has another question among its children."""
    node = mapping.get(parent) if isinstance(parent, str) else None
    children = node.get("children") if isinstance(node, dict) else None
    if _role(message) != "user" or not isinstance(children, list):
        return False
    asked = 0
    for child in children:
        node = mapping.get(child) if isinstance(child, str) else None
        other = node.get("message") if isinstance(node, dict) else None
        asked += isinstance(other, dict) and _role(other) == "user"
    return asked > 1


def _text(content: Json) -> str:
    return "\n".join(text for text, _ in _parts(content))


def _parts(content: Json) -> list[tuple[str, bool]]:
    """The parts that say something, each with whether it only stands for media."""
    listed: Any = content.get("parts")
    parts = []
    for part in listed if isinstance(listed, list) else [content.get("text")]:
        asset = _ASSETS.get(text_of(part.get("content_type"))) if isinstance(part, dict) else None
        text = asset or text_of(part.get("text") if isinstance(part, dict) else part)
        if text:
            parts.append((text, asset is not None))
    return parts


def _id(conversation: Json) -> str:
    name = text_of(conversation.get("conversation_id")) or text_of(conversation.get("id"))
    if not name:
        raise BadValue("it has no id")
    return name


def _record(conversation: Json, name: str, node: _Node, at: datetime, reading: Reading) -> HistoryRecord:
    role = _role(node.message)
    parts = _parts(node.message["content"])
    return HistoryRecord(
        source="chatgpt",
        key=clean(f"chatgpt:{name}/{node.id}"),
        chat=f"chatgpt:{name}",
        chat_title=text_of(conversation.get("title")),
        sender_id=role,
        sender_name=_NAMES[role],
        text="\n".join(text for text, _ in parts),
        at=at,
        number=reading.number,
        position=reading.position,
        kind=HistoryKind.MEDIA if all(is_media for _, is_media in parts) else HistoryKind.MESSAGE,
        edited=node.edited,
        role=Role(role),
        own=role == "user",
        media=" ".join(text for text, is_media in parts if is_media),
    )
