"""Exit codes of the `goat` command."""

from __future__ import annotations

from typer import TyperException

from goat.errors import BotInUse, BotUnusable, HomeError, ModelError, SettingsError

OK = 0
FAILED = 1
USAGE = 2
HOME = 3
MODEL = 4
BOT = 5
BOT_IN_USE = 6
INTERRUPTED = 130
TERMINATED = 143


def code_for(failure: BaseException) -> int:
    """The exit code that tells a script what kind of error it was."""
    match failure:
        case SettingsError() | TyperException():
            return USAGE
        case HomeError():
            return HOME
        case ModelError():
            return MODEL
        case BotInUse():
            return BOT_IN_USE
        case BotUnusable():
            return BOT
        case _:
            return FAILED
