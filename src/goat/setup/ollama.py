"""Whether a local Ollama runs, and with which models."""

from __future__ import annotations

import asyncio
from typing import Any

DEFAULT_URL = "http://127.0.0.1:11434"
PATIENCE_SECONDS = 0.3


async def find_ollama(base_url: str = DEFAULT_URL) -> list[str]:
    """The names of the chat models that an Ollama at this address holds, the latest first.

    Empty when nobody answers within 0.3 seconds, or not as Ollama does; nothing is raised.
    """
    import httpx2

    try:
        async with asyncio.timeout(PATIENCE_SECONDS), httpx2.AsyncClient(trust_env=False) as client:
            response = await client.get(f"{base_url}/api/tags")
        return _chat_models(response.json())
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError):
        return []


def _chat_models(tags: Any) -> list[str]:
    models = tags.get("models") if isinstance(tags, dict) else None
    rows = [row for row in models if isinstance(row, dict)] if isinstance(models, list) else []
    names = [row["name"] for row in rows if isinstance(row.get("name"), str)]
    return [name for name in names if "embed" not in name]
