"""The table of model providers, read from `providers.toml` beside this module."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from goat.records.usage import Usage

OFFLINE = "offline"
"""The provider name that asks for no model at all."""

OTHER = "other"
"""The provider name for an endpoint that the table does not know."""

GGUF = "gguf"
"""The provider name for a model file on this machine."""

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens. Where `cached` is not known, cached input is counted like other input."""

    input: float
    output: float
    cached: float | None = None

    def cost(self, usage: Usage) -> float:
        """What the tokens cost in USD."""
        cached = self.input if self.cached is None else self.cached
        fresh = max(usage.prompt_tokens - usage.cached_tokens, 0)
        paid = fresh * self.input + usage.cached_tokens * cached + usage.completion_tokens * self.output
        return paid / MILLION


FREE = Price(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model: the tokens of prompt and answer together, and its price."""

    context_tokens: int | None = None
    price: Price | None = None


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
    free: bool = False
    request: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, ModelFacts] = field(default_factory=dict)

    @property
    def needs_key(self) -> bool:
        """Whether the provider's own endpoint refuses calls without a key."""
        return bool(self.env_key) and self.id != OTHER

    def knows(self, model: str) -> ModelFacts:
        """What is known of one of its models; nothing of a model outside the table, except that it is free."""
        known = self.facts.get(model, ModelFacts())
        return ModelFacts(known.context_tokens, FREE) if self.free else known


@cache
def providers() -> Mapping[str, Provider]:
    """All rows by id, in the order of the table."""
    table = tomllib.loads(files("goat.settings").joinpath("providers.toml").read_text(encoding="utf-8"))
    return {row["id"]: _provider(row) for row in table["providers"]}


def _provider(row: Mapping[str, Any]) -> Provider:
    facts = {model: _facts(known) for model, known in row.get("facts", {}).items()}
    return Provider(**{**row, "models": tuple(row["models"]), "facts": facts})


def _facts(row: Mapping[str, Any]) -> ModelFacts:
    return ModelFacts(row.get("context_tokens"), Price(**row["price"]) if "price" in row else None)


def provider_at(base_url: str) -> Provider:
    """The provider whose own endpoint has the host and port of this URL, `other` when there is none."""
    place = urlsplit(base_url).netloc.lower()
    for row in providers().values():
        if row.base_url and urlsplit(row.base_url).netloc == place:
            return row
    return providers()[OTHER]
