"""`goat bench NAME`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goat.cli.session import consoles

if TYPE_CHECKING:
    from goat.bench.report import Figure

JsonOut = Annotated[
    Path | None, typer.Option("--json", metavar="OUT", help="Also write the figures as JSON into this file.")
]

bench = typer.Typer(name="bench", help="Measure. Every figure of the README comes from here.", no_args_is_help=True)


@bench.callback()
def _group() -> None:
    """Measure. Every figure of the README comes from here."""


def _measure(name: str, run: Callable[[Callable[[str], None]], Sequence[Figure]], json_out: Path | None) -> None:
    """Run a bench with a sign of its progress; print its figures and write them where that is asked for."""
    from goat.bench import report

    out, err = consoles()
    with err.status("preparing …") as status:
        figures = run(lambda step: status.update(f"{step} …"))
    report.show(out, f"goat bench {name}", figures)
    if json_out:
        report.write_json(json_out, name, figures)


@bench.command()
def speed(json_out: JsonOut = None) -> None:
    """How fast the reflex, the start and the memory use are at 1,000 and 10,000 messages. Takes about a minute."""
    from goat.bench.speed import run

    _measure("speed", run, json_out)


@bench.command("import")
def import_(json_out: JsonOut = None) -> None:
    """How fast 20,000 and 200,000 messages are imported, and what memory that takes. Takes about three minutes."""
    from goat.bench.imports import run

    _measure("import", run, json_out)


@bench.command()
def locomo(
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="A LoCoMo sample file.")],
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Questions of each conversation.")] = None,
    json_out: JsonOut = None,
) -> None:
    """How often the evidence of a question is found, beside BM25, the embedder and their fusion."""
    from goat.bench import locomo, locomo_table

    out, err = consoles()
    with err.status("reading …") as status:
        outcome = locomo.run(data, limit, lambda step: status.update(f"{step} …"))
    locomo_table.show(out, outcome, data.stem)
    if json_out:
        locomo_table.write(json_out, outcome, data.stem)


@bench.command()
def ablation(
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="A LoCoMo sample file.")],
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Questions of each conversation.")] = None,
    json_out: JsonOut = None,
) -> None:
    """What each stage of the ranking is worth: the measures with it off. Takes some minutes."""
    from goat.bench import ablation, report

    out, err = consoles()
    with err.status("reading …") as status:
        asked, found = ablation.run(data, limit, lambda step: status.update(f"{step} …"))
    out.print(ablation.table(found, f"{data.stem}: each stage off, % (n = {asked})"))
    if json_out:
        report.write_json(json_out, "ablation", ablation.figures(found))


@bench.command()
def scale(
    million: Annotated[bool, typer.Option("--million", help="Measure at 1,000,000 messages too; takes long.")] = False,
    json_out: JsonOut = None,
) -> None:
    """How fast the reflex is at 100,000 messages. Takes some minutes, most of them to fill the archive."""
    from goat.bench.scale import run

    _measure("scale", lambda say: run(million, say), json_out)


@bench.command()
def languages(json_out: JsonOut = None) -> None:
    """Recall in ten languages at once, also without diacritics and across languages. Takes some seconds."""
    from goat.bench.languages import run

    _measure("languages", run, json_out)


@bench.command()
def dialogue(
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FILE", help="A LoCoMo sample file, played too.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Groups of each LoCoMo conversation.")] = None,
    json_out: JsonOut = None,
) -> None:
    """How often what a message needs is in its prompt, per thread state and reflex mode, along whole dialogues."""
    from goat.bench.dialogue import figures, run

    _measure("dialogue", lambda say: figures(run(data, limit, say)), json_out)


@bench.command()
def tools(json_out: JsonOut = None) -> None:
    """What the tool loop costs beside model and tools, and how long plugins take to reload. Takes some seconds."""
    from goat.bench.tools import run

    _measure("tools", run, json_out)


@bench.command()
def telegram(
    rate: Annotated[float, typer.Option("--rate", min=0.1, help="Messages a second, in all chats.")] = 6.0,
    chats: Annotated[int, typer.Option("--chats", min=1, help="How many people write.")] = 200,
    messages: Annotated[int, typer.Option("--messages", min=1, help="Messages of each.")] = 20,
    total: Annotated[int, typer.Option("--total", min=1, help="All messages, for the memory at the end.")] = 10_000,
    search: Annotated[bool, typer.Option(help="Look for the highest rate that keeps the goal.")] = True,
    json_out: JsonOut = None,
) -> None:
    """How the bot answers many chats at once, over a fake of Telegram. Takes about half an hour; less with options."""
    from goat.bench.telegram import Load, run

    load = Load(chats, messages, rate, total, search)
    _measure("telegram", lambda say: run(load, say), json_out)


@bench.command()
def thread_diagram(
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE", help="The Markdown file to write.")],
    json_out: JsonOut = None,
) -> None:
    """Draw one real thread: its states, its topics, and what served each turn."""
    from goat.bench import report, thread_diagram

    out, err = consoles()
    with err.status("playing …") as status:
        played = thread_diagram.run(lambda step: status.update(f"{step} …"))
    out_file.write_text(thread_diagram.draw(played), encoding="utf-8")
    out.print(f"Written to {out_file}.")
    if json_out:
        report.write_json(json_out, "thread-diagram", thread_diagram.figures(played))
