"""`goat setup`, and its offer at the first start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from goat.app import try_model
from goat.cli.running import run_to_end
from goat.cli.session import ConfigOption, HomeOption, at_keyboard, consoles, read_settings
from goat.errors import SettingsError
from goat.settings import Loaded, load
from goat.setup import (
    Answers,
    NobodyToAsk,
    TerminalPrompts,
    offer_setup,
    outranked,
    run_wizard,
    wants_setup,
    write_answers,
)


def setup(
    reconfigure: Annotated[bool, typer.Option("--reconfigure", help="Ask again although it was answered.")] = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Choose the language model: asks for provider, key and model, and tries them with one call."""
    loaded, broken = _readable(home, config, reconfigure)
    if not at_keyboard():
        raise NobodyToAsk
    answers = run_to_end(run_wizard(TerminalPrompts(), loaded, try_model, reconfigure=reconfigure))
    _write(loaded, answers, fresh=broken)
    _, err = consoles()
    for sentence in outranked(answers, read_settings(home, config)):
        err.print(sentence, style="yellow", markup=False)


def offered(loaded: Loaded, home: Path | None, config: Path | None) -> Loaded:
    """At a first start in a terminal offer the setup; the settings as they are afterwards."""
    if not wants_setup(loaded):
        return loaded
    answers = run_to_end(offer_setup(TerminalPrompts(), loaded, try_model, terminal=True))
    if answers is None:
        return loaded
    _write(loaded, answers)
    return read_settings(home, config)


def _readable(home: Path | None, config: Path | None, reconfigure: bool) -> tuple[Loaded, bool]:
    """The settings, and whether they were read without a broken file that is to be replaced anyway."""
    try:
        return read_settings(home, config), False
    except SettingsError:
        if not reconfigure:
            raise
        return load({"home": home}, environ=os.environ, cwd=Path.cwd(), config=config, skip_toml=True), True


def _write(loaded: Loaded, answers: Answers, fresh: bool = False) -> None:
    out, _ = consoles()
    kept = write_answers(answers, loaded.files, fresh=fresh)
    out.print(f"Written: {loaded.files.toml}", highlight=False)
    for copy in kept:
        out.print(f"The old one is kept as {copy}.", style="dim", highlight=False)
