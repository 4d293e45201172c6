"""Questions about tools on a terminal: what is shown, and what counts as a yes."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from goat.interfaces.terminal_tools import TerminalAsker, told
from goat.records.tools import Question, ToolProgress, Verdict

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
QUESTION = Question(
    1,
    "ana",
    "terminal",
    "shell_run",
    "shell_run\n  command: rm [bold]x[/bold]",
    "ab",
    NOON,
    NOON + timedelta(seconds=90),
)


class Screen:
    """An asker whose person types one line."""

    def __init__(self, typed: str = "") -> None:
        self.console = Console(file=io.StringIO(), width=100)
        self.prompts: list[str] = []
        self.paused = 0
        self.typed = typed
        self.asker = TerminalAsker("ana", "terminal", self.console, self._read, self._pause)

    async def _read(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.typed

    def _pause(self) -> None:
        self.paused += 1

    @property
    def text(self) -> str:
        file = self.console.file
        assert isinstance(file, io.StringIO)
        return file.getvalue()


@pytest.mark.parametrize("typed", ["y", "YES", " da ", "ok"])
async def test_telegram_f4_a_clear_yes_is_one(typed: str) -> None:
    assert await Screen(typed).asker.ask(QUESTION)


@pytest.mark.parametrize("typed", ["", "n", "no", "yes please not", "maybe", "rm"])
async def test_telegram_f4_everything_else_is_a_no(typed: str) -> None:
    assert not await Screen(typed).asker.ask(QUESTION)


async def test_the_whole_call_is_shown_as_it_is_on_a_quiet_screen() -> None:
    screen = Screen("n")
    await screen.asker.ask(QUESTION)
    assert "shell_run\n  command: rm [bold]x[/bold]" in screen.text
    assert screen.paused == 1
    assert screen.prompts == ["yes / no › "]


async def test_telegram_f2_an_expired_question_says_that_nothing_ran() -> None:
    screen = Screen()
    await screen.asker.settled(QUESTION, Verdict.EXPIRED)
    assert "⌛ expired, nothing was run" in screen.text


def test_it_reaches_its_own_person_and_chat_only() -> None:
    asker = Screen().asker
    assert asker.reaches("ana", "terminal")
    assert not asker.reaches("ben", "terminal")
    assert not asker.reaches("ana", "telegram:1")


def test_a_tool_at_work_is_one_line_with_its_time() -> None:
    assert told(ToolProgress("read_file", '{"path": "a.txt"}')) == "read_file a.txt …"
    assert told(ToolProgress("read_file", '{"path": "a.txt"}', 0.25)) == "• read_file a.txt · 0.2 s"
    assert told(ToolProgress("add", '{"a": 2, "b": [3]}', 0.0031)) == "• add a: 2, b: [3] · 3 ms"
    assert told(ToolProgress("read_l1", "{}", 0.0031, ok=False)) == "× failed: read_l1 · 3 ms"
    assert told(ToolProgress("odd", "no JSON", 1.0)) == "• odd no JSON · 1.0 s"
    assert len(told(ToolProgress("write_file", '{"content": "' + "x\\n" * 500 + '"}', 1.0, ok=False))) < 100
