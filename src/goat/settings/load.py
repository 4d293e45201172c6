"""From arguments, environment, `.env` and `goat2.toml` to one `Settings`, with every fault reported at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from goat.errors import SettingsError, nearest
from goat.records.turns import Notice
from goat.settings.catalogue import NOT_READ_YET, PROCESS_NAMES, SERVERS, Key, catalogue, sections
from goat.settings.files import Files, find, home_of, read_env, read_toml
from goat.settings.mcp_tables import read_servers
from goat.settings.section_mcp import McpServer
from goat.settings.sections import Settings


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, the data folder, and where they came from.

    `notices` are for a person; `sources` maps the dotted name of each setting that is not a default to its origin;
    `files` are those that were read, or would be.
    """

    settings: Settings
    home: Path
    files: Files
    notices: tuple[Notice, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Gathered:
    """What was given so far, by dotted name; a later value replaces an earlier one."""

    keys: Mapping[str, Key]
    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    servers: dict[str, McpServer] = field(default_factory=dict)

    def take(self, key: Key, value: object, place: str, name: str = "") -> None:
        """Note a value from a place, which had it under a name of its own."""
        self.values[key.path] = value
        self.places[key.path] = place
        self.sources[key.path] = f"{name} in {place}" if name else place
        self.labels[key.path] = f"{name} ({key.label})" if name else key.label

    def take_text(self, key: Key, text: str, place: str, name: str = "") -> None:
        """Note a value that comes as text, read as the setting's type."""
        try:
            value = key.adapter.validate_strings(text)
        except ValidationError as wrong:
            label = f"{name} ({key.label})" if name else key.label
            for error in wrong.errors():
                self.fault(f"{label}: {_sentence(error, key.secret)}", place)
        else:
            self.take(key, value, place, name)

    def fault(self, sentence: str, place: str) -> None:
        """Note what cannot be used, and where it stands."""
        self.faults.setdefault(sentence, place)

    def notice(self, text: str) -> None:
        """Note what a person should know."""
        self.notices.append(Notice("settings", text))


def load(
    arguments: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str],
    cwd: Path,
    config: Path | None = None,
    skip_toml: bool = False,
) -> Loaded:
    """Read all sources: `arguments` over `environ` over `.env` over `goat2.toml` over the defaults.

    `arguments` maps dotted names (`model.name`), and `home`, to values; None means not given. An empty environment
    variable counts as not set. With `skip_toml` the TOML file is passed over, so that setup can replace a broken one.

    Raises one `SettingsError` with every fault of every source.
    """
    arguments = {name: value for name, value in (arguments or {}).items() if value is not None}
    home = home_of(arguments.pop("home", None), environ, cwd)
    files, notices = find(home, cwd, config)
    gathered = _Gathered(catalogue(), notices=notices)
    tables = {} if skip_toml else read_toml(files.toml)
    assignments, unreadable = read_env(files.env)
    gathered.notices.extend(unreadable)
    asked = _take_servers(gathered, tables.pop(SERVERS, {}), environ, assignments, files.toml)
    _take_toml(gathered, tables, files.toml)
    _take_environment(gathered, assignments, str(files.env))
    _report_unknown(gathered, assignments.keys() - asked, str(files.env), prefix="")
    _take_environment(gathered, environ, "the environment")
    _report_unknown(gathered, environ.keys() - asked, "the environment", prefix="GOAT_")
    _take_arguments(gathered, arguments)
    return Loaded(_validated(gathered), home, files, tuple(gathered.notices), gathered.sources)


def _take_servers(
    gathered: _Gathered, tables: object, environ: Mapping[str, str], assignments: Mapping[str, str], path: Path
) -> set[str]:
    """Take the MCP servers; the names of the environment that they ask for."""
    found = read_servers(tables, environ, assignments)
    gathered.servers = found.servers
    for sentence in found.faults:
        gathered.fault(sentence, str(path))
    return found.asked


def _take_toml(gathered: _Gathered, tables: Mapping[str, Any], path: Path) -> None:
    known = sections()
    for name, value in tables.items():
        if name not in known:
            _take_toml_value(gathered, "", name, value, path)
        elif isinstance(value, Mapping):
            for inner, one in value.items():
                _take_toml_value(gathered, name, inner, one, path)
        else:
            gathered.fault(f"{name}: must be a table, written [{name}]", str(path))


def _take_toml_value(gathered: _Gathered, section: str, name: str, value: object, path: Path) -> None:
    key = gathered.keys.get(f"{section}.{name}" if section else name)
    if key is None:
        gathered.fault(_unknown(gathered.keys, section, name), str(path))
    elif key.secret:
        gathered.fault(f"{key.label}: a secret does not belong here; put {key.environment[0]} into .env", str(path))
    else:
        gathered.take(key, value, str(path))


def _unknown(keys: Mapping[str, Key], section: str, name: str) -> str:
    label = f"[{section}] {name}" if section else name
    elsewhere = [key.label for key in keys.values() if key.name == name and not key.secret]
    if elsewhere:
        return f"{label}: unknown here; it belongs into {elsewhere[0]}"
    beside = [key.name for key in keys.values() if key.section == section]
    return f"{label}: unknown{nearest(name, beside if section else [*beside, *sections()])}"


def _take_environment(gathered: _Gathered, environ: Mapping[str, str], place: str) -> None:
    for key in gathered.keys.values():
        given = [name for name in key.environment if environ.get(name)]
        if not given:
            continue
        first, *others = given
        gathered.take_text(key, environ[first], place, first)
        for other in others:
            gathered.notice(f"{first} and {other} are both set in {place}; {first} counts.")


def _report_unknown(gathered: _Gathered, names: Iterable[str], place: str, prefix: str) -> None:
    known = {name for key in gathered.keys.values() for name in key.environment} | set(PROCESS_NAMES)
    for name in sorted(names):
        if name in NOT_READ_YET:
            gathered.notice(f"{name} in {place} is reserved, but nothing reads it yet.")
        elif name in PROCESS_NAMES and not prefix:
            gathered.notice(f"{name} in {place} has no effect; it counts in the environment only.")
        elif name not in known and name.startswith(prefix):
            gathered.notice(f"{name} in {place} is not a name that GOAT reads{nearest(name, sorted(known)) or '.'}")


def _take_arguments(gathered: _Gathered, arguments: Mapping[str, object]) -> None:
    place = "the command line"
    for path, value in arguments.items():
        key = gathered.keys.get(path)
        if key is None:
            gathered.fault(f"{path}: unknown{nearest(path, list(gathered.keys))}", place)
        elif isinstance(value, str):
            gathered.take_text(key, value, place)
        else:
            gathered.take(key, value, place)


def _validated(gathered: _Gathered) -> Settings:
    tree: dict[str, Any] = {SERVERS: gathered.servers}
    for path, value in gathered.values.items():
        section, _, name = path.rpartition(".")
        (tree.setdefault(section, {}) if section else tree)[name] = value
    settings: Settings | None = None
    try:
        settings = Settings.model_validate(tree, strict=True)
    except ValidationError as wrong:
        for error in wrong.errors():
            _take_error(gathered, error)
    if settings is None or gathered.faults:
        raise SettingsError(list(gathered.faults), " and ".join(dict.fromkeys(gathered.faults.values())))
    return settings


def _take_error(gathered: _Gathered, error: Mapping[str, Any]) -> None:
    path = ".".join(str(part) for part in error["loc"][:2])
    key = gathered.keys.get(path)
    if key is not None:
        gathered.fault(f"{gathered.labels[path]}: {_sentence(error, key.secret)}", gathered.places[path])
        return
    given = [place for name, place in gathered.places.items() if name.startswith(f"{path}.")]
    for contradiction in error["msg"].removeprefix("Value error, ").splitlines():
        gathered.fault(f"[{path}] {contradiction}", " and ".join(dict.fromkeys(given)))


def _sentence(error: Mapping[str, Any], secret: bool) -> str:
    text = re.sub(r"^(Input|String) should", "must", error["msg"].removeprefix("Value error, "))
    text = text.partition(", unable to parse")[0]
    if secret:
        return text
    return f"{error['input']!r} {text}" if error["type"] == "value_error" else f"{text}, not {error['input']!r}"
