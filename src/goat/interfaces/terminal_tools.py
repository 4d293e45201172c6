"""Tools at work, and questions about them, on a terminal."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from rich.console import Console

from goat.records.tools import Question, ToolProgress, Verdict

YES = {"y", "yes", "da", "ok"}
ENDINGS = {
    Verdict.YES: "allowed",
    Verdict.NO: "not allowed",
    Verdict.EXPIRED: "⌛ expired, nothing was run",
    Verdict.CANCELLED: "cancelled, nothing was run",
}
SHORT_CHARS = 60


class TerminalAsker:
    """Asks the person at the terminal.

    `read` shows a prompt and gives the typed line; `pause` clears the sign of work.
    """

    def __init__(
        self,
        owner: str,
        chat: str,
        err: Console,
        read: Callable[[str], Awaitable[str]],
        pause: Callable[[], None],
    ) -> None:
        self._owner = owner
        self._chat = chat
        self._err = err
        self._read = read
        self._pause = pause

    def reaches(self, owner: str, chat: str) -> bool:
        """Whether it is this person, here."""
        return (owner, chat) == (self._owner, self._chat)

    async def ask(self, question: Question) -> bool:
        """Show the call and wait for a line; only a clear yes is one."""
        self._pause()
        self._err.print("\nMay this run?", style="bold yellow")
        self._err.print(question.shown, markup=False, highlight=False, soft_wrap=True)
        if question.reason:
            self._err.print(f"Note: {question.reason}.", style="yellow", markup=False, highlight=False)
        scope = f" A yes also covers later calls of {question.tool}." if question.once else ""
        answer = await self._read(f"yes / no{scope and f' ({scope.strip()})'} › ")
        return answer.strip().casefold() in YES

    async def settled(self, question: Question, verdict: Verdict) -> None:
        """Say how it ended."""
        self._err.print(f"{question.tool}: {ENDINGS[verdict]}", style="dim", markup=False, highlight=False)


def told(progress: ToolProgress) -> str:
    """One line about a call that runs or ran, with its time."""
    arguments = " ".join(_plain(progress.arguments).split())
    short = arguments if len(arguments) <= SHORT_CHARS else arguments[: SHORT_CHARS - 1] + "…"
    call = " ".join(filter(None, [progress.name, short]))
    if progress.seconds is None:
        return f"{call} …"
    took = f"{progress.seconds:.1f} s" if progress.seconds >= 0.1 else f"{progress.seconds * 1000:.0f} ms"
    return f"{'•' if progress.ok else '× failed:'} {call} · {took}"


def _plain(arguments: str) -> str:
    """The arguments without the marks of JSON; the name of a single one says nothing new."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return arguments
    if not isinstance(given, dict):
        return arguments
    if len(given) == 1:
        return str(next(iter(given.values())))
    return ", ".join(f"{name}: {value}" for name, value in given.items())
