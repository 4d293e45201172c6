"""What was said: the records of the archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from goat.records.deliveries import Part


class Role(StrEnum):
    """Who spoke, in the terms of a chat model."""

    USER = "user"
    ASSISTANT = "assistant"


class Span(NamedTuple):
    """A half-open range of characters of an episode's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message as a front door hands it in.

    `at` is the sender's time (aware). `key` identifies the delivery within `source`: a second delivery with the same
    key is the same message. `extra` is what the front door wants to find at the delivery of the answer.
    `outside` says that the text holds words of others, such as a forwarded message. `language` is the code of the
    language that the person reads, such as `ro`, empty where the front door does not know it.
    """

    owner: str
    chat: str
    text: str
    at: datetime
    speaker: str = ""
    source: str = "terminal"
    key: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict)
    outside: bool = False
    language: str = ""


@dataclass(frozen=True, slots=True)
class NewEpisode:
    """One message to be archived. `passages` are the spans that the indexes may find it by; none keeps it unindexed.

    `uid` is that of an episode that comes back from an export; a new one gets its own. `to_enrich` says that what there
    is to be noted about it does not stand in `meta` yet.
    """

    owner: str
    chat: str
    role: Role
    text: str
    at: datetime
    exchange_id: str
    speaker: str = ""
    topic_id: str = ""
    tags: tuple[str, ...] = ()
    source: str = "terminal"
    key: str | None = None
    passages: tuple[Span, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)
    uid: str = ""
    to_enrich: bool = False


@dataclass(frozen=True, slots=True)
class Episode:
    """One archived message, verbatim. `id` grows with the order of arrival; `uid` names it outside this home."""

    id: int
    uid: str
    owner: str
    chat: str
    role: Role
    text: str
    at: datetime
    exchange_id: str
    speaker: str = ""
    topic_id: str = ""
    tags: tuple[str, ...] = ()
    source: str = "terminal"
    key: str | None = None
    meta: Mapping[str, str] = field(default_factory=dict)


def as_said(speaker: str, text: str) -> str:
    """Words with who said them, where that is to be told."""
    return f"{speaker}: {text}" if speaker else text


@dataclass(frozen=True, slots=True)
class Passage:
    """A searchable part of an episode. `ord` is dense within the owner and is never used again."""

    owner: str
    ord: int
    episode_id: int
    part: int
    span: Span


@dataclass(frozen=True, slots=True)
class Change:
    """One step of the journal that the indexes follow. `episode` is None when the episode was forgotten."""

    seq: int
    owner: str
    episode_id: int
    episode: Episode | None
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Appended:
    """The outcome of an append: the episode, and whether it stood in the journal already.

    `forgotten` says that it stood there and was forgotten: then it is not written again, and `episode` has no words.
    """

    episode: Episode
    duplicate: bool
    forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Forgotten:
    """An episode that was forgotten: where it stood and the numbers of its passages, nothing of its words.

    `seq` is that of the change by which the indexes learn of it.
    """

    seq: int
    owner: str
    chat: str
    episode_id: int
    ords: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """How often an episode was recalled for an answer, and when last."""

    count: int
    last: datetime


@dataclass(frozen=True, slots=True)
class ArchiveCounts:
    """How much an owner's archive holds."""

    episodes: int
    passages: int
    embedded: int
    chats: int


@dataclass(frozen=True, slots=True)
class NewOutgoing:
    """A reply to be delivered through `channel`; `extra` is what the channel needs beside the text, in its words.

    A `key` names what is said within its channel, so that it is said once however often it is put; an answer has none,
    as it goes with its episode.
    """

    owner: str
    chat: str
    channel: str
    text: str
    extra: Mapping[str, str] = field(default_factory=dict)
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A committed reply that was not acknowledged by its channel yet, and how far its parts have come.

    `episode_id` is None where it carries no episode: the answer to a command, a notice.
    """

    id: int
    owner: str
    chat: str
    channel: str
    text: str
    episode_id: int | None
    created: datetime
    extra: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
