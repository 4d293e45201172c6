"""`goat plugins`."""

from __future__ import annotations

import json

from rich.markup import escape
from rich.table import Table

from goat.cli.running import run_to_end
from goat.cli.session import ConfigOption, HomeOption, JsonOption, consoles, read_settings
from goat.plugins.door import Survey, plugin_folders, survey


def plugins(as_json: JsonOption = False, home: HomeOption = None, config: ConfigOption = None) -> None:
    """Show the tools that plugins bring, and why one does not load."""
    loaded = read_settings(home, config)
    found = run_to_end(survey(loaded.settings, loaded.home))
    out, _ = consoles()
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
    out.print(table)
    folders = ", ".join(str(folder) for folder in plugin_folders(loaded.settings, loaded.home))
    out.print(f"\nYour own go into {folders}", style="dim", highlight=False, soft_wrap=True)


def _asked(permission: str) -> str:
    return {"ask": "asked about at every call", "ask_once": "asked about once"}.get(permission, "")


def _document(found: Survey) -> dict[str, object]:
    return {
        "bundled": [{"tool": tool.name, "permission": tool.permission} for tool in found.bundled],
        "plugins": [
            {"name": one.name, "path": str(one.path), "tools": list(one.tools), "error": one.error} for one in found.own
        ],
        "refused": [{"tool": one.tool, "source": one.source, "reason": one.reason} for one in found.refused],
    }
