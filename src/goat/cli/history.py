"""`goat import`, `goat export`, `goat backup` and `goat restore`: memory in, memory out."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from goat import __version__
from goat.app import App, back_up, export_file, history_writer, open_app, open_history, open_reading
from goat.app import restore as restore_home
from goat.cli import exits
from goat.cli.progress import Phases
from goat.cli.running import run_to_end
from goat.cli.session import ConfigOption, HomeOption, OwnerOption, at_keyboard, consoles, notices_to, read_settings
from goat.errors import HistoryError, TransferError, printable
from goat.memory.importer import Aim, Imported, Survey, survey
from goat.memory.senders import Sender, Senders, Sides, choose_sides
from goat.memory.transfer import Exported
from goat.ports.edges import HistorySource, HistoryWriter
from goat.records.episodes import ArchiveCounts
from goat.settings import Loaded
from goat.settings.files import find, home_of

STDOUT = "-"

RATED = 500
"""From so many messages on the rate says something."""

ForceOption = Annotated[bool, typer.Option("--force", help="Replace what is there.")]


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A chat history; what it is, its content tells.")],
    owner: OwnerOption = None,
    me: Annotated[
        str | None,
        typer.Option("--me", metavar="NAME", help='Which sender is the owner, by name or id; "" for none of them.'),
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out what cannot be read, and count it.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Make the vectors too, before it ends.")] = False,
    all_owners: Annotated[
        bool, typer.Option("--all-owners", help="Give each their own, from an export of several people.")
    ] = False,
    no_facts: Annotated[
        bool, typer.Option("--no-facts", help="Of an export of GOAT take the messages only, no facts, no identity.")
    ] = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Bring a chat history: Telegram Desktop, ChatGPT, JSON lines, LoCoMo. Again and again: nothing comes twice."""
    loaded = read_settings(home, config)
    source = open_history(file, loaded.settings)
    job = _Import(loaded, file, source, owner or loaded.settings.admin, me, skip_bad, wait, all_owners, not no_facts)
    if not run_to_end(job.run()):
        raise typer.Exit(exits.FAILED)


class _Import:
    """One import, from the first reading to the sentence about it."""

    def __init__(
        self,
        loaded: Loaded,
        file: Path,
        source: HistorySource,
        owner: str,
        me: str | None,
        skip_bad: bool,
        wait: bool,
        all_owners: bool,
        values: bool,
    ) -> None:
        self._loaded = loaded
        self._file = file
        self._source = source
        self._owner = owner
        self._me = me
        self._skip_bad = skip_bad
        self._wait = wait
        self._all_owners = all_owners
        self._values = values
        self._out, self._err = consoles()

    async def run(self) -> bool:
        """Whether anything in the file could be imported."""
        async with open_app(
            self._loaded.settings, self._loaded.home, notices_to(self._err), embed=False, act=False
        ) as app:
            with Phases(self._err) as phases:
                found = await survey(self._source, self._skip_bad, phases.begin("checking", self._source.size))
            aim = Aim(self._owner, await self._sides(found.senders), self._all_owners, self._values)
            self._require_owner(found)
            began = app.backends.clock.monotonic()
            with Phases(self._err) as phases:
                told = phases.begin("importing", self._source.size)
                imported = await app.importer.run(self._source, aim, self._skip_bad, told)
                seconds = app.backends.clock.monotonic() - began
                if self._wait:
                    await self._embed(app, phases)
            counts = await app.backends.journal.counts(self._owner, app.backends.embedder.name)
        self._tell(found, imported, seconds, counts)
        return found.records > 0 or found.bad == 0

    async def _sides(self, senders: Senders) -> Sides:
        unsaid = self._me is None and not senders.says_own and senders.all
        if unsaid and at_keyboard() and self._err.is_terminal:
            return senders.with_owner(await _ask_who(senders.all))
        return choose_sides(senders, self._file, self._me)

    def _require_owner(self, found: Survey) -> None:
        """In an export of several people a name must be among them."""
        if found.owners and not self._all_owners and self._owner not in found.owners:
            names = ", ".join(printable(name) for name in sorted(found.owners))
            remedy = f"Name one of them with --owner, or give each their own with --all-owners: {names}."
            raise HistoryError(self._file, None, f"it holds nothing of {printable(self._owner)}", remedy)

    async def _embed(self, app: App, phases: Phases) -> None:
        told = phases.begin("embedding", await app.backends.journal.head())
        await app.memory.archive.enrich()
        await app.memory.archive.embed(lambda _name, at, _to: told(at, at))

    def _tell(self, found: Survey, imported: Imported, seconds: float, counts: ArchiveCounts) -> None:
        _tell_bad(self._err, found)
        _say(self._out, _summary(self._source.format, self._file, self._owner, imported, seconds))
        missing = counts.passages - counts.embedded
        if self._out.is_terminal and missing > 0:
            told = f"Search finds all of it by its words now. {missing:,} passages get their vectors while GOAT runs"
            _say(self._out, f"{told}; `goat status` shows how far that is, --wait does it at once.", style="dim")


async def _ask_who(senders: list[Sender]) -> Sender | None:
    """Which of the senders the person is. Raises `typer.Abort` when the question is broken off."""
    import questionary

    entries = [questionary.Choice(f"{printable(s.name)} ({s.counted})", value=s) for s in senders]
    entries.append(questionary.Choice("none of them", value=""))
    try:
        answer = await questionary.select("Which of them are you?", choices=entries).unsafe_ask_async()
    except (KeyboardInterrupt, EOFError):
        raise typer.Abort from None
    return answer if isinstance(answer, Sender) else None


def _tell_bad(err: Console, found: Survey) -> None:
    if not found.bad:
        return
    records = "1 record was" if found.bad == 1 else f"{found.bad:,} records were"
    _say(err, f"{records} left out:", style="yellow")
    for bad in found.first_bad:
        _say(err, f"  record {bad.number:,}: {printable(bad.reason)}", style="yellow")
    if found.bad > len(found.first_bad):
        _say(err, f"  … and {found.bad - len(found.first_bad):,} more", style="yellow")


def _summary(format_name: str, file: Path, owner: str, imported: Imported, seconds: float) -> str:
    """One line about an import."""
    where = f"from the {format_name} {printable(file.name)} for {printable(owner)}"
    rest = [
        f"{count:,} {what}"
        for count, what in (
            (imported.known, "were there already"),
            (imported.forgotten, "stay forgotten"),
            (imported.of_others, "of other owners were left out"),
            (imported.values, "facts and identity texts taken over"),
        )
        if count
    ]
    more = f" ({'; '.join(rest)})" if rest else ""
    if not imported.new:
        return f"Nothing new {where}{more}."
    chats = "1 chat" if imported.chats == 1 else f"{imported.chats:,} chats"
    rate = f", {imported.new / seconds:,.0f} a second" if imported.new >= RATED else ""
    return f"Imported {imported.new:,} messages of {chats} {where}{more}{rate}."


def export(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="Where to; - is standard output.")],
    owner: OwnerOption = None,
    all_owners: Annotated[bool, typer.Option("--all-owners", help="The memories of all owners.")] = False,
    force: ForceOption = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Write a whole memory as JSON lines: messages, facts, identity. `goat import` makes an equal one of it."""
    loaded = read_settings(home, config)
    run_to_end(_export(loaded, file, None if all_owners else owner or loaded.settings.admin, force))


async def _export(loaded: Loaded, file: str, owner: str | None, force: bool) -> None:
    out, err = consoles()
    about = {"made_by": f"goat {__version__}", "at": datetime.now(UTC).isoformat(timespec="seconds")}
    async with open_reading(loaded.settings, loaded.home, notices_to(err)) as app:
        known = await app.exporter.owners()
        if owner is not None and owner not in known:
            names = ", ".join(printable(name) for name in known) or "nobody"
            raise TransferError(Path(file), f"there is nothing of {printable(owner)} to export", f"Known: {names}.")
        with _export_to(file, force) as writer, Phases(err) as phases:
            owners = known if owner is None else [owner]
            told = phases.begin("exporting", await _episodes(app, owners))
            about["owner"] = ", ".join(owners)
            exported = await app.exporter.run(writer, owners, owner is None, about, lambda count: told(count, count))
    _say(err if file == STDOUT else out, _exported(exported, file, owners))


async def _episodes(app: App, owners: list[str]) -> int:
    model = app.backends.embedder.name
    return sum([(await app.backends.journal.counts(owner, model)).episodes for owner in owners])


@contextmanager
def _export_to(file: str, force: bool) -> Iterator[HistoryWriter]:
    if file != STDOUT:
        with export_file(Path(file), force) as writer:
            yield writer
        return
    out = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n")
    try:
        yield history_writer(out)
        out.flush()
    finally:
        out.detach()


def _exported(exported: Exported, file: str, owners: list[str]) -> str:
    values = f" and {exported.values:,} facts and identity texts" if exported.values else ""
    where = "" if file == STDOUT else f" to {printable(file)}"
    return f"Exported {exported.episodes:,} messages{values} of {', '.join(printable(o) for o in owners)}{where}."


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to.")],
    with_secrets: Annotated[bool, typer.Option("--with-secrets", help="Include keys and tokens.")] = False,
    force: ForceOption = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Write the whole data folder into one file: journal, settings, plugins. GOAT may run meanwhile."""
    folder = home_of(home, os.environ, Path.cwd())
    files, _ = find(folder, Path.cwd(), config)
    out, err = consoles()
    with err.status("copying …"):
        written = back_up(folder, files, file, with_secrets=with_secrets, replace=force)
    keys = "with keys and tokens" if with_secrets else "without keys and tokens"
    size = f"{written.size / 1e6:,.1f} MB"
    _say(out, f"Backed up {printable(str(folder))}, {written.messages:,} messages, {keys}: {_named(file)} ({size}).")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `goat backup` wrote.")],
    force: Annotated[
        bool, typer.Option("--force", help="Also into a folder in use; what is there is put aside.")
    ] = False,
    home: HomeOption = None,
) -> None:
    """Make the data folder what a backup holds. It is checked as a whole before anything is replaced."""
    folder = home_of(home, os.environ, Path.cwd())
    out, err = consoles()
    with err.status("checking …"):
        restored = run_to_end(restore_home(file, folder, force=force))
    _say(out, f"Restored {restored.messages:,} messages into {printable(str(folder))}.")
    if restored.unsent:
        _say(out, f"Replies that waited to be sent and are not sent any more: {restored.unsent:,}.", style="dim")
    if restored.kept is not None:
        _say(out, f"What stood there is kept in {printable(str(restored.kept))}.", style="dim")
    if not restored.secrets and not (folder / ".env").exists():
        _say(out, "Keys and tokens are not in this backup; `goat setup` asks for them.", style="dim")


def _named(file: Path) -> str:
    return printable(str(file))


def _say(console: Console, text: str, style: str | None = None) -> None:
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
