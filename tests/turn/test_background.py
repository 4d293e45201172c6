"""Work behind a turn: it runs, it is waited for, and its failures are told."""

from __future__ import annotations

import asyncio

import pytest

from goat.adapters.lexical_memory import MemoryLexicalIndex
from goat.background import Background
from goat.records.search import Neighbourhood
from goat.testing.app import memory_app, say
from goat.testing.observer import KeepingObserver


class BrokenIndex(MemoryLexicalIndex):
    """Fails as no adapter may: with a fault of the program."""

    broken = False

    async def neighbourhood(self, *asked: object) -> Neighbourhood:
        if self.broken:
            raise RuntimeError("a fault of the program")
        return await super().neighbourhood(*asked)  # type: ignore[arg-type]


async def test_o27_a_search_that_breaks_after_the_reply_is_named_and_the_chat_goes_on() -> None:
    observer, lexical = KeepingObserver(), BrokenIndex()
    async with memory_app(observer=observer, lexical=lexical) as app:
        await say(app, "the boiler needs water every week", chat="notes")
        first = await say(app, "when does the boiler need water")
        lexical.broken = True
        second = await say(app, "when does the boiler need water")  # warm: only the search after the reply breaks
        lexical.broken = False
        third = await say(app, "when does the boiler need water")
    (told,) = observer.notices
    assert told.subject == f"prefetch {second.question.id}"
    assert "RuntimeError: a fault of the program" in told.text
    assert [result.text for result in (first, second, third)] == ["All right."] * 3
    assert third.recalled


async def test_o27_what_cannot_end_in_time_is_named_when_it_is_cut() -> None:
    failures: list[str] = []
    background = Background(lambda name, failure: failures.append(f"{name}: {failure}"))

    async def wait_for_ever() -> None:
        await asyncio.Event().wait()

    async def fail() -> None:
        raise ValueError("no")

    background.start("endless", wait_for_ever())
    background.start("broken", fail())
    assert background.names == ["broken", "endless"]
    assert await background.drain(timeout=0.05) == ["endless"]
    assert failures == ["broken: no"]
    assert background.names == []


async def test_o38_everything_that_a_turn_starts_behind_it_runs_to_its_end() -> None:
    observer = KeepingObserver()
    async with memory_app(observer=observer) as app:
        results = [await say(app, text) for text in ("the boiler needs water every week", "and the cat food")]
        assert app.background.names == []
    assert len(observer.prefetches) == len(results)
    assert all(record.saved for record in observer.prefetches)
    assert observer.notices == []


async def test_o38_what_is_no_coroutine_is_refused_where_it_is_started() -> None:
    background = Background(lambda name, failure: None)
    with pytest.raises(TypeError, match="coroutine"):
        background.start("promotion", print)  # type: ignore[arg-type]
    assert background.names == []
