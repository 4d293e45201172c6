"""Ports towards the people and services at the edge."""

from __future__ import annotations

from typing import Protocol

from goat.records.episodes import Outgoing


class Outbox(Protocol):
    """Committed replies that wait for their channel. Raises `BackendUnavailable`."""

    async def pending(self, channel: str, owner: str, chat: str) -> list[Outgoing]:
        """Replies that were not acknowledged, oldest first."""
        ...

    async def done(self, ids: list[int]) -> None:
        """Acknowledge delivery; an unknown id is fine."""
        ...
