"""An MCP server of the protocol before subscriptions, written out by hand: it begins at once and needs no library.

Its first argument says how it behaves, its second names a file to which it adds a line at each start.
"""

from __future__ import annotations

import json
import os
import sys
import time
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

BEHAVIOUR = sys.argv[1]
SCHEMA = {"type": "object", "properties": {}}
NAMES = ("die", "leak", "mix", "never", "up")
TOOLS = [{"name": name, "description": f"Does {name}{BEHAVIOUR}.", "inputSchema": SCHEMA} for name in NAMES]


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def listed(cursor: str | None) -> dict[str, Any]:
    """One page of the tools; there are always two."""
    if cursor is None:
        return {"tools": TOOLS[:2], "nextCursor": "rest"}
    return {"tools": TOOLS[2:]}


def called(name: str) -> dict[str, Any]:
    if name == "die":
        sys.stderr.write(f"Segmentation fault with {os.environ.get('TOKEN')}\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "up":
        TOOLS.append({"name": "upper", "description": "Came later.", "inputSchema": SCHEMA})
        send({"method": "notifications/tools/list_changed"})
        send({"method": "notifications/message", "params": {"level": "info", "data": "hello"}})
    if name == "leak":
        token = os.environ.get("TOKEN", "")
        texts = [token, quote(token, safe=""), b64encode(f"ana:{token}".encode()).decode(), json.dumps({"t": token})]
        return {"content": [{"type": "text", "text": text} for text in texts], "isError": True}
    parts = [
        {"type": "text", "text": "one"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource_link", "name": "notes", "uri": "file:///notes.txt"},
        {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "two"}},
        {"type": "resource", "resource": {"uri": "file:///b.bin", "blob": "AAAA"}},
    ]
    return {"content": parts if name == "mix" else []}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request, None for one that is never answered."""
    if method == "initialize":
        about = {"name": "old", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}}, "serverInfo": about}
    if method == "tools/list":
        return listed(params.get("cursor"))
    if method == "tools/call" and params["name"] != "never":
        return called(params["name"])
    return None


def main() -> None:
    with Path(sys.argv[2]).open("a") as starts:
        starts.write(f"{os.getpid()}\n")
    if BEHAVIOUR == "hangs":
        time.sleep(600)
    if BEHAVIOUR == "crashes":
        sys.exit(f"cannot open the database {os.environ.get('TOKEN')}")
    if BEHAVIOUR == "garbage":
        sys.stdout.buffer.write(b'\xff\xfe no JSON \x00\n[1, 2, 3]\n{"jsonrpc": "2.0", "id": "of nobody"}\n')
        sys.stdout.flush()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        if request["method"] == "server/discover":
            send({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})
        elif (result := answer(request["method"], request.get("params") or {})) is not None:
            send({"id": request["id"], "result": result})


main()
