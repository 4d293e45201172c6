"""The table of model providers, read from `providers.toml` beside this module."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

OFFLINE = "offline"
"""The provider name that asks for no model at all."""

OTHER = "other"
"""The provider name for an endpoint that the table does not know."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A row of the table. `models` has the default first; `env_key` is empty where no key is needed."""

    id: str
    name: str
    models: tuple[str, ...]
    env_key: str
    base_url: str
    docs: str
    notes: str
    recommended: bool = False
    request: Mapping[str, Any] = field(default_factory=dict)

    @property
    def needs_key(self) -> bool:
        """Whether the provider's own endpoint refuses calls without a key."""
        return bool(self.env_key) and self.id != OTHER


@cache
def providers() -> Mapping[str, Provider]:
    """All rows by id, in the order of the table."""
    table = tomllib.loads(files("goat.settings").joinpath("providers.toml").read_text(encoding="utf-8"))
    rows = (Provider(**{**row, "models": tuple(row["models"])}) for row in table["providers"])
    return {row.id: row for row in rows}


def provider_at(base_url: str) -> Provider:
    """The provider whose own endpoint has the host and port of this URL, `other` when there is none."""
    place = urlsplit(base_url).netloc.lower()
    for row in providers().values():
        if row.base_url and urlsplit(row.base_url).netloc == place:
            return row
    return providers()[OTHER]
