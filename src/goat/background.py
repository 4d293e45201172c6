"""Background tasks: kept, named, drained, and never silent about a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Background:
    """Holds the tasks that outlive the call that started them.

    `on_error` is told the name of a task and what it raised; a task's failure never reaches the one who started it.
    """

    def __init__(self, on_error: Callable[[str, BaseException], None]) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_error = on_error

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `work` on its own and keep it until it ends."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        failure = task.exception()
        if failure is not None:
            self._on_error(task.get_name(), failure)

    @property
    def names(self) -> list[str]:
        """The names of the tasks that run now."""
        return sorted(task.get_name() for task in self._tasks)

    async def drain(self, timeout: float | None) -> list[str]:
        """Wait for the tasks and those that they start; after `timeout` seconds (None: never) cancel what is left.

        Returns the names of the cancelled ones.
        """
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
        late: set[asyncio.Task[None]] = set()
        while self._tasks and not late:
            left = None if deadline is None else max(deadline - asyncio.get_running_loop().time(), 0)
            _, late = await asyncio.wait(set(self._tasks), timeout=left)
        names = sorted(task.get_name() for task in late)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return names
