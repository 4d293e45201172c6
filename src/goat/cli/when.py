"""`goat when`."""

from __future__ import annotations

import json
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from goat.app import system_clock
from goat.cli.session import ConfigOption, HomeOption, JsonOption, consoles, read_moment, read_settings
from goat.errors import MessageRefused
from goat.retrieval.when import find_windows


def when(
    text: Annotated[str, typer.Argument(help="The text to read.")],
    at: Annotated[str, typer.Option("--at", help="When it was written, ISO 8601; now by default.")] = "",
    zone: Annotated[str, typer.Option("--zone", help="The IANA zone; the configured one by default.")] = "",
    future: Annotated[bool, typer.Option("--future", help="Prefer the future, as for reminders.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Show which times a text names, as memory understands them."""
    out, _ = consoles()
    clock = system_clock(read_settings(home, config).settings)
    place = _zone(zone) if zone else clock.zone()
    moment = read_moment(at) if at else clock.now()
    written = moment if moment.tzinfo else moment.replace(tzinfo=place)
    windows = find_windows(text, written, place, prefer="future" if future else "past")
    if as_json:
        rows = [
            {"after": w.after.isoformat(), "before": w.before.isoformat(), "text": w.text, "kind": w.kind}
            for w in windows
        ]
        out.file.write(json.dumps({"windows": rows}, ensure_ascii=False) + "\n")
        return
    if not windows:
        out.print("No time is named.")
    other = [] if future else find_windows(text, written, place, prefer="future")
    for window in windows:
        sure = "" if window.explicit else "  (a hint only)"
        shown = f"{window.after:%a %Y-%m-%d %H:%M} – {window.before:%a %Y-%m-%d %H:%M}"
        out.print(f"{window.text}: {window.kind}, {shown}{sure}", markup=False, highlight=False)
    for ahead in other if other != windows else []:
        shown = f"{ahead.after:%a %Y-%m-%d %H:%M} – {ahead.before:%a %Y-%m-%d %H:%M}"
        out.print(f"With --future {ahead.text!r} is {shown}.", style="dim", markup=False, highlight=False)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as unknown:
        raise MessageRefused(f"{name!r} is not an IANA zone. Write one such as Europe/Bucharest.") from unknown
