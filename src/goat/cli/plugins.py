"""`goat plugins`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from goat.app import mcp_sources
from goat.cli import exits
from goat.cli.running import run_to_end
from goat.cli.session import ConfigOption, HomeOption, JsonOption, consoles, read_settings
from goat.errors import SettingsError, nearest
from goat.plugins.door import ServerStatus, Survey, plugin_folders, survey
from goat.records.tools import SourceState
from goat.settings import Loaded
from goat.tools.redact import Redactor

AcceptOption = Annotated[
    str, typer.Option("--accept", metavar="SERVER", help="Use the tools of this MCP server as they are now.")
]


def plugins(
    as_json: JsonOption = False, accept: AcceptOption = "", home: HomeOption = None, config: ConfigOption = None
) -> None:
    """Show the tools that plugins and MCP servers bring, and why one does not load."""
    loaded = read_settings(home, config)
    servers = loaded.settings.mcp
    if accept and accept not in servers:
        raise SettingsError([f"there is no table [mcp.{accept}]{nearest(accept, list(servers))}"])
    found = run_to_end(_surveyed(loaded, accept))
    out, err = consoles()
    if as_json:
        out.file.write(json.dumps(_document(found), ensure_ascii=False, indent=2) + "\n")
        return
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for tool in found.bundled:
        table.add_row("[dim]bundled[/dim]", tool.name, f"[dim]{_asked(tool.permission)}[/dim]")
    for plugin in found.own:
        told = f"[red]{escape(plugin.error)}[/red]" if plugin.error else ""
        table.add_row(escape(plugin.name), escape(", ".join(plugin.tools)) or "[dim]no tools[/dim]", told)
    for refused in found.refused:
        table.add_row(escape(refused.source), escape(refused.tool), f"[red]left out: {escape(refused.reason)}[/red]")
    for server in found.servers:
        for row in _server_rows(server):
            table.add_row(*row)
    out.print(table)
    folders = ", ".join(str(folder) for folder in plugin_folders(loaded.settings, loaded.home))
    out.print(f"\nYour own go into {folders}", style="dim", highlight=False, soft_wrap=True)
    unready = [one.name for one in found.servers if one.state is not SourceState.READY]
    if accept in unready:
        err.print(f"The tools of {accept} were not taken: it is not ready.", style="red", highlight=False)
        raise typer.Exit(exits.FAILED)


async def _surveyed(loaded: Loaded, accept: str) -> Survey:
    async with mcp_sources(loaded.settings.mcp, Redactor(loaded.settings.secrets()), lambda _: None) as sources:
        return await survey(loaded.settings, loaded.home, sources, accept)


def _server_rows(server: ServerStatus) -> Iterator[tuple[str, str, str]]:
    """The rows of a server: its tools, then those that are held back, then those left out, with the reasons."""
    name = f"[dim]mcp[/dim] {escape(server.name)}"
    names = ", ".join(tool.name for tool in server.look.tools)
    trouble = f"[red]{escape(server.trouble)}[/red]" if server.trouble else ""
    yield name, escape(names) or "[dim]no tools[/dim]", trouble
    for held in server.look.held:
        yield "", escape(held.tool), f"[yellow]held back: {escape(held.reason)}[/yellow]"
    if server.look.held:
        yield "", "", f"[yellow]take them with: goat plugins --accept {server.name}[/yellow]"
    reasons: dict[str, list[str]] = {}
    for out in server.look.left_out:
        reasons.setdefault(out.reason, []).append(out.tool)
    for reason, tools in reasons.items():
        shown = tools[0] if len(tools) == 1 else f"{len(tools)} tools"
        yield "", escape(shown), f"[red]left out: {escape(reason)}[/red]"


def _asked(permission: str) -> str:
    return {"ask": "asked about at every call", "ask_once": "asked about once"}.get(permission, "")


def _document(found: Survey) -> dict[str, object]:
    return {
        "bundled": [{"tool": tool.name, "permission": tool.permission} for tool in found.bundled],
        "plugins": [
            {"name": one.name, "path": str(one.path), "tools": list(one.tools), "error": one.error} for one in found.own
        ],
        "refused": [{"tool": one.tool, "source": one.source, "reason": one.reason} for one in found.refused],
        "servers": [
            {
                "name": one.name,
                "state": one.state,
                "trouble": one.trouble,
                "tools": [{"tool": tool.name, "permission": tool.permission} for tool in one.look.tools],
                "held": [{"tool": held.tool, "reason": held.reason} for held in one.look.held],
                "left_out": [{"tool": out.tool, "reason": out.reason} for out in one.look.left_out],
            }
            for one in found.servers
        ],
    }
