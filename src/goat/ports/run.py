"""Ports of the run: time, steps, locks and observers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, tzinfo
from typing import Protocol, TypeVar

from goat.records.turns import Notice, PrefetchRecord, TurnRecord

T = TypeVar("T")


class Clock(Protocol):
    """The time of day and the passing of time."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        ...

    def zone(self) -> tzinfo:
        """The zone in which the owner reads times."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Steps(Protocol):
    """The effects of a loop: every model call and tool call goes through here, so that a run can replay them."""

    async def run(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        """Do one effect. What it raises is raised."""
        ...

    async def run_all(self, name: str, calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Start the effects in the given order and return their results in that order."""
        ...


class Locks(Protocol):
    """Mutual exclusion by name."""

    def hold(self, name: str) -> AbstractAsyncContextManager[None]:
        """Enter when nobody else holds the name; waiters are served in their order."""
        ...


class Observer(Protocol):
    """Is told what happened. It never raises and never blocks."""

    def turn(self, record: TurnRecord) -> None:
        """A turn ended."""
        ...

    def prefetch(self, record: PrefetchRecord) -> None:
        """A background search ended."""
        ...

    def notice(self, notice: Notice) -> None:
        """Something a person should know."""
        ...
