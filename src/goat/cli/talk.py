"""`goat chat` and `goat ask`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from goat.app import App, open_app
from goat.cli import exits
from goat.cli.running import run_to_end
from goat.cli.session import ConfigOption, HomeOption, OwnerOption, at_keyboard, consoles, notices_to, read_settings
from goat.interfaces.terminal import Terminal, piped_lines, typed_answer, typed_messages
from goat.settings import Loaded


def chat(owner: OwnerOption = None, home: HomeOption = None, config: ConfigOption = None) -> None:
    """Talk to GOAT. From a pipe it reads one message a line and prints each reply."""
    loaded = read_settings(home, config)
    if at_keyboard() and sys.stdout.isatty():
        from goat.cli.setup import offered

        loaded = offered(loaded, home, config)
    if not run_to_end(_chat(loaded, owner)):
        raise typer.Exit(exits.MODEL)


async def _chat(loaded: Loaded, owner: str | None) -> bool:
    out, err = consoles()
    show = notices_to(err)
    interactive = at_keyboard() and out.is_terminal
    async with open_app(loaded.settings, loaded.home, show) as app:
        terminal = Terminal(app, owner or loaded.settings.admin, out, err)
        await terminal.show_undelivered()
        if not interactive:
            await app.acting.outfit.started()
            return await terminal.converse(piped_lines())
        out.print(await _greeting(app, owner or loaded.settings.admin), style="dim", highlight=False)
        out.print()
        terminal.can_ask(typed_answer)
        await terminal.converse(typed_messages(), interruptible=True)
        return True


async def _greeting(app: App, owner: str) -> str:
    counts = await app.backends.journal.counts(owner, app.backends.embedder.name)
    known = f"{counts.episodes:,} messages remembered" if counts.episodes else "nothing remembered yet"
    return f"GOAT · {known} · model: {app.backends.model.name} · /quit or Ctrl-D to leave"


def ask(
    text: Annotated[str, typer.Argument(help="The message, in quotation marks.")],
    owner: OwnerOption = None,
    home: HomeOption = None,
    config: ConfigOption = None,
    chat_name: Annotated[str, typer.Option("--chat", help="Which conversation it belongs to.")] = "ask",
) -> None:
    """Send one message and print the reply."""
    loaded = read_settings(home, config)
    run_to_end(_ask(loaded, owner, chat_name, text))


async def _ask(loaded: Loaded, owner: str | None, chat_name: str, text: str) -> None:
    out, err = consoles()
    async with open_app(loaded.settings, loaded.home, notices_to(err)) as app:
        terminal = Terminal(app, owner or loaded.settings.admin, out, err, chat_name)
        if at_keyboard() and err.is_terminal:
            terminal.can_ask(typed_answer)
        await app.acting.outfit.started()
        await terminal.turn(text)
