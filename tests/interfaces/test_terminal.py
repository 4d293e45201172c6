"""What a conversation looks like on a screen and in a pipe."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from goat.app import App
from goat.interfaces.terminal import Terminal
from goat.records.models import ModelRequest, Reply, Usage
from goat.testing.app import memory_app
from goat.testing.models import ScriptedModel

ANSWER = Reply("It is blue.", model="test-model", usage=Usage(1000, 20, 600, 0.0012))


class InPieces(ScriptedModel):
    """Shows pieces that may differ from the reply, as when the first answer broke off."""

    def __init__(self, reply: Reply, *pieces: str) -> None:
        super().__init__([reply])
        self._pieces = pieces

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        for piece in self._pieces:
            if on_text is not None:
                on_text(piece)
        return await super().reply(request)


def screen(app: App, is_terminal: bool = True, width: int = 60) -> tuple[Terminal, StringIO, StringIO]:
    out, err = StringIO(), StringIO()
    how: dict[str, Any] = {"force_terminal": is_terminal, "color_system": None, "width": width}
    return Terminal(app, "ana", Console(file=out, **how), Console(file=err, **how)), out, err


async def test_on_a_screen_the_cost_of_a_turn_stands_below_its_reply() -> None:
    async with memory_app(model=ScriptedModel([ANSWER])) as app:
        terminal, out, err = screen(app)
        await terminal.turn("what colour?")
    assert out.getvalue() == "It is blue.\n"
    assert "test-model · 1,000 → 20 tokens (600 cached) · $0.0012 · " in err.getvalue()


async def test_in_a_pipe_only_the_reply_is_printed() -> None:
    async with memory_app(model=ScriptedModel([ANSWER])) as app:
        terminal, out, err = screen(app, is_terminal=False)
        await terminal.turn("what colour?")
    assert (out.getvalue(), err.getvalue()) == ("It is blue.\n", "")


async def test_a_reply_that_used_nothing_shows_no_cost() -> None:
    async with memory_app(model=ScriptedModel(["From memory."])) as app:
        terminal, _, err = screen(app)
        await terminal.turn("what colour?")
    assert "tokens" not in err.getvalue()


@pytest.mark.parametrize("is_terminal", [True, False])
async def test_notes_stand_below_the_reply(is_terminal: bool) -> None:
    noted = replace(ANSWER, notes=("spare-model answers, because another could not.",))
    async with memory_app(model=ScriptedModel([noted])) as app:
        terminal, out, err = screen(app, is_terminal)
        await terminal.turn("what colour?")
    assert "(spare-model answers, because another could not.)" in err.getvalue()
    assert out.getvalue() == "It is blue.\n"


@pytest.mark.parametrize(
    ("pieces", "printed"),
    [
        (("It is ", "blue."), "It is blue.\n"),
        (("It is ",), "It is blue.\n"),
        ((), "It is blue.\n"),
        (("It may be red, ",), "It may be red,\nIt is blue.\n"),
    ],
    ids=["all", "the beginning", "nothing", "another answer"],
)
async def test_the_whole_reply_is_on_the_screen_whatever_was_shown_before(
    pieces: tuple[str, ...], printed: str
) -> None:
    async with memory_app(model=InPieces(ANSWER, *pieces)) as app:
        terminal, out, err = screen(app)
        await terminal.turn("what colour?")
    assert out.getvalue() == printed
    assert ("That answer broke off" in err.getvalue()) == (printed.count("\n") == 2)


async def test_on_a_screen_lines_break_between_words_and_in_a_pipe_they_do_not() -> None:
    long = replace(ANSWER, text="It is as blue as the sea on a day in June.")
    for is_terminal, lines in ((True, 3), (False, 1)):
        async with memory_app(model=InPieces(long, *long.text)) as app:
            terminal, out, _ = screen(app, is_terminal, width=18)
            await terminal.turn("what colour?")
        assert len(out.getvalue().splitlines()) == lines
        assert " ".join(out.getvalue().split()) == long.text


async def test_a_program_that_is_told_to_end_in_a_turn_ends() -> None:
    class Waiting(ScriptedModel):
        began = asyncio.Event()

        async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
            self.began.set()
            return await asyncio.Event().wait() and ANSWER

    async def typed() -> AsyncIterator[str]:
        yield "hello"
        raise AssertionError("the conversation went on")

    model = Waiting()
    async with memory_app(model=model) as app:
        terminal, _, _ = screen(app)
        conversation = asyncio.ensure_future(terminal.converse(typed(), interruptible=True))
        await model.began.wait()
        conversation.cancel()
        with pytest.raises(asyncio.CancelledError):
            await conversation
