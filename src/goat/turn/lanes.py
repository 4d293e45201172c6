"""Lanes: the turns of one chat in their order, other chats beside them."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from goat.ports.run import Locks


class Lanes:
    """One turn at a time per chat."""

    def __init__(self, locks: Locks) -> None:
        self._locks = locks

    def turn(self, owner: str, chat: str) -> AbstractAsyncContextManager[None]:
        """Enter when the chat's earlier turns have ended."""
        return self._locks.hold(f"turn {owner!r} {chat!r}")
