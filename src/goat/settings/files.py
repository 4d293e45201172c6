"""Where `goat2.toml` and `.env` stand, and what is in them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from dotenv.parser import parse_stream

from goat.errors import SettingsError
from goat.records.turns import Notice

TOML_NAME = "goat2.toml"
ENV_NAME = ".env"
BACKUP_SUFFIX = ".backup"


@dataclass(frozen=True, slots=True)
class Files:
    """The two files that the settings are read from and written to; either may be missing."""

    toml: Path
    env: Path


def home_of(given: object, environ: Mapping[str, str], cwd: Path) -> Path:
    """The data folder: as given, else `GOAT_HOME`, else `.goat` in the person's home folder. Always absolute."""
    named = str(given or environ.get("GOAT_HOME") or "")
    own = environ.get("HOME") or environ.get("USERPROFILE")
    if named == "~" or named.startswith(("~/", "~\\")):
        return Path(own or Path.home()) / named[2:]
    return (cwd / named).absolute() if named else Path(own or Path.home()) / ".goat"


def is_checkout(folder: Path) -> bool:
    """Whether the folder holds GOAT's own source: a `pyproject.toml` that names the project `goat2`."""
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False
    return bool(project.get("project", {}).get("name") == "goat2")


def find(home: Path, cwd: Path, config: Path | None) -> tuple[Files, list[Notice]]:
    """Choose the files. A folder that is neither the home nor the checkout counts only when `config` lies in it.

    Raises `SettingsError` when `config` does not exist.
    """
    if config is not None:
        config = (cwd / config).absolute()
        if not config.is_file():
            raise SettingsError(["the file does not exist; check the path given with --config"], str(config))
        beside = config.parent / ENV_NAME
        return Files(config, beside if beside.is_file() else home / ENV_NAME), []
    folders = [cwd, home] if is_checkout(cwd) else [home]
    chosen: dict[str, Path] = {}
    notices: list[Notice] = []
    for name in (TOML_NAME, ENV_NAME):
        standing = [path for folder in folders if (path := folder / name).is_file()]
        chosen[name] = standing[0] if standing else home / name
        notices.extend(
            Notice("settings", f"{passed} is not read, because {standing[0]} comes first.")
            for passed in standing[1:]
            if passed.resolve() != standing[0].resolve()
        )
    return Files(chosen[TOML_NAME], chosen[ENV_NAME]), notices


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as broken:
        raise SettingsError([f"it is not UTF-8 text ({broken}); save it as UTF-8"], str(path)) from broken
    except OSError as closed:
        raise SettingsError([f"it cannot be read ({closed.strerror}); check its permissions"], str(path)) from closed


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of `goat2.toml`, empty when there is no such file.

    Raises `SettingsError` naming the line when it is not TOML.
    """
    if not path.exists():
        return {}
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as broken:
        backup = path.with_name(path.name + BACKUP_SUFFIX)
        remedy = "correct it there"
        if backup.exists():
            remedy += f", or go back to the copy that setup kept: cp '{backup}' '{path}'"
        raise SettingsError([f"{broken}; {remedy}, or run `goat setup --reconfigure`"], str(path)) from broken


def read_env(path: Path) -> tuple[dict[str, str], list[Notice]]:
    """The assignments of a `.env` file, values verbatim (no `$NAME` is expanded), and notices on unreadable lines.

    Empty when there is no such file. Raises `SettingsError` when it cannot be read.
    """
    if not path.exists():
        return {}, []
    values: dict[str, str] = {}
    notices: list[Notice] = []
    for binding in parse_stream(StringIO(_text(path))):
        if binding.error:
            line = binding.original.line
            notices.append(Notice("settings", f"Line {line} of {path} is not NAME=value and was passed over."))
        elif binding.key and binding.value is not None:
            values[binding.key] = binding.value
    return values, notices
