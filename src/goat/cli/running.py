"""Running a command's coroutine so that signals end it in order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class Terminated(Exception):
    """SIGTERM arrived; everything was closed in order."""


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a command. Ctrl-C raises `KeyboardInterrupt` and SIGTERM `Terminated`, both after everything is closed."""
    return asyncio.run(_with_sigterm(work))


async def _with_sigterm(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(work)
    ended_by_signal = False

    def end() -> None:
        nonlocal ended_by_signal
        ended_by_signal = True
        task.cancel()

    with suppress(NotImplementedError):  # no signal handlers in this loop, as on Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    try:
        return await task
    except asyncio.CancelledError:
        if ended_by_signal:
            raise Terminated from None
        task.cancel()
        await asyncio.wait([task])
        raise
