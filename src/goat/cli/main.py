"""The command line: which commands there are, and how a failure is told."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence
from tempfile import NamedTemporaryFile
from typing import Annotated, Any

import typer
from rich.console import Console

from goat import __version__
from goat.cli import exits
from goat.cli.bench import bench
from goat.cli.calibrate import calibrate
from goat.cli.check import check
from goat.cli.find import search
from goat.cli.history import backup, export, import_, restore
from goat.cli.memory import memory
from goat.cli.models import model, usage
from goat.cli.plugins import plugins
from goat.cli.running import Terminated
from goat.cli.session import ConfigOption, HomeOption, OwnerOption, begin_call, read_settings, without_secrets
from goat.cli.setup import setup
from goat.cli.state import reindex, status
from goat.cli.stats import stats
from goat.cli.talk import ask, chat
from goat.cli.telegram import serve_bot, telegram
from goat.cli.when import when
from goat.errors import GoatError, printable

app = typer.Typer(
    name="goat",
    help="A personal AI agent that remembers every word. Without a command what is configured starts.",
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
TALK, MEMORY, STATE, MEASURE = "Talk", "Memory", "State and settings", "Measure"
for panel, commands in {
    TALK: (chat, ask, telegram),
    MEMORY: (search, when, export, backup, restore),
    STATE: (setup, status, usage, stats, check, reindex, plugins),
}.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.command("import", rich_help_panel=MEMORY)(import_)
app.add_typer(memory, rich_help_panel=MEMORY)
app.add_typer(model, rich_help_panel=STATE)
app.add_typer(calibrate, rich_help_panel=MEASURE)
app.add_typer(bench, rich_help_panel=MEASURE)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"goat {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    owner: OwnerOption = None,
    home: HomeOption = None,
    config: ConfigOption = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Start what is configured: the Telegram bot where it has a token, else the conversation in this terminal."""
    if context.invoked_subcommand is None:
        loaded = read_settings(home, config)
        if loaded.settings.keys.telegram and owner is None:
            serve_bot(loaded)
        else:
            chat(owner, home, config)
        return
    given = {"owner": owner, "home": home, "config": config}
    common = {name: str(value) for name, value in given.items() if value is not None}
    context.default_map = _defaults(context.command, common)


def _defaults(group: object, common: dict[str, str]) -> dict[str, Any]:
    """Options that stand before the command are its defaults, in groups of commands too."""
    commands: dict[str, object] = getattr(group, "commands", {})
    return {name: {**common, **_defaults(command, common)} for name, command in commands.items()}


def run(arguments: Sequence[str]) -> int:
    """Run the command line; return its exit code. Every failure is told in a sentence on standard error."""
    begin_call()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character shows a mark
    try:
        outcome = app(list(arguments), standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (Terminated, KeyboardInterrupt, typer.Abort, OSError, GoatError, typer.TyperException) as end:
        return _end(end)
    except Exception as fault:  # noqa: BLE001 - the last place before the person; the traceback goes into a file
        _say(_crash_report(fault))
        return exits.FAILED
    return outcome if isinstance(outcome, int) else exits.OK


def _end(end: BaseException) -> int:
    """Tell how a command ended that did not run through; its exit code."""
    match end:
        case BrokenPipeError():
            _drop_output()
            return exits.OK  # whoever read the output has seen enough
        case Terminated():
            return exits.TERMINATED
        case KeyboardInterrupt() | typer.Abort():
            _say("Interrupted. What was sent is kept.", style="dim")
            return exits.INTERRUPTED
        case typer.TyperException():
            told = end.format_message().rstrip(".")
            _say(f"{told}. `goat --help` shows how it is used; a message goes in quotation marks.")
        case OSError():
            _say(_unusable(end))
        case _:
            _say(str(end))
    return exits.code_for(end)


def _unusable(failure: OSError) -> str:
    """Which file or output cannot be used, and the way out."""
    remedy = " Free some space." if failure.errno == errno.ENOSPC else ""
    reason = failure.strerror or str(failure)
    if failure.filename is not None:
        return f"{printable(str(failure.filename))} cannot be used: {reason}.{remedy}"
    _drop_output()
    return f"The output cannot be written: {reason}.{remedy}"


def _drop_output() -> None:
    """Send what is still buffered nowhere: flushed at the end of the process, it would fail once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _say(sentence: str, style: str = "red") -> None:
    Console(stderr=True).print(sentence, style=style, markup=False, highlight=False, soft_wrap=True)


def _crash_report(fault: Exception) -> str:
    """Write the traceback where the person can find it, and say where."""
    told = f"GOAT stopped because of a fault of its own ({type(fault).__name__}). What was sent is kept."
    try:
        with NamedTemporaryFile("w", prefix="goat-crash-", suffix=".txt", delete=False, encoding="utf-8") as report:
            report.write(without_secrets("".join(traceback.format_exception(fault))))
    except OSError:
        return told
    return f"{told} The details are in {report.name}."
