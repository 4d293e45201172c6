"""`goat check`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from goat.app import App, open_app
from goat.cli import exits
from goat.cli.running import run_to_end
from goat.cli.session import ConfigOption, HomeOption, JsonOption, consoles, notices_to, read_settings
from goat.records.check import Fault


def check(
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Compare every index and counter with the journal. Ends with code 1 when something is left that is wrong."""
    loaded = read_settings(home, config)
    out, err = consoles()

    async def work() -> tuple[list[Fault], list[Fault]]:
        async with open_app(loaded.settings, loaded.home, notices_to(err), embed=False, act=False) as app:
            return await _checked(app, fix)

    found, left = run_to_end(work())
    if as_json:
        document = {"found": list(map(asdict, found)), "left": list(map(asdict, left))}
        out.file.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        for line in _told(found, left, fix):
            out.print(line, markup=False, highlight=False, soft_wrap=True)
    if left:
        raise typer.Exit(exits.FAILED)


async def _checked(app: App, fix: bool) -> tuple[list[Fault], list[Fault]]:
    found = await app.check.faults()
    if not (found and fix):
        return found, found
    await app.check.mend(found)
    return found, await app.check.faults()


def _told(found: list[Fault], left: list[Fault], fix: bool) -> list[str]:
    if not found:
        return ["Everything is as it must be: the indexes hold what the journal holds."]
    lines = [f"{fault.where}: {fault.what} ({fault.count:,})" for fault in found]
    lines += [f"What to do about {fault.where}: {fault.remedy}." for fault in left if fault.remedy]
    if fix:
        return [*lines, f"Mended; {len(left)} left." if left else "All of it is mended."]
    return [*lines, "`goat check --fix` mends what can be mended."]
