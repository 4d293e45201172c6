"""The terminal: a conversation on a screen, or one message a line from a pipe."""

from __future__ import annotations

import asyncio
import io
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status

from goat.app import App
from goat.errors import GoatError, MessageRefused
from goat.interfaces.commands import ChatCommands
from goat.interfaces.money import usage_line
from goat.interfaces.plain import shown
from goat.interfaces.terminal_tools import TerminalAsker, told
from goat.interfaces.wrapping import WordWrap
from goat.records.episodes import Incoming
from goat.records.tools import ToolProgress
from goat.records.turns import TurnResult

CHAT = "terminal"
CHANNEL = "terminal"
REPLACED = "(Characters that cannot be stored were replaced by \N{REPLACEMENT CHARACTER} in your message.)"
THINKING = "thinking …"
INTERRUPTED = "(Interrupted. Your message is kept.)"
PROMPT = "› "
BROKEN_OFF = "(That answer broke off. The whole one:)"


class Terminal:
    """Takes one owner's messages and shows the replies.

    Replies go to `out`; errors, hints and the sign of work go to `err`.
    """

    def __init__(self, app: App, owner: str, out: Console, err: Console, chat: str = CHAT) -> None:
        self._app = app
        self._owner = owner
        self._chat = chat
        self._out = out
        self._err = err
        self._commands = ChatCommands(app, owner, chat)
        self._reply: _Reply | None = None

    def can_ask(self, read: Callable[[str], Awaitable[str]]) -> Callable[[], None]:
        """Let tools ask the person here: `read` shows a prompt and gives the typed line. What comes back ends it."""
        asker = TerminalAsker(self._owner, self._chat, self._err, read, self._pause)
        return self._app.acting.askers.attach(asker)

    def _pause(self) -> None:
        if self._reply is not None:
            self._reply.pause()

    async def show_undelivered(self) -> None:
        """Print the replies that were committed but never shown, because the program ended in between."""
        outbox = self._app.backends.outbox
        waiting = await outbox.pending(CHANNEL, self._owner, self._chat)
        for reply in waiting:
            self._err.print("An earlier reply that was not shown:", style="dim")
            self._out.print(shown(self._out, reply.text), markup=False, highlight=False, soft_wrap=True)
        await outbox.done([reply.id for reply in waiting])

    async def turn(self, text: str) -> TurnResult:
        """Handle one message and print the reply. Raises `GoatError` when there is none."""
        incoming = Incoming(self._owner, self._chat, text, self._app.backends.clock.now(), source=CHANNEL)
        with _Reply(self._out, self._err) as reply:
            self._reply = reply
            result = await self._app.orchestrator.run(incoming, reply.write, reply.tool)
            reply.settle(result.text)
        if result.altered:
            self._err.print(REPLACED, style="yellow")
        self._tell_about(result)
        outbox = self._app.backends.outbox
        waiting = await outbox.pending(CHANNEL, self._owner, self._chat)
        await outbox.done([one.id for one in waiting if one.episode_id == result.answer.id])
        return result

    def _tell_about(self, result: TurnResult) -> None:
        """What is to be said about a reply, quietly below it; on a screen also what a model's reply used and cost."""
        for note in result.notes:
            self._err.print(
                f"({note})", style="dim", markup=False, highlight=False, soft_wrap=not self._err.is_terminal
            )
        if result.record is not None and result.record.usage and self._err.is_terminal:
            self._err.print(usage_line(result.record), style="dim", markup=False, highlight=False)

    async def converse(self, messages: AsyncIterator[str], interruptible: bool = False) -> bool:
        """Handle messages until there are no more; True when each got a reply. Blank ones are passed over.

        With `interruptible`, as a person at a screen wants it, Ctrl-C in a turn ends that turn only, and turns stand
        apart.
        """
        all_answered = True
        async for text in messages:
            turn = asyncio.ensure_future(self._answer(text))
            try:
                with _ctrl_c_cancels(turn) if interruptible else nullcontext():
                    await turn
            except MessageRefused:
                continue
            except asyncio.CancelledError:
                itself = asyncio.current_task()
                if not interruptible or not turn.cancelled() or (itself and itself.cancelling()):
                    raise  # the program is to end, not the turn alone
                self._err.print(INTERRUPTED, style="dim")
            except GoatError as failure:
                all_answered = False
                self._err.print(str(failure), style="red", markup=False, highlight=False)
            if interruptible:
                self._out.print()
        return all_answered

    async def _answer(self, text: str) -> None:
        told = await self._commands.answer(text)
        if told is None:
            self._commands.talk.last = await self.turn(text)
        else:
            self._out.print(shown(self._out, told), markup=False, highlight=False, soft_wrap=True)


class _Reply:
    """A reply while it comes: a sign of work until its first piece, then the pieces; on a screen in whole words."""

    def __init__(self, out: Console, err: Console) -> None:
        self._out = out
        self._err = err
        self._wrap = WordWrap(out.width) if out.is_terminal else None
        self._shown = ""
        self._paused = False
        self._status = Status(THINKING, console=err, spinner="dots") if err.is_terminal else None
        self.started = False

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        return self

    def write(self, piece: str) -> None:
        """Print a piece of the reply."""
        self._stop_status()
        self.started = True
        self._shown += piece
        if self._paused:  # at the beginning of a line already
            piece = piece.removeprefix("\n")
        self._paused = False
        self._print(self._wrap.feed(piece) if self._wrap else piece)

    def tool(self, progress: ToolProgress) -> None:
        """Show a tool at work on a screen: while it runs as the sign of work, then as a line with its time."""
        if not self._err.is_terminal:
            return
        self.pause()
        if progress.seconds is not None:
            self._err.print(told(progress), style="dim", markup=False, highlight=False)
        self._status = Status(
            told(progress) if progress.seconds is None else THINKING, console=self._err, spinner="dots"
        )
        self._status.start()

    def pause(self) -> None:
        """Leave the screen to somebody else, at the beginning of a line."""
        self._stop_status()
        if self._wrap and self._shown:
            self._print(self._wrap.close())
            self._wrap = WordWrap(self._out.width)
        if self._shown and not self._paused:
            self._out.print()
        self._paused = True

    def settle(self, text: str) -> None:
        """Show what of the reply's text was not shown yet: the rest, or all of it where the pieces led elsewhere."""
        if not text.startswith(self._shown):
            self._end_line()
            self._err.print(BROKEN_OFF, style="dim")
            self._shown = ""
        self.write(text[len(self._shown) :])

    def _print(self, text: str) -> None:
        if text:
            self._out.print(shown(self._out, text), end="", markup=False, highlight=False, soft_wrap=True)

    def _end_line(self) -> None:
        if self._wrap:
            self._print(self._wrap.close())
            self._wrap = WordWrap(self._out.width)
        self._out.print()

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_status()
        if self.started:
            self._end_line()

    def _stop_status(self) -> None:
        if self._status:
            self._status.stop()
            self._status = None


@contextmanager
def _ctrl_c_cancels(turn: asyncio.Future[None]) -> Iterator[None]:
    """Let Ctrl-C cancel the turn; where the loop takes no signal handlers it ends the program as usual."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, turn.cancel)
    except NotImplementedError:
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.default_int_handler)


async def piped_lines() -> AsyncIterator[str]:
    """The lines of standard input. Bytes that are not UTF-8 become lone surrogates, which the archive replaces."""
    if sys.stdin is None:
        return
    stream = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="surrogateescape", newline="\n")
    while line := await asyncio.to_thread(stream.readline):
        yield line.rstrip("\r\n")


async def typed_messages() -> AsyncIterator[str]:
    """What a person types, a message at a time, until end of input (Ctrl-D) or Ctrl-C at an empty prompt.

    Ctrl-C in a line that was begun clears the line.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.formatted_text import FormattedText

    prompt = FormattedText([("bold ansigreen", PROMPT)])
    session: PromptSession[str] = PromptSession()
    while True:
        try:
            text = await session.prompt_async(prompt)
        except KeyboardInterrupt:
            if session.default_buffer.text:
                continue
            return
        except EOFError:
            return
        if text.strip() in {"/quit", "/exit"}:
            return
        yield text


async def typed_answer(prompt: str) -> str:
    """The line that a person types at a question; empty when they leave it with Ctrl-C or Ctrl-D."""
    from prompt_toolkit import PromptSession

    session: PromptSession[str] = PromptSession()
    try:
        return await session.prompt_async(prompt, handle_sigint=False)
    except (EOFError, KeyboardInterrupt):
        return ""
