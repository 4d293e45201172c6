"""A chat history that a person brings along: one record per message, as the export tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from goat.records.episodes import Role, Use


class HistoryKind(StrEnum):
    """What a record is: words, an event of the chat ("Ana invited Dan"), or media that came without words."""

    MESSAGE = "message"
    SERVICE = "service"
    MEDIA = "media"


@dataclass(frozen=True, slots=True)
class ArchivedEpisode:
    """What our own export knows about an episode beyond its words, so that an import makes an equal one.

    `owner` is whose it was, empty in the export of one person. `indexed` is False for words that no search is to find.
    `use` tells how often it was recalled, None for never.
    """

    uid: str
    role: Role
    exchange_id: str
    topic_id: str = ""
    tags: tuple[str, ...] = ()
    source: str = "terminal"
    key: str | None = None
    meta: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""
    indexed: bool = True
    use: Use | None = None


@dataclass(frozen=True, slots=True)
class ArchivedFact:
    """A value of L1 in our own export. `source_uid` names the episode that it came from, empty where there is none."""

    key: str
    value: str
    since: datetime
    until: datetime | None = None
    source_uid: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True)
class ArchivedIdentity:
    """An identity text of L0 in our own export."""

    text: str
    since: datetime
    until: datetime | None = None
    owner: str = ""


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    """One message of a history.

    `key` names the message for ever: the same message has the same key in every export of its chat. `reply_to` is the
    key of the message that this one answers. `at` is the original time (aware). `role` is that of an assistant for the
    answers of a program, and of a user for everybody else. `own` tells whether the export itself
    shows that the exporting person wrote it; None where it does not say. `media` is the line that stands for a photo,
    a voice message and so on; it is also the `text` of a record that has no words. `topic` is the title of a forum
    topic. `number` counts the records of the file from 1, `position` is how many of the source's bytes were read when
    the record came out (for progress; never falling). Texts hold no NUL and no lone surrogate: each became U+FFFD.
    """

    source: str
    key: str
    chat: str
    text: str
    at: datetime
    number: int
    position: int
    chat_title: str = ""
    sender_id: str = ""
    sender_name: str = ""
    kind: HistoryKind = HistoryKind.MESSAGE
    reply_to: str | None = None
    edited: bool = False
    role: Role = Role.USER
    own: bool | None = None
    forwarded_from: str = ""
    media: str = ""
    topic: str = ""
    archived: ArchivedEpisode | None = None


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that cannot be imported: its file, its number from 1, the byte position near it, and the reason."""

    path: Path
    number: int
    position: int
    reason: str
