from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import aclosing

import pytest

from goat.memory.read_ahead import in_chunks


class Counted:
    """A generator of numbers that notes how far it was read, and that it was closed."""

    def __init__(self, count: int, fails_at: int | None = None) -> None:
        self.given = 0
        self.closed = False
        self.gate = threading.Event()
        self.gate.set()
        self._count = count
        self._fails_at = fails_at

    def items(self) -> Generator[int, None, None]:
        try:
            for number in range(self._count):
                self.gate.wait(5)
                if number == self._fails_at:
                    raise ValueError("broken")
                self.given += 1
                yield number
        finally:
            self.closed = True


async def test_all_items_come_in_order_in_lists_of_the_size() -> None:
    source = Counted(7)
    async with aclosing(in_chunks(source.items(), 3)) as chunks:
        assert [chunk async for chunk in chunks] == [[0, 1, 2], [3, 4, 5], [6]]
    assert source.closed


async def test_nothing_gives_nothing() -> None:
    async with aclosing(in_chunks(Counted(0).items(), 3)) as chunks:
        assert [chunk async for chunk in chunks] == []


async def test_the_next_list_is_read_while_one_is_worked_on_and_no_more() -> None:
    source = Counted(100)
    async with aclosing(in_chunks(source.items(), 3)) as chunks:
        assert await anext(chunks) == [0, 1, 2]
        while source.given < 6:  # noqa: ASYNC110 - the reader is a thread that tells nobody
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.02)
        assert source.given == 6


async def test_a_failure_comes_after_the_lists_before_it() -> None:
    source = Counted(9, fails_at=5)
    async with aclosing(in_chunks(source.items(), 3)) as chunks:
        assert await anext(chunks) == [0, 1, 2]
        with pytest.raises(ValueError, match="broken"):
            await anext(chunks)
    assert source.closed


async def test_leaving_early_closes_the_source_and_a_failure_nobody_waits_for_is_not_reported() -> None:
    source = Counted(9, fails_at=4)
    async with aclosing(in_chunks(source.items(), 3)) as chunks:
        await anext(chunks)
    assert source.closed


async def test_a_cancelled_reader_waits_for_the_read_under_way_and_closes_the_source() -> None:
    source = Counted(9)
    source.gate.clear()

    async def read() -> None:
        async with aclosing(in_chunks(source.items(), 3)) as chunks:
            async for _ in chunks:
                pass

    task = asyncio.create_task(read())
    await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.sleep(0.02)
    assert not task.done()
    source.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.closed
