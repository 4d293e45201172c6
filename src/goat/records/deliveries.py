"""How far a reply has been delivered, and how a delivery ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class PartState(StrEnum):
    """Where one part of a reply stands. `SENDING` is kept before the call, so that a kill in it leaves a trace."""

    SENDING = "sending"
    SENT = "sent"
    UNKNOWN = "unknown"  # the call ended without an answer, so the part may have arrived
    REFUSED = "refused"  # it will never arrive


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a reply, numbered from 0; `message` is its id in the channel, as far as it is known."""

    number: int
    state: PartState
    message: int | None = None


class Outcome(StrEnum):
    """How the delivery of a whole reply ended."""

    DELIVERED = "delivered"
    UNKNOWN = "unknown"  # a part may be missing
    UNDELIVERED = "undelivered"  # a part is missing for certain


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A reply that did not arrive, or perhaps did not: whose, where, since when and why; nothing of its words."""

    owner: str
    chat: str
    outcome: Outcome
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Preview:
    """A message that shows an answer while it is written. `turn` names the turn whose answer it will be."""

    turn: str
    message: int
