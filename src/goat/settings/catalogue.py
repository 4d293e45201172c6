"""The list of all settings with the names under which they can be given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from pydantic import BaseModel, SecretStr, TypeAdapter
from pydantic.fields import FieldInfo

from goat.settings.section import Section
from goat.settings.sections import Environment, Settings

AGENT_ROLES = ("PLANNER", "RESEARCHER", "CODER", "CRITIC", "SUMMARIZER", "TOOL_CALLER", "MEMORY")
AGENT_KEYS = ("MODEL", "PROVIDER", "TOOL_CALLING", "TEMPERATURE", "MAX_TOOL_ROUNDS")

NOT_READ_YET = frozenset(f"GOAT_AGENT_{role}_{key}" for role in AGENT_ROLES for key in AGENT_KEYS)
"""Environment names that are reserved: setting one is reported, since nothing reads it."""

PROCESS_NAMES = {
    "GOAT_HOME": "The data folder; `goat2.toml` and `.env` stand in it. Default: `.goat` in your home folder.",
    "GOAT_FAILPOINT": "For tests: the place where the process ends itself.",
}
"""Environment names that are read before or beside the settings."""

SERVERS = "mcp"
"""The one name whose tables are no section: there is a table for each server."""


@dataclass(frozen=True)
class Key:
    """One setting: its section (empty at the top level), its name and its field."""

    section: str
    name: str
    field: FieldInfo

    @property
    def path(self) -> str:
        """The dotted name, such as `aits.budget_base`."""
        return f"{self.section}.{self.name}" if self.section else self.name

    @property
    def label(self) -> str:
        """The name as it stands in `goat2.toml`."""
        return f"[{self.section}] {self.name}" if self.section else self.name

    @property
    def secret(self) -> bool:
        """Whether the value is hidden and refused in `goat2.toml`."""
        return self.field.annotation is SecretStr

    @property
    def environment(self) -> tuple[str, ...]:
        """The environment names, the one that outranks the others first."""
        short = next((data.names for data in self.field.metadata if isinstance(data, Environment)), ())
        if self.secret:
            return short
        generic = f"GOAT_{self.section}__{self.name}" if self.section else f"GOAT_{self.name}"
        return (*short, generic.upper())

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """Validates a single value of this setting."""
        described: Any = Annotated[self.field.annotation, self.field]
        return TypeAdapter(described)


def sections() -> dict[str, type[Section]]:
    """The sections by name, in the order of the documentation."""
    return {
        name: field.annotation
        for name, field in Settings.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
    }


def _fields(model: type[BaseModel], section: str) -> Iterator[Key]:
    for name, field in model.model_fields.items():
        if section or name not in {*sections(), SERVERS}:
            yield Key(section, name, field)


def catalogue() -> dict[str, Key]:
    """All settings by their dotted name."""
    keys = list(_fields(Settings, ""))
    for name, model in sections().items():
        keys.extend(_fields(model, name))
    return {key.path: key for key in keys}
