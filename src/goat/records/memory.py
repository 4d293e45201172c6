"""The records of the permanent and the working layers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from goat.records.episodes import Role


@dataclass(frozen=True, slots=True)
class Fact:
    """A value of L1 with its time. `until` is None while it holds; `source_episode` is the message it came from."""

    key: str
    value: str
    since: datetime
    until: datetime | None = None
    source_episode: int | None = None


@dataclass(frozen=True, slots=True)
class IdentityText:
    """A text of L0 with its time. `until` is None while it holds."""

    text: str
    since: datetime
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class PermanentHistory:
    """Everything that an owner's permanent layers hold or held: facts by key and within a key oldest first, identity
    texts oldest first."""

    facts: tuple[Fact, ...] = ()
    identities: tuple[IdentityText, ...] = ()


@dataclass(frozen=True, slots=True)
class Versioned:
    """A value of the working store and the version that a compare-and-set must name."""

    body: str
    version: int


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """One message of L2, the conversation as it is shown to the model. `after_gap` says that messages right before it
    are left out; `speaker` names a person where several talk."""

    episode_id: int
    role: Role
    text: str
    at: datetime
    after_gap: bool = False
    speaker: str = ""


class ThreadState(StrEnum):
    """How a message relates to the thread: a new topic, the same, or moving away."""

    COLD = "cold"
    WARM = "warm"
    DRIFT = "drift"


@dataclass(frozen=True, slots=True)
class Held:
    """A result that a thread holds: the episode, its calibrated relevance (0..1) for the query it was found with, and
    which of its passages was found, where that is known."""

    episode_id: int
    relevance: float
    ord: int | None = None


@dataclass(frozen=True, slots=True)
class ArchivedTopic:
    """A topic that the chat left, to be resumed when it returns."""

    topic_id: str
    centroid: tuple[float, ...]
    turn_count: int
    left_at: datetime


@dataclass(frozen=True, slots=True)
class Activation:
    """L2.5, the state of a chat's thread.

    `centroid` is the topic's mean direction and `last_vector` the newest message's (both empty before the first
    embedded turn), `recent_queries` are the last messages, newest last. `held` are the results for `held_query`, found
    at `held_at` for the message with the episode id `held_for`.
    """

    topic_id: str = ""
    centroid: tuple[float, ...] = ()
    last_vector: tuple[float, ...] = ()
    turn_count: int = 0
    recent_queries: tuple[str, ...] = ()
    held: tuple[Held, ...] = ()
    held_query: str = ""
    held_at: datetime | None = None
    held_for: int = 0
    archived_topics: tuple[ArchivedTopic, ...] = ()
