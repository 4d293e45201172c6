"""`goat memory`: see what is remembered, correct it, and forget it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from goat.app import App, open_app, open_reading
from goat.cli.find import search
from goat.cli.running import run_to_end
from goat.cli.session import ConfigOption, HomeOption, JsonOption, OwnerOption, consoles, notices_to, read_settings
from goat.errors import MessageRefused
from goat.interfaces.memory_text import MemoryText, excerpt, stamp
from goat.interfaces.texts import ENGLISH, texts_for
from goat.memory.enrich import ENRICHED, ENTITIES, TIMES, entities_in
from goat.memory.forget import Plan
from goat.memory.l1_facts import Kept
from goat.records.episodes import Episode, Use
from goat.records.turns import Notice
from goat.settings import Settings

memory = typer.Typer(
    name="memory", help="See what GOAT remembers about you, correct it, and make it forget.", no_args_is_help=True
)
open_to_change = partial(open_app, act=False)
LimitOption = Annotated[int, typer.Option("-k", "--limit", min=1, max=10_000, help="How many to show.")]


@dataclass(frozen=True, slots=True)
class View:
    """What a command works with: the open App, whose memory it is, and where it prints."""

    app: App
    owner: str
    out: Console
    as_json: bool

    def stamp(self, at: datetime | None) -> str:
        """A time as a person reads it, empty for none."""
        return stamp(at, self.app.backends.clock.zone()) if at else ""

    @property
    def words(self) -> MemoryText:
        """Tells what memory holds."""
        return MemoryText(texts_for(ENGLISH), self.app.backends.clock.zone())

    def tell(self, document: Mapping[str, Any], text: str) -> None:
        """One JSON document where that is asked for, otherwise the text."""
        if self.as_json:
            self.out.file.write(json.dumps(document, ensure_ascii=False, indent=2, default=_plain) + "\n")
        else:
            self.out.print(text, markup=False, highlight=False, soft_wrap=True)


@memory.command()
def facts(
    as_json: JsonOption = False, owner: OwnerOption = None, home: HomeOption = None, config: ConfigOption = None
) -> None:
    """The facts that stand in every prompt, since when they hold, and what they were before."""

    async def work(view: View) -> None:
        stories = await view.app.overview.facts(view.owner)
        current = [story.fact for story in stories]
        used, cap = view.app.facts.used(current), view.app.facts.cap
        if view.as_json or not stories:
            document = {"facts": [asdict(story) for story in stories], "tokens_used": used, "tokens_cap": cap}
            view.tell(document, view.words.facts(stories))
            return
        table = Table("key", "value", "since", "until", "message", title=f"Facts: {used} of {cap} tokens")
        for story in stories:
            for fact in (story.fact, *story.before):
                style = "" if fact.until is None else "dim"
                source = "" if fact.source_episode is None else str(fact.source_episode)
                cells = (fact.key, fact.value, view.stamp(fact.since), view.stamp(fact.until), source)
                table.add_row(*map(Text, cells), style=style)
        view.out.print(table)

    _run(open_reading, work, as_json, owner, home, config)


@memory.command(name="set")
def set_fact(
    key: Annotated[str, typer.Argument(help="What it is, such as city.")],
    value: Annotated[str, typer.Argument(help="What holds now.")],
    another: Annotated[bool, typer.Option("--another", help="It is not the fact whose key looks alike.")] = False,
    as_json: JsonOption = False,
    owner: OwnerOption = None,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Set or correct a fact. The old value stays in the history; `goat memory undo` takes it back."""

    async def work(view: View) -> None:
        kept = await view.app.facts.promote(view.owner, key, value, another=another)
        if kept.outcome is Kept.REFUSED:
            raise MessageRefused(kept.reason)
        was = f" It was: {kept.before}" if kept.outcome is Kept.CHANGED else ""
        text = f"{kept.key}: {kept.value} ({kept.outcome}; {kept.used} of {kept.cap} tokens used).{was}"
        view.tell(asdict(kept), text)

    _run(open_to_change, work, as_json, owner, home, config)


@memory.command()
def drop(
    key: Annotated[str, typer.Argument(help="The key of the fact.")],
    as_json: JsonOption = False,
    owner: OwnerOption = None,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """End a fact. It stays in the history, and `goat memory undo` takes it back; `forget` erases it for good."""

    async def work(view: View) -> None:
        dropped = await view.app.facts.drop(view.owner, key)
        if dropped is None:
            raise MessageRefused(f"There is no fact {key!r}. `goat memory facts` shows those that there are.")
        view.tell({"dropped": asdict(dropped)}, f"{dropped.key} holds no more. It was: {dropped.value}")

    _run(open_to_change, work, as_json, owner, home, config)


@memory.command()
def topics(
    as_json: JsonOption = False,
    limit: LimitOption = 20,
    owner: OwnerOption = None,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """What you talked about, newest first."""

    async def work(view: View) -> None:
        found = (await view.app.overview.topics(view.owner))[:limit]
        if view.as_json or not found:
            view.tell({"topics": [asdict(topic) for topic in found]}, "No topics yet.")
            return
        table = Table("from", "to", "messages", "chat", "began with")
        for topic in found:
            opening = excerpt(topic.opening)
            cells = (view.stamp(topic.first), view.stamp(topic.last), f"{topic.messages:,}", topic.chat, opening)
            table.add_row(*map(Text, cells))
        view.out.print(table)

    _run(open_reading, work, as_json, owner, home, config)


@memory.command()
def recent(
    as_json: JsonOption = False,
    limit: LimitOption = 20,
    chat: Annotated[str | None, typer.Option("--chat", help="Only this conversation.")] = None,
    owner: OwnerOption = None,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """The newest messages with their numbers."""

    async def work(view: View) -> None:
        found = await view.app.overview.recent(view.owner, limit, chat)
        if view.as_json or not found:
            view.tell({"messages": [asdict(episode) for episode in found]}, "Nothing was said yet.")
            return
        view.out.print(_messages(view, found))

    _run(open_reading, work, as_json, owner, home, config)


@memory.command()
def show(
    number: Annotated[int, typer.Argument(metavar="ID", help="The number of a message.")],
    as_json: JsonOption = False,
    owner: OwnerOption = None,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """One message whole, with what is kept beside it, the rest of its exchange, and the facts that came from it."""

    async def work(view: View) -> None:
        found = await view.app.backends.journal.episodes(view.owner, [number])
        if not found:
            raise MessageRefused(f"There is no message {number}. `goat memory recent` shows the newest ones.")
        (episode,) = found
        exchange = await view.app.backends.journal.exchange(view.owner, [episode.exchange_id])
        others = [one for one in exchange if one.id != number]
        came = [
            f for f in (await view.app.backends.permanent.everything(view.owner)).facts if f.source_episode == number
        ]
        use = (await view.app.backends.uses.of(view.owner, [number])).get(number)
        document = {
            "message": asdict(episode),
            "entities": [entity._asdict() for entity in entities_in(episode.meta)],
            "uses": asdict(use) if use else {"count": 0, "last": None},
            "exchange": list(map(asdict, others)),
            "facts": list(map(asdict, came)),
        }
        lines = [f"{name}: {value}" for name, value in _described(view, episode, use).items() if value]
        lines += ["", episode.text]
        lines += ["", *(f"{one.id} {view.words.speaker(one)}: {one.text}" for one in others)] if others else []
        lines += [f"fact from it: {fact.key}: {fact.value}" for fact in came]
        view.tell(document, "\n".join(lines))

    _run(open_reading, work, as_json, owner, home, config)


@memory.command()
def digest(
    as_json: JsonOption = False, owner: OwnerOption = None, home: HomeOption = None, config: ConfigOption = None
) -> None:
    """Everything that is known about you, at a glance; made without a model."""

    async def work(view: View) -> None:
        found = await view.app.overview.digest(view.owner)
        view.tell(asdict(found), view.words.digest(found))

    _run(open_reading, work, as_json, owner, home, config)


@memory.command()
def forget(
    what: Annotated[list[str], typer.Argument(metavar="ID-OR-TEXT", help="Numbers of messages, or words.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    words: Annotated[bool, typer.Option("--text", help="Numbers are words here too.")] = False,
    keep_facts: Annotated[bool, typer.Option("--keep-facts", help="Leave facts and identity as they are.")] = False,
    as_json: JsonOption = False,
    owner: OwnerOption = None,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Forget messages for good: shows what would go, asks, and leaves nothing of it in any file. There is no undo.

    With numbers, those messages and every other one that quotes them whole; with words, every message, fact and
    identity text that holds them in this order, whatever their case and accents.
    """

    async def work(view: View) -> None:
        found = await _planned(view, what, words)
        found = found.without_values() if keep_facts else found
        if not found:
            raise MessageRefused(
                "Nothing in memory matches that. `goat memory search` finds messages by their meaning."
            )
        shown = view.words.plan(found)
        if not yes:
            _, err = consoles()
            err.print(shown, markup=False, highlight=False, soft_wrap=True)
            _require_consent()
        await view.app.settled()
        done = await view.app.forgetter.forget(found)
        document = {"forgotten": [e.id for e in found.episodes], "values": done.values, "finished": not done.unfinished}
        view.tell(document, view.words.forgot(done))

    _run(open_to_change, work, as_json, owner, home, config)


@memory.command()
def undo(
    as_json: JsonOption = False, owner: OwnerOption = None, home: HomeOption = None, config: ConfigOption = None
) -> None:
    """Take back the last change of a fact or of the identity; a second undo brings it back.

    What was forgotten is gone and no undo brings it back.
    """

    async def work(view: View) -> None:
        undone = await view.app.undo.last(view.owner)
        view.tell({"undone": asdict(undone) if undone else None}, view.words.undone(undone))

    _run(open_to_change, work, as_json, owner, home, config)


memory.command(name="search")(search)


def _run(
    opened: Callable[[Settings, Path, Callable[[Notice], None]], AbstractAsyncContextManager[App]],
    work: Callable[[View], Awaitable[None]],
    as_json: bool,
    owner: str | None,
    home: Path | None,
    config: Path | None,
) -> None:
    loaded = read_settings(home, config)
    out, err = consoles()

    async def run() -> None:
        async with opened(loaded.settings, loaded.home, notices_to(err)) as app:
            await work(View(app, owner or loaded.settings.admin, out, as_json))

    run_to_end(run())


def _require_consent() -> None:
    """Ask whether to forget. Raises `MessageRefused` for no, and where nobody is there to ask."""
    try:
        meant = typer.confirm("Forget all this for good?", err=True)
    except typer.Abort:
        raise MessageRefused("Nothing was forgotten: nobody answered. --yes forgets without a question.") from None
    if not meant:
        raise MessageRefused("Nothing was forgotten.")


async def _planned(view: View, what: list[str], words: bool) -> Plan:
    if not words and all(one.lstrip("#").isdecimal() for one in what):
        return await view.app.forgetter.by_ids(view.owner, [int(one.lstrip("#")) for one in what])
    return await view.app.forgetter.by_text(view.owner, " ".join(what))


def _messages(view: View, episodes: list[Episode]) -> Table:
    table = Table("number", "at", "chat", "who", "message")
    for episode in episodes:
        cells = (str(episode.id), view.stamp(episode.at), episode.chat, view.words.speaker(episode))
        table.add_row(*map(Text, (*cells, excerpt(episode.text, 200))))
    return table


def _described(view: View, episode: Episode, use: Use | None) -> dict[str, str]:
    meta = {str(name): str(value) for name, value in episode.meta.items()}
    named = "; ".join(f"{entity.text} ({entity.kind})" for entity in entities_in(meta))
    recalled = ""
    if use:
        recalled = f"{'once' if use.count == 1 else f'{use.count:,} times'}, last {view.stamp(use.last)}"
    return {
        "number": str(episode.id),
        "at": view.stamp(episode.at),
        "chat": episode.chat,
        "who": view.words.speaker(episode),
        "source": episode.source,
        "topic": episode.topic_id,
        "tags": ", ".join(episode.tags),
        "kind": meta.pop(ENRICHED, ""),
        "names": named if meta.pop(ENTITIES, "") else "",
        "speaks of": meta.pop(TIMES, "").replace(" ", ", "),
        **meta,
        "recalled": recalled,
    }


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
