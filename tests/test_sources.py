"""docs/sources.md is true: what it calls here is there, what it calls later is not there yet."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main

from goat.cli.main import app
from goat.settings.catalogue import PROCESS_NAMES, catalogue

ROOT = Path(__file__).parent.parent
KEYS = catalogue().values()
LABELS = {key.label for key in KEYS}
ENVIRONMENT = {name for key in KEYS for name in key.environment} | set(PROCESS_NAMES)
COMMANDS = set(getattr(typer.main.get_command(app), "commands", {}))


class Row(NamedTuple):
    name: str
    state: str
    place: str

    @property
    def places(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.place)


def rows() -> list[Row]:
    lines = (ROOT / "docs/sources.md").read_text("utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    return [Row(*cell) for cell in cells if cell[0] not in ("name", "---")]


def exists(place: str) -> bool:
    """Whether a place is a setting, an environment name, a command, an attribute, a module or a path of the project."""
    if place in LABELS or place in ENVIRONMENT:
        return True
    if place.startswith("goat "):
        return place.removeprefix("goat ") in COMMANDS
    if place.startswith("goat."):
        return in_package(place)
    return (ROOT / place).exists()


def in_package(place: str) -> bool:
    """Whether `module:attribute.attribute` can be imported; a dataclass field counts by its annotation."""
    module, _, path = place.partition(":")
    try:
        found: object = importlib.import_module(module)
    except ModuleNotFoundError:
        return False
    for name in path.split(".") if path else []:
        if name in getattr(found, "__annotations__", {}):
            return True
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True


def test_every_row_has_a_state_and_each_name_stands_once() -> None:
    table = rows()
    assert len(table) > 130
    assert {row.state for row in table} == {"here", "later", "not"}
    named = Counter(name for row in table for name in (re.findall(r"`([^`]+)`", row.name) or [row.name]))
    repeated = {"ttl_seconds", "model", "promote_memory"}
    assert {name for name, times in named.items() if times > 1 and name not in repeated} == set()


@pytest.mark.parametrize("row", [row for row in rows() if row.state == "here"], ids=lambda row: row.name)
def test_what_is_here_is_there(row: Row) -> None:
    assert row.places
    assert [place for place in row.places if not exists(place)] == []


def test_what_comes_later_is_named_and_not_there_yet() -> None:
    later = [row for row in rows() if row.state == "later"]
    assert [row.name for row in later if not row.places] == []
    assert [place for row in later for place in row.places if exists(place)] == [], "these rows are here now"


def test_what_is_left_out_has_a_reason() -> None:
    for row in rows():
        if row.state == "not":
            assert row.place.endswith("."), row.name
            assert len(row.place.split()) > 4, row.name
