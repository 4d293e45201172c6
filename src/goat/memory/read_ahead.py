"""Reading a file while what was read before is worked on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


async def in_chunks(items: Generator[T, None, None], size: int) -> AsyncGenerator[list[T], None]:
    """The items in lists of at most `size`, one list ahead of its reader, on a thread of its own.

    Enter it with `contextlib.aclosing`: when it is left, the thread has ended and the generator is closed.
    """

    def take() -> list[T]:
        return list(islice(items, size))

    ahead = asyncio.create_task(asyncio.to_thread(take))
    try:
        while chunk := await asyncio.shield(ahead):
            ahead = asyncio.create_task(asyncio.to_thread(take))
            yield chunk
    finally:
        await asyncio.wait([ahead])
        ahead.exception()  # looked at, so that one nobody waits for any more is not reported
        items.close()
