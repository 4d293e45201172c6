"""`goat model list|test|use` and `goat usage`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, timedelta
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from goat.app import greet_model, open_reading
from goat.cli.running import run_to_end
from goat.cli.session import ConfigOption, HomeOption, JsonOption, consoles, notices_to, read_settings
from goat.errors import SettingsError
from goat.interfaces.money import UNKNOWN, tokens
from goat.records.models import Reply
from goat.records.usage import UsageDay, dollars
from goat.settings import (
    OTHER,
    Loaded,
    ModelEndpoint,
    Provider,
    Settings,
    endpoint_named,
    fallbacks_of,
    key_of,
    provider_of,
    providers,
)
from goat.setup import Answers, outranked, write_answers

model = typer.Typer(name="model", help="Which language model answers.", no_args_is_help=True)

ModelName = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="`provider/model`, a provider, or a model; the configured one by default."),
]


@model.command("list")
def list_models(as_json: JsonOption = False, home: HomeOption = None, config: ConfigOption = None) -> None:
    """Show the models that GOAT knows, what they cost, and which one is in use."""
    settings = read_settings(home, config).settings
    out, _ = consoles()
    rows = _rows(settings)
    if as_json:
        out.file.write(json.dumps(rows, ensure_ascii=False, indent=2) + "\n")
        return
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("")
    table.add_column("model", no_wrap=True)
    for title in ("context", "in", "cached", "out"):
        table.add_column(title, justify="right")
    table.add_column("key")
    for row in rows:
        mark = {"main": "[green]●[/green]", "fallback": "[yellow]○[/yellow]"}.get(row["use"], "")
        prices = [_price(row[side]) for side in ("input_price", "cached_price", "output_price")]
        table.add_row(mark, row["model"], _rounded(row["context_tokens"]), *prices, row["key"])
    out.print(table)
    out.print("● in use  ○ fallback    prices in USD per million tokens, ? is not known", style="dim")


def _rows(settings: Settings) -> list[dict[str, Any]]:
    """One row for each known model; those in use come first, also when the table does not know them."""
    main = provider_of(settings)
    used = {one.title: (one, "fallback") for one in reversed(fallbacks_of(settings))}
    if main is not None:
        used = {main.title: (main, "main"), **{title: row for title, row in used.items() if title != main.title}}
    rows = [_row(settings, endpoint, use) for endpoint, use in used.values()]
    for provider in providers().values():
        for name in provider.models:
            endpoint = ModelEndpoint(provider.id, name, provider.base_url, facts=provider.knows(name))
            if endpoint.title not in used:
                rows.append(_row(settings, endpoint, ""))
    return rows


def _row(settings: Settings, endpoint: ModelEndpoint, use: str) -> dict[str, Any]:
    price = endpoint.facts.price
    return {
        "model": endpoint.title,
        "use": use,
        "context_tokens": endpoint.facts.context_tokens,
        "input_price": price.input if price else None,
        "cached_price": price.cached if price else None,
        "output_price": price.output if price else None,
        "key": _key_state(settings, providers()[endpoint.provider]),
    }


def _key_state(settings: Settings, provider: Provider) -> str:
    if not provider.env_key:
        return "not needed"
    return "set" if key_of(settings, provider) else "missing"


def _rounded(tokens: int | None) -> str:
    """A number of tokens, short: 131k, 1.05M."""
    if tokens is None:
        return "?"
    return f"{tokens / 1_000_000:.3g}M" if tokens >= 1_000_000 else f"{tokens // 1000}k"


def _price(price: float | None) -> str:
    return "?" if price is None else "free" if price == 0 else f"{price:g}"


@model.command("test")
def try_out(name: ModelName = None, home: HomeOption = None, config: ConfigOption = None) -> None:
    """Call a model once and show what it says, how fast it is, and what the call cost."""
    settings = read_settings(home, config).settings
    endpoint = endpoint_named(settings, name) if name else provider_of(settings)
    if endpoint is None:
        raise SettingsError(["no model is configured; name one, or run `goat setup`"])
    out, err = consoles()
    run_to_end(_test(settings, endpoint, out, err))


async def _test(settings: Settings, endpoint: ModelEndpoint, out: Console, err: Console) -> None:
    began = perf_counter()
    pieces: list[float] = []
    with err.status(f"asking {endpoint.title} …"):
        reply = await greet_model(endpoint, settings.model, lambda _: pieces.append(perf_counter() - began))
    took = perf_counter() - began
    out.print(" ".join(reply.text.split()), markup=False, highlight=False)
    first = f"first words after {pieces[0]:.1f} s, " if pieces else ""
    out.print(
        f"{endpoint.title}: {first}all after {took:.1f} s · {_used(endpoint, reply)}", style="dim", highlight=False
    )
    for note in reply.notes:
        err.print(f"({note})", style="dim", markup=False, highlight=False)


def _used(endpoint: ModelEndpoint, reply: Reply) -> str:
    usage, price = reply.usage, endpoint.facts.price
    if not usage:
        return "the endpoint does not count tokens"
    cost = usage.cost_usd if usage.cost_usd is not None else price.cost(usage) if price else None
    return f"{tokens(usage)} · {UNKNOWN if cost is None else dollars(cost)}"


@model.command("use")
def use_model(
    name: Annotated[str, typer.Argument(help="`provider/model`, a provider for its first model, or a known model.")],
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Make a model the one that answers; it is written to goat2.toml."""
    loaded = read_settings(home, config)
    endpoint = endpoint_named(loaded.settings, name)
    out, err = consoles()
    for copy in write_answers(_answers(loaded, endpoint), loaded.files):
        out.print(f"The old settings are kept as {copy}.", style="dim", highlight=False)
    out.print(f"{endpoint.title} answers from now on. `goat model test` tries it.", highlight=False)
    for sentence in outranked(_answers(loaded, endpoint), read_settings(home, config)):
        err.print(sentence, style="yellow", markup=False)


def _answers(loaded: Loaded, endpoint: ModelEndpoint) -> Answers:
    """What is written: an address only where it is not the provider's own."""
    own = endpoint.base_url == providers()[endpoint.provider].base_url
    return Answers(endpoint.provider, endpoint.model, "" if own and endpoint.provider != OTHER else endpoint.base_url)


def usage(
    days: Annotated[int, typer.Option("--days", min=1, max=3660, help="How many days back.")] = 30,
    owner: Annotated[str | None, typer.Option("--owner", metavar="NAME", help="Of one owner only.")] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Show what the language models used and cost, by day."""
    loaded = read_settings(home, config)
    run_to_end(_usage(loaded, days, owner, as_json))


async def _usage(loaded: Loaded, days: int, owner: str | None, as_json: bool) -> None:
    out, err = consoles()
    async with open_reading(loaded.settings, loaded.home, notices_to(err)) as app:
        clock = app.backends.clock
        today = clock.now().astimezone(clock.zone()).date()
        rows = await app.backends.usage.days(today - timedelta(days=days - 1), today, owner)
        spent = await app.backends.usage.spent(today)
    limit = loaded.settings.model.daily_limit_usd
    if as_json:
        out.file.write(json.dumps(_document(rows, today, spent, limit), ensure_ascii=False, indent=2) + "\n")
        return
    if not rows:
        out.print("No language model was called in these days.")
        return
    out.print(_table(rows))
    of_limit = f" of {dollars(limit)}" if limit else ""
    out.print(f"today: {dollars(spent)}{of_limit}", highlight=False)
    if any(row.unpriced for row in rows):
        out.print("? calls whose price is not known are not in the sums", style="dim", highlight=False)
    if any(row.estimated for row in rows):
        out.print("~ tokens that the endpoint did not count are estimated", style="dim", highlight=False)


def _table(rows: Sequence[UsageDay]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_footer=True)
    columns: list[tuple[str, str]] = [
        ("day", "all"),
        ("owner", ""),
        ("model", ""),
        ("calls", f"{sum(row.calls for row in rows):,}"),
        ("in", f"{sum(row.prompt_tokens for row in rows):,}"),
        ("cached", f"{sum(row.cached_tokens for row in rows):,}"),
        ("out", f"{sum(row.completion_tokens for row in rows):,}"),
        ("cost", _sum(rows)),
    ]
    for place, (title, foot) in enumerate(columns):
        table.add_column(title, foot, justify="right" if place > 2 else "left", no_wrap=place != 2)
    for row in rows:
        about = "~" if row.estimated else ""
        table.add_row(
            row.day.isoformat(),
            row.owner,
            f"{row.provider}/{row.model}",
            f"{row.calls:,}",
            f"{about}{row.prompt_tokens:,}",
            f"{row.cached_tokens:,}",
            f"{about}{row.completion_tokens:,}",
            _sum([row]),
        )
    return table


def _sum(rows: Sequence[UsageDay]) -> str:
    """The known cost, with a mark where calls of unknown cost are missing; `?` where no cost is known."""
    unpriced, calls = sum(row.unpriced for row in rows), sum(row.calls for row in rows)
    if unpriced == calls:
        return "?"
    return dollars(sum(row.cost_usd for row in rows)) + (" + ?" if unpriced else "")


def _document(rows: Sequence[UsageDay], today: date, spent: float, limit: float) -> dict[str, Any]:
    listed = [
        {**asdict(row), "day": row.day.isoformat(), "cost_usd": None if row.unpriced == row.calls else row.cost_usd}
        for row in rows
    ]
    return {"today": today.isoformat(), "spent_today_usd": spent, "daily_limit_usd": limit or None, "days": listed}
