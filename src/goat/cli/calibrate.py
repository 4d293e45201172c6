"""`goat calibrate NAME`."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from goat.cli.session import ConfigOption, HomeOption, JsonOption, consoles, read_settings
from goat.memory.l2_thread import bands_for, row_name
from goat.records.turns import Notice
from goat.settings import Settings
from goat.settings.sections import ActivationSettings

calibrate = typer.Typer(name="calibrate", help="Measure what depends on the embedding model.", no_args_is_help=True)


@calibrate.callback()
def _group() -> None:
    """Measure what depends on the embedding model."""


@calibrate.command()
def threads(
    write: Annotated[bool, typer.Option("--write", help="Write the row into the package's threads.toml.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """The bands in which a message is on the thread, moving along it or off it. Takes about a minute."""
    out, err = consoles()
    settings = read_settings(home, config).settings
    with err.status("measuring …"):
        asyncio.run(_threads(settings, write, as_json, out))


async def _threads(settings: Settings, write: bool, as_json: bool, out: Console) -> None:
    from goat.app import open_app
    from goat.bench import calibrate as fitting
    from goat.bench.calibrate_check import check

    offline = settings.model_copy(update={"model": settings.model.model_copy(update={"provider": "offline"})})
    with tempfile.TemporaryDirectory(prefix="goat-calibrate-") as folder:
        async with open_app(offline, Path(folder), _quiet) as app:
            model = app.backends.embedder.name
            measured = await fitting.measure(app.backends.embedder, fitting.read_pairs())
        bands = fitting.fit(measured)
        fitted = offline.model_copy(update={"activation": ActivationSettings.model_validate(fitting.thresholds(bands))})
        async with open_app(fitted, Path(folder), _quiet) as app:
            checked = await check(app, [one.pair for one in measured if one.pair.kind == "written"])
    if write:
        fitting.write_row(Path(str(files("goat.memory").joinpath("data/threads.toml"))), bands, model)
    table = fitting.confusion(measured, bands)
    accuracy = {kind: fitting.right_share(table, kind) for kind in fitting.CLASSES}
    running = bands_for(model, ActivationSettings())
    right = sum(one.right for one in checked)
    if as_json:
        rows = [[expected, got, count] for (expected, got), count in sorted(table.items())]
        shown = {"model": model, "bands": fitting.thresholds(bands), "accuracy": accuracy, "confusion": rows}
        out.print_json(json.dumps({**shown, "enriching_check": [right, len(checked)]}))
        return
    for kind, classes in fitting.CLASSES.items():
        out.print(_confusion(kind, classes, table, accuracy[kind]))
    out.print(f"off the thread but told warm: {fitting.wrongly_warm(table)}")
    out.print(f"enriching check: {right} of {len(checked)} written texts were held, or not held, as they should be")
    out.print(fitting.row(bands, row_name(model) or model), markup=False, highlight=False)
    if fitting.thresholds(bands) != fitting.thresholds(running) and not write:
        out.print("The row in use differs; --write replaces it.", style="yellow")


DataOption = Annotated[Path, typer.Option("--data", metavar="FILE", help="A LoCoMo sample file.")]
LimitOption = Annotated[int | None, typer.Option("--limit", min=1, help="Questions of each conversation.")]
WriteOption = Annotated[bool, typer.Option("--write", help="Write the row into the package's weights.toml.")]


@calibrate.command()
def fusion(data: DataOption, limit: LimitOption = None, write: WriteOption = False) -> None:
    """The weights of the ranking formula, leaving out one conversation at a time. Takes a quarter of an hour."""
    from goat.bench import calibrate_fusion as fitting
    from goat.retrieval.weights import weights_for

    out, err = consoles()
    with err.status("reading …") as status:
        model, judged = fitting.collect(data, limit, lambda step: status.update(f"{step} …"))
        found = []
        for fold in fitting.folds(judged, weights_for(model)):
            status.update(f"fitted without {fold.sample} …")
            found.append(fold)
    titles = ("any@10", "share@10", "nDCG@10", "session any@5", "session share@10")
    rows = [(fold.sample, fold.questions, astuple(fold.after)) for fold in found]
    means = [astuple(fitting.mean(found, after)) for after in (True, False)]
    out.print(_folds(f"{data.stem}: each conversation judged by the weights of the others, %", titles, rows, means))
    _show_row(out, fitting.common(found), model, write)


@calibrate.command()
def relevance(data: DataOption, limit: LimitOption = None, write: WriteOption = False) -> None:
    """How a score becomes a relevance, leaving out one conversation at a time. Takes a quarter of an hour."""
    from goat.bench import calibrate_relevance as fitting
    from goat.retrieval.weights import weights_for

    out, err = consoles()
    with err.status("reading …") as status:
        model, ranked = fitting.collect(data, limit, lambda step: status.update(f"{step} …"))
        found = []
        for fold in fitting.folds(ranked, weights_for(model)):
            status.update(f"fitted without {fold.sample} …")
            found.append(fold)
    titles = ("AUROC", "foreign AUROC", "evidence kept", "foreign shown", "loss × 100")
    rows = [(fold.sample, fold.questions, _percent(fold.after.left_out)) for fold in found]
    means = [_percent(fitting.mean(found, after).left_out) for after in (True, False)]
    out.print(_folds(f"{data.stem}: each conversation judged by the weights of the others, %", titles, rows, means))
    _show_row(out, fitting.common(found), model, write)


def _percent(shares: Sequence[float]) -> tuple[float, ...]:
    return tuple(100 * share for share in shares)


def _show_row(out: Console, row: Mapping[str, float], model: str, write: bool) -> None:
    from goat.bench.calibrate_fusion import write_row
    from goat.retrieval.weights import row_name as weights_row

    out.print("\n".join(f"{name} = {value:g}" for name, value in row.items()), markup=False, highlight=False)
    if write:
        name = model if weights_row(model) == "default" else weights_row(model)
        write_row(Path(str(files("goat.retrieval").joinpath("data/weights.toml"))), name, row)


def _folds(
    title: str,
    titles: Sequence[str],
    rows: Sequence[tuple[str, int, Sequence[float]]],
    means: Sequence[Sequence[float]],
) -> Table:
    shown = Table(title=title, title_justify="left")
    for name in ("left out", "n", *titles):
        shown.add_column(name, justify="left" if name == "left out" else "right")
    asked = sum(questions for _, questions, _ in rows)
    summed = zip(("all", "present row"), (asked, asked), means, strict=True)
    for name, questions, reached in (*rows, *summed):
        shown.add_row(name, str(questions), *(f"{value:.1f}" for value in reached))
    return shown


def _confusion(kind: str, classes: tuple[str, ...], table: Counter[tuple[str, str]], accuracy: float) -> Table:
    shown = Table(title=f"{kind}: balanced accuracy {accuracy:.1%}", title_justify="left")
    shown.add_column("is \\ told")
    for name in classes:
        shown.add_column(name, justify="right")
    for expected in classes:
        shown.add_row(expected, *(str(table[expected, got]) for got in classes))
    return shown


def _quiet(notice: Notice) -> None:
    """A measurement shows its tables only."""
