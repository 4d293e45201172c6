"""Steps without a memory of their own: effects happen now, once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class PlainSteps:
    """The steps of a turn."""

    async def run(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        """Do the effect."""
        return await call()

    async def run_all(self, name: str, calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Start the effects in order; when one raises, the others are cancelled and it is raised."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_awaited(call)) for call in calls]
        return [task.result() for task in tasks]


async def _awaited(call: Callable[[], Awaitable[T]]) -> T:
    return await call()
