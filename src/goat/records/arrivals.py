"""What arrives through a front door before anything is done with it, and who may use the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True)
class NewArrival:
    """One delivery as the channel gave it. `number` names it within its channel."""

    number: int
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A delivery that stands in the inbox. `id` grows with the order of arrival.

    `tries` says how often its handling was begun; `turn` is the id of the first arrival of those that are handled
    together with it, None before its handling began.
    """

    id: int
    channel: str
    number: int
    arrived: datetime
    body: Mapping[str, Any] = field(default_factory=dict)
    tries: int = 0
    turn: int | None = None

    def word(self, kind: str = "end") -> str:
        """The key of what is said about it, so that it is said once; `end` is what is said in place of an answer."""
        return f"{self.id}:{kind}"


class Role(StrEnum):
    """What somebody may do; `group` and `open group` are those of a chat, the latter lets every member in."""

    ADMIN = "admin"
    GUEST = "guest"
    GROUP = "group"
    OPEN_GROUP = "open group"


@dataclass(frozen=True, slots=True)
class Admitted:
    """A person or a group that was let in, by its number in the channel.

    `owner` is whose memory it uses; that stays when a group gets another number.
    """

    number: int
    role: Role
    owner: str
    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Invitation:
    """A code that lets one person in. Only its salted hash is kept; `id` is 0 before it stands in the journal."""

    salt: bytes
    digest: bytes
    role: Role
    expires: datetime
    id: int = 0
