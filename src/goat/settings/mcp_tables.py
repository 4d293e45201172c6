"""Reads the tables `[mcp.NAME]` of `goat2.toml`, whose keys come once for each server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr, ValidationError

from goat.errors import nearest
from goat.settings.section_mcp import PLACEHOLDER, McpServer, written_names

SERVER_NAME = re.compile(r"[a-z][a-z0-9_]{0,19}")
PRIVATE = re.compile(
    r"(?:^|[_-])(?:(?:api)?keys?|tokens?|secrets?|pass(?:word|wd)?|authorization|cookie|credentials?|pat)(?:$|[_-])",
    re.IGNORECASE,
)
"""Names of variables and headers whose values are nobody else's business."""

KEYS = tuple(name for name, one in McpServer.model_fields.items() if one.description)


@dataclass
class McpTables:
    """What was found: the servers, what is wrong, and which names of the environment they ask for."""

    servers: dict[str, McpServer] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)


def read_servers(tables: object, environ: Mapping[str, str], assignments: Mapping[str, str]) -> McpTables:
    """The servers of the settings; placeholders are filled from `environ`, then from the assignments of `.env`."""
    found = McpTables()
    if not isinstance(tables, Mapping):
        found.faults.append("mcp: must hold a table for each server, written [mcp.NAME]")
        return found
    for name, table in tables.items():
        server = _server(found, name, table)
        if server is not None:
            found.servers[name] = _with_variables(found, name, server, environ, assignments)
    return found


def _server(found: McpTables, name: str, table: object) -> McpServer | None:
    label = f"[mcp.{name}]"
    if not SERVER_NAME.fullmatch(name):
        found.faults.append(f"{label}: a server's name has up to 20 small letters, digits and _; it begins its tools")
        return None
    if not isinstance(table, Mapping):
        found.faults.append(f"mcp.{name}: must be a table, written {label}")
        return None
    unknown = [f"{label} {key}: unknown{nearest(key, KEYS)}" for key in table if key not in KEYS]
    open_secrets = [
        f'{label} {key} {inner}: a secret does not belong here; put it into .env and write "$NAME" in its place'
        for key in ("env", "headers")
        for inner, value in (table[key].items() if isinstance(table.get(key), Mapping) else ())
        if PRIVATE.search(inner) and isinstance(value, str) and value and not PLACEHOLDER.search(value)
    ]
    found.faults += [*unknown, *open_secrets]
    if unknown or open_secrets:
        return None
    try:
        return McpServer.model_validate(dict(table), strict=True)
    except ValidationError as wrong:
        found.faults += [_sentence(label, error) for error in wrong.errors(include_input=False, include_url=False)]
        return None


def _with_variables(
    found: McpTables, name: str, server: McpServer, environ: Mapping[str, str], assignments: Mapping[str, str]
) -> McpServer:
    """The server with the values that its placeholders ask for; what stands in `.env` is taken for a secret."""
    variables: dict[str, str | SecretStr] = {}
    for one in dict.fromkeys(written_names(server)):
        found.asked.add(one)
        if value := environ.get(one):
            variables[one] = SecretStr(value) if PRIVATE.search(one) else value
        elif value := assignments.get(one):
            variables[one] = SecretStr(value)
        elif server.enabled:
            found.faults.append(f"[mcp.{name}]: ${one} has no value; put {one}=… into .env or the environment")
    return server.model_copy(update={"variables": variables})


def _sentence(label: str, error: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in error["loc"])
    told = re.sub(r"^(Input|String) should", "must", error["msg"].removeprefix("Value error, "))
    return f"{label} {place}: {told}" if place else "\n".join(f"{label} {line}" for line in told.splitlines())
