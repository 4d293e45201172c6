"""What every command shares: its options, the settings, an open App, and where it prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from goat.errors import MessageRefused
from goat.records.turns import Notice
from goat.settings import Loaded, load
from goat.tools.redact import Redactor

OwnerOption = Annotated[
    str | None, typer.Option("--owner", help="Whose memory it is; the admin's by default.", metavar="NAME")
]
HomeOption = Annotated[
    Path | None, typer.Option("--home", help="The data folder; ~/.goat by default.", metavar="FOLDER")
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="The settings file; goat2.toml in the data folder by default.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def consoles() -> tuple[Console, Console]:
    """The consoles of standard output and standard error."""
    return Console(), Console(stderr=True)


_secrets: set[str] = set()
"""Every secret that this process has read, for the report of a crash."""


_told: set[str] = set()
"""What was told about the settings in this call, which may read them more than once."""


def begin_call() -> None:
    """Tell anew what there is to tell about the settings."""
    _told.clear()


def read_settings(home: Path | None, config: Path | None) -> Loaded:
    """The settings of this call; what a person should know of them is shown. Raises `SettingsError`."""
    loaded = load({"home": home}, environ=os.environ, cwd=Path.cwd(), config=config)
    _secrets.update(loaded.settings.secrets())
    show = notices_to(Console(stderr=True))
    for notice in loaded.notices:
        if notice.text not in _told:
            _told.add(notice.text)
            show(notice)
    return loaded


def without_secrets(text: str) -> str:
    """A text without the secrets of the settings that this process has read."""
    return Redactor(_secrets)(text)


def notices_to(err: Console) -> Callable[[Notice], None]:
    """Print each notice as one quiet line, and the same one only once."""
    shown: set[tuple[str, str]] = set()

    def show(notice: Notice) -> None:
        if (notice.subject, notice.text) not in shown:
            shown.add((notice.subject, notice.text))
            told = f"{notice.subject}: {notice.text}"
            err.print(told, style="yellow", markup=False, highlight=False, soft_wrap=True)

    return show


def read_moment(text: str) -> datetime:
    """A time as a person writes it; without a zone it has none. Raises `MessageRefused`."""
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError as wrong:
        raise MessageRefused(
            f"{text!r} is not an ISO 8601 time. Write one such as 2026-07-09 or 2026-07-09T19:00."
        ) from wrong


def at_keyboard() -> bool:
    """Whether a person can be asked: standard input is there and is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()
