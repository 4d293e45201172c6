from __future__ import annotations

from collections.abc import Iterator

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from goat.setup import Choice, SetupCancelled, TerminalPrompts

DOWN = "\x1b[B"
CHOICES = [Choice("a", "First"), Choice("b", "Second"), Choice("c", "Third")]


@pytest.fixture
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        yield pipe


async def test_enter_takes_the_default(keyboard: PipeInput) -> None:
    keyboard.send_text("\r")
    assert await TerminalPrompts().choose("Which?", CHOICES, "b") == "b"


async def test_arrows_move_from_the_default(keyboard: PipeInput) -> None:
    keyboard.send_text(f"{DOWN}\r")
    assert await TerminalPrompts().choose("Which?", CHOICES, "b") == "c"


async def test_a_default_that_is_not_offered_is_no_obstacle(keyboard: PipeInput) -> None:
    keyboard.send_text("\r")
    assert await TerminalPrompts().choose("Which?", CHOICES, "gone") == "a"


async def test_text_can_be_typed_over_the_default(keyboard: PipeInput) -> None:
    keyboard.send_text(" more \r")
    assert await TerminalPrompts().ask("Name?", "some") == "some more"


async def test_a_secret_is_taken_as_typed(keyboard: PipeInput) -> None:
    keyboard.send_text("sk-1'\"\r")
    assert await TerminalPrompts().secret("Key?") == "sk-1'\""


@pytest.mark.parametrize("pressed", ["\x03", "\x04"], ids=["ctrl-c", "ctrl-d"])
async def test_breaking_off_raises(keyboard: PipeInput, pressed: str) -> None:
    keyboard.send_text(pressed)
    with pytest.raises(SetupCancelled):
        await TerminalPrompts().ask("Name?")
