"""Where the thread states are kept: one versioned value per chat, vectors as base64 of little-endian float16."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from goat.errors import BackendUnavailable
from goat.memory.keys import activation_key
from goat.ports.stores import WorkingStore
from goat.records.memory import Activation, ArchivedTopic, Held

TRIES = 20
"""Attempts at a contested write; each loser reads what the winner wrote."""


class ThreadStore:
    """Loads, and changes by compare-and-set, the thread of a chat. A damaged value counts as none."""

    def __init__(self, store: WorkingStore, ttl_seconds: float) -> None:
        self._store = store
        self._ttl_seconds = ttl_seconds

    async def load(self, owner: str, chat: str) -> Activation:
        """The thread, an empty one for a new chat. Raises `BackendUnavailable`."""
        stored = await self._store.get(activation_key(owner, chat))
        return _decode(stored.body) if stored else Activation()

    async def change(self, owner: str, chat: str, rule: Callable[[Activation], Activation | None]) -> bool:
        """Apply `rule` to the newest state and keep what it returns; False when it returns None.

        Raises `BackendUnavailable`, also when the value is contested for too long.
        """
        key = activation_key(owner, chat)
        for _ in range(TRIES):
            stored = await self._store.get(key)
            changed = rule(_decode(stored.body) if stored else Activation())
            if changed is None:
                return False
            version = stored.version if stored else 0
            if await self._store.put(key, _encode(changed), self._ttl_seconds, version) is not None:
                return True
        raise BackendUnavailable("WorkingStore", "thread", "too many writers change this chat's thread at once")


def _encode(thread: Activation) -> str:
    return json.dumps(
        {
            "topic_id": thread.topic_id,
            "centroid": _pack(thread.centroid),
            "last_vector": _pack(thread.last_vector),
            "turn_count": thread.turn_count,
            "recent_queries": thread.recent_queries,
            "held": [[held.episode_id, round(held.relevance, 4), held.ord] for held in thread.held],
            "held_query": thread.held_query,
            "held_at": thread.held_at.timestamp() if thread.held_at else None,
            "held_for": thread.held_for,
            "archived_topics": [
                [topic.topic_id, _pack(topic.centroid), topic.turn_count, topic.left_at.timestamp()]
                for topic in thread.archived_topics
            ],
        },
        ensure_ascii=False,
    )


def _decode(body: str) -> Activation:
    try:
        data: dict[str, Any] = json.loads(body)
        return Activation(
            topic_id=str(data["topic_id"]),
            centroid=_unpack(data["centroid"]),
            last_vector=_unpack(data["last_vector"]),
            turn_count=int(data["turn_count"]),
            recent_queries=tuple(map(str, data["recent_queries"])),
            held=tuple(_held(*one) for one in data["held"]),
            held_query=str(data["held_query"]),
            held_at=None if data["held_at"] is None else datetime.fromtimestamp(data["held_at"], UTC),
            held_for=int(data["held_for"]),
            archived_topics=tuple(
                ArchivedTopic(str(name), _unpack(centroid), int(turns), datetime.fromtimestamp(left, UTC))
                for name, centroid, turns, left in data["archived_topics"]
            ),
        )
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error, OverflowError, OSError):
        return Activation()


def _held(number: int, relevance: float, ord_: int | None = None) -> Held:
    return Held(int(number), float(relevance), None if ord_ is None else int(ord_))


def _pack(vector: Sequence[float]) -> str:
    return base64.b64encode(np.asarray(vector, dtype="<f2").tobytes()).decode("ascii")


def _unpack(text: str) -> tuple[float, ...]:
    return tuple(np.frombuffer(base64.b64decode(text, validate=True), dtype="<f2").astype(float).tolist())
