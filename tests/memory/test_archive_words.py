"""How the word index follows the journal: in few steps, and before whoever waits for it goes on."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from goat.adapters.lexical_memory import MemoryLexicalIndex
from goat.records.episodes import Incoming, NewEpisode, Role
from goat.records.models import ModelRequest
from goat.records.search import EVERYWHERE
from goat.retrieval.passages import split_passages
from goat.retrieval.terms import analyse
from goat.testing.app import memory_app
from goat.testing.faults import Counted
from goat.testing.models import ScriptedModel

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def said(text: str, number: int = 0) -> NewEpisode:
    """Something a person said."""
    return NewEpisode("ana", "home", Role.USER, text, NOON, f"x{number}", passages=split_passages(text))


class Behind(MemoryLexicalIndex):
    """An index that takes nothing in before the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()

    async def apply(self, *changes: Any) -> None:
        """Wait for the test."""
        await self.open.wait()
        await super().apply(*changes)


async def found(index: MemoryLexicalIndex, word: str) -> int:
    """How many passages hold a word."""
    return len((await index.search("ana", analyse(word), 1000, EVERYWHERE)).ords)


async def test_what_is_archived_at_once_is_taken_in_together_and_found_by_each_who_waited() -> None:
    index = MemoryLexicalIndex()
    counted = Counted(index)
    async with memory_app(lexical=counted) as app:

        async def archived(number: int) -> bool:
            word = f"{'bdfgk'[number // 8]}{'aeioulrs'[number % 8]}pplewood"
            await app.memory.archive.append([said(word, number)])
            return await found(index, word) > 0

        assert all(await asyncio.gather(*(archived(number) for number in range(40))))
    assert counted.calls["apply"] < 10


async def test_an_answer_is_told_to_be_committed_before_the_word_index_holds_it() -> None:
    index, committed = Behind(), asyncio.Event()
    async with memory_app(lexical=index) as app:
        append = asyncio.create_task(app.memory.archive.append([said("pear")], on_committed=committed.set))
        await asyncio.wait_for(committed.wait(), 30)
        assert await found(index, "pear") == 0
        index.open.set()
        await append
        assert await found(index, "pear") == 1


async def test_an_append_that_does_not_wait_is_taken_in_by_the_one_that_does() -> None:
    index = Behind()
    async with memory_app(lexical=index) as app:
        await asyncio.wait_for(app.memory.archive.append([said("plum", 1)], wait=False), 30)
        assert await found(index, "plum") == 0
        index.open.set()
        await app.memory.archive.append([said("cherry", 2)])
        assert (await found(index, "plum"), await found(index, "cherry")) == (1, 1)


async def test_a_turn_is_held_up_by_the_word_index_only_when_its_answer_is_committed() -> None:
    index, told = Behind(), asyncio.Event()

    def answer(request: ModelRequest) -> str:
        assert not index.open.is_set()
        return "All right."

    async with memory_app(lexical=index, model=ScriptedModel([answer])) as app:
        asked = Incoming("ana", "home", "the mango is ripe", NOON, source="test")
        turn = asyncio.create_task(app.orchestrator.run(asked, on_answer=told.set))
        await asyncio.wait_for(told.wait(), 30)
        assert not turn.done()
        index.open.set()
        assert (await turn).text == "All right."
        assert await found(index, "mango") == 1
