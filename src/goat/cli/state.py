"""`goat status` and `goat reindex`."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from goat import __version__
from goat.app import App, open_app, open_reading
from goat.cli.running import run_to_end
from goat.cli.session import (
    ConfigOption,
    HomeOption,
    JsonOption,
    OwnerOption,
    consoles,
    notices_to,
    read_settings,
)
from goat.settings import OFFLINE, Loaded

REINDEX_KEY = "reindex:under way"
REINDEX_SECONDS = 7 * 24 * 3600.0
"""After this an interrupted reindex begins anew."""


def status(
    as_json: JsonOption = False, owner: OwnerOption = None, home: HomeOption = None, config: ConfigOption = None
) -> None:
    """Show what GOAT holds and what it runs on."""
    loaded = read_settings(home, config)
    run_to_end(_status(loaded, owner or loaded.settings.admin, as_json))


async def _status(loaded: Loaded, owner: str, as_json: bool) -> None:
    out, err = consoles()
    async with open_reading(loaded.settings, loaded.home, notices_to(err)) as app:
        lines = await _facts(app, loaded, owner)
    if as_json:
        out.file.write(json.dumps(lines, ensure_ascii=False, indent=2) + "\n")
        return
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, told in _told(lines).items():
        table.add_row(name, Text(told))
    out.print(table)


def _told(state: Mapping[str, str | int]) -> dict[str, str]:
    """The state as a person reads it."""
    conversations, facts = (f"{state[name]:,}" for name in ("conversations", "facts"))
    behind = int(state["word_index_behind"])
    passages, embedded = int(state["passages"]), int(state["passages_with_vectors"])
    return {
        "version": str(state["version"]),
        "data folder": str(state["home"]),
        "settings": str(state["settings_file"]),
        "memory": f"of {state['owner']}: messages {state['messages']:,}, conversations {conversations}, facts {facts}",
        "found by words": f"all but the last {behind:,} changes" if behind else "everything",
        "found by meaning": "everything" if embedded >= passages else f"{embedded:,} of {passages:,} passages so far",
        "model": "offline, answers by quoting memory" if state["model"] == OFFLINE else str(state["model"]),
        "model of meaning": str(state["embedder"]),
    }


async def _facts(app: App, loaded: Loaded, owner: str) -> dict[str, str | int]:
    backends = app.backends
    counts = await backends.journal.counts(owner, backends.embedder.name)
    head = await backends.journal.head()
    facts = await backends.permanent.facts(owner)
    return {
        "version": __version__,
        "home": str(loaded.home),
        "settings_file": str(loaded.files.toml) if loaded.files.toml.exists() else "none, all defaults",
        "owner": owner,
        "messages": counts.episodes,
        "conversations": counts.chats,
        "facts": len(facts),
        "passages": counts.passages,
        "passages_with_vectors": counts.embedded,
        "word_index_behind": head - await backends.lexical.cursor(),
        "meaning_index_behind": head - await backends.vectors.cursor(),
        "model": backends.model.name,
        "embedder": backends.embedder.name,
    }


def reindex(home: HomeOption = None, config: ConfigOption = None) -> None:
    """Build both search indexes anew from the journal. It can be interrupted and goes on at the next call."""
    loaded = read_settings(home, config)
    run_to_end(_reindex(loaded))


async def _reindex(loaded: Loaded) -> None:
    out, err = consoles()
    async with open_app(loaded.settings, loaded.home, notices_to(err), act=False) as app:
        begun_before = not await app.backends.working.claim(REINDEX_KEY, REINDEX_SECONDS)
        if begun_before:
            err.print("Going on where the last reindex was interrupted.", style="dim")
        with _progress(err) as progress:
            await app.memory.archive.rebuild(_Bars(progress).show, resume=begun_before)
        await app.backends.working.delete(REINDEX_KEY)
        out.print("Both indexes hold everything that the journal holds.")


def _progress(err: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:>8}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=err
    )


class _Bars:
    """One bar for each follower."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def show(self, name: str, at: int, to: int) -> None:
        """Move the bar of a follower."""
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=to)
        self._progress.update(self._tasks[name], completed=at, total=to)
