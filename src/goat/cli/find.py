"""`goat search`."""

from __future__ import annotations

import json
from datetime import datetime, tzinfo
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from goat.app import App, open_reading, system_clock
from goat.cli.running import run_to_end
from goat.cli.session import (
    ConfigOption,
    HomeOption,
    JsonOption,
    OwnerOption,
    consoles,
    notices_to,
    read_moment,
    read_settings,
)
from goat.errors import MessageRefused
from goat.interfaces.plain import shown
from goat.records.search import Recall, Recalled, Where
from goat.retrieval.copies import said_again
from goat.settings import Loaded


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    limit: Annotated[int, typer.Option("-k", "--limit", min=1, max=1000, help="How many results.")] = 10,
    chat: Annotated[str | None, typer.Option("--chat", help="Only this conversation.")] = None,
    after: Annotated[
        str, typer.Option("--after", metavar="TIME", help="Only what was said from then on, such as 2026-07-09.")
    ] = "",
    before: Annotated[
        str, typer.Option("--before", metavar="TIME", help="Only what was said before, such as 2026-07-09T19:00.")
    ] = "",
    explain: Annotated[bool, typer.Option("--explain", help="Show what each score is made of.")] = False,
    as_json: JsonOption = False,
    owner: OwnerOption = None,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Search everything that was ever said."""
    if not query.strip():
        raise MessageRefused("The query is empty. Write a word, a question or a sentence to look for.")
    loaded = read_settings(home, config)
    zone = system_clock(loaded.settings).zone()
    where = Where(chat=chat, after=_local(after, zone), before=_local(before, zone))
    if where.after and where.before and where.after >= where.before:
        raise MessageRefused("Nothing lies after the one time and before the other. Give --after the earlier of them.")
    run_to_end(_search(loaded, owner or loaded.settings.admin, query, limit, where, explain, as_json))


def _local(written: str, zone: tzinfo) -> datetime | None:
    """A time that a person wrote; where it names no zone, in theirs."""
    if not written:
        return None
    moment = read_moment(written)
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


async def _search(
    loaded: Loaded, owner: str, query: str, limit: int, where: Where, explain: bool, as_json: bool
) -> None:
    out, err = consoles()
    async with open_reading(loaded.settings, loaded.home, notices_to(err)) as app:
        recall = await app.memory.search(owner, query, app.backends.clock.now(), limit, where)
        if as_json:
            print_json(out, recall)
        else:
            print_results(out, app, recall, explain)
        for lost in recall.lost:
            err.print(f"Searched without {lost.what}: {lost.reason}", style="yellow", markup=False)


def print_results(out: Console, app: App, recall: Recall, explain: bool) -> None:
    """Results as a person reads them, best first."""
    if not recall.results:
        out.print("Nothing found.")
        return
    zone = app.backends.clock.zone()
    if max(result.relevance for result in recall.results) < app.settings.recall.min_relevance:
        out.print("Nothing relevant found. The nearest:", style="dim")
    for place, result in enumerate(recall.results, start=1):
        episode = result.episode
        who = episode.speaker or ("you" if episode.role == "user" else "GOAT")
        head = Text(f"{place:>2}. ", style="bold")
        head.append(f"{episode.at.astimezone(zone):%Y-%m-%d %H:%M}  {who}  ", style="cyan")
        head.append(f"[{episode.chat} #{episode.id}]", style="dim")
        out.print(head)
        out.print(Text("    " + "\n    ".join(shown(out, episode.text).splitlines() or [""])), soft_wrap=True)
        if result.copies:
            out.print(Text(f"    {said_again(result, zone)}", style="dim"))
        if explain:
            parts = "  ".join(f"{name} {value:+.3f}" for name, value in result.parts.items() if value)
            why = f"score {result.score:.3f} = {parts}  by {', '.join(result.mechanisms)}"
            out.print(Text(f"    relevance {result.relevance:.0%}  {why}", style="dim"))


def print_json(out: Console, recall: Recall) -> None:
    """Results as one JSON document."""
    document = {"query": recall.query, "results": [_plain(result) for result in recall.results]}
    out.file.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def _plain(result: Recalled) -> dict[str, object]:
    episode = result.episode
    return {
        "id": episode.id,
        "text": episode.text,
        "at": episode.at.isoformat(),
        "role": episode.role.value,
        "speaker": episode.speaker,
        "chat": episode.chat,
        "relevance": round(result.relevance, 4),
        "score": round(result.score, 4),
        "parts": {name: round(value, 4) for name, value in result.parts.items()},
        "mechanisms": list(result.mechanisms),
        "copies": [at.isoformat() for at in result.copies],
    }
