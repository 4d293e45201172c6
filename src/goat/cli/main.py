"""The command line: which commands there are, and how a failure is told."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir
from typing import Annotated

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
from goat.cli.session import ConfigOption, HomeOption, OwnerOption
from goat.cli.setup import setup
from goat.cli.state import reindex, status
from goat.cli.stats import stats
from goat.cli.talk import ask, chat
from goat.cli.when import when
from goat.errors import GoatError

app = typer.Typer(
    name="goat",
    help="A personal AI agent that remembers every word. Without a command the conversation starts.",
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for command in (chat, ask, search, status, reindex, setup, when, usage, export, backup, restore, plugins, check, stats):
    app.command()(command)
app.command("import")(import_)
app.add_typer(bench)
app.add_typer(model)
app.add_typer(calibrate)
app.add_typer(memory)


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
    """Start what is configured: the conversation in this terminal."""
    if context.invoked_subcommand is None:
        chat(owner, home, config)


def run(arguments: Sequence[str]) -> int:
    """Run the command line; return its exit code. Every failure is told in a sentence on standard error."""
    err = Console(stderr=True)
    try:
        outcome = app(list(arguments), standalone_mode=False)
    except BrokenPipeError:
        return exits.OK  # whoever read the output has seen enough
    except Terminated:
        return exits.TERMINATED
    except (KeyboardInterrupt, typer.Abort):
        err.print("Interrupted. What was sent is kept.", style="dim")
        return exits.INTERRUPTED
    except (GoatError, typer.TyperException) as failure:
        err.print(_told(failure), style="red", markup=False, highlight=False, soft_wrap=True)
        return exits.code_for(failure)
    except Exception as fault:  # noqa: BLE001 - the last place before the person; the traceback goes into a file
        err.print(_crash_report(fault), style="red", markup=False, highlight=False, soft_wrap=True)
        return exits.FAILED
    return outcome if isinstance(outcome, int) else exits.OK


def _told(failure: GoatError | typer.TyperException) -> str:
    if isinstance(failure, GoatError):
        return str(failure)
    return f"{failure.format_message()} `goat --help` shows how it is used."


def _crash_report(fault: Exception) -> str:
    """Write the traceback where the person can find it, and say where."""
    path = Path(gettempdir()) / f"goat-crash-{datetime.now(UTC):%Y%m%d-%H%M%S}.txt"
    told = f"GOAT stopped because of a fault of its own ({type(fault).__name__}). What was sent is kept."
    try:
        path.write_text("".join(traceback.format_exception(fault)), encoding="utf-8")
    except OSError:
        return told
    return f"{told} The details are in {path}."
