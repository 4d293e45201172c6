"""Write the answers of setup to `goat2.toml` and `.env`: atomically, with a copy of what stood there before."""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from io import StringIO
from pathlib import Path
from typing import Any

import tomli_w
from dotenv.parser import parse_stream

from goat.errors import HomeError
from goat.settings import Files
from goat.settings.catalogue import catalogue
from goat.settings.files import BACKUP_SUFFIX
from goat.setup.answers import Answers

BROKEN_SUFFIX = ".broken"
PLAIN = re.compile(r"[A-Za-z0-9_.:/+=@%,~-]+")
HEADER = (
    "# Written by `goat setup`. Every key is explained in docs/configuration.md; keys and tokens stand in .env.\n\n"
)


def write_answers(answers: Answers, files: Files, *, fresh: bool = False) -> list[Path]:
    """Write both files, readable by their owner only, and return the copies that were kept of the old ones.

    Other keys of `goat2.toml` and other lines of `.env` stay, unless `fresh` asks for a `goat2.toml` without them. An
    old `goat2.toml` that is no TOML is kept as `goat2.toml.broken` and does not replace a good backup. `.env` is
    written first, so that a crash between the two leaves the old choice with all its keys.

    Raises `HomeError` when a file cannot be written.
    """
    try:
        files.toml.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        old_env, old_toml = _read(files.env), _read(files.toml)
        tables = _tables(old_toml)
        new_env = _new_env(old_env.decode("utf-8-sig"), answers)
        new_toml = _new_toml({} if fresh else tables or {}, answers)
        kept = [
            _replace(files.env, old_env, new_env, BACKUP_SUFFIX),
            _replace(files.toml, old_toml, new_toml, BROKEN_SUFFIX if tables is None else BACKUP_SUFFIX),
        ]
    except (OSError, UnicodeDecodeError) as refused:
        raise HomeError(
            files.toml.parent, f"setup cannot write its files ({refused})", "Check the permissions and the disk."
        ) from refused
    return [copy for copy in kept if copy is not None]


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _tables(old: bytes) -> dict[str, Any] | None:
    """The old tables, None when they cannot be read."""
    try:
        return tomllib.loads(old.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None


def _new_toml(tables: dict[str, Any], answers: Answers) -> str:
    old = tables.get("model")
    model = dict(old) if isinstance(old, dict) else {}
    model["provider"] = answers.provider
    for key, value in (("name", answers.model), ("base_url", answers.base_url)):
        model.pop(key, None)
        if value:
            model[key] = value
    return HEADER + tomli_w.dumps({**tables, "model": model})


def _new_env(old: str, answers: Answers) -> str:
    """The old text without the names that would outrank the new answers, and with the new key."""
    if not answers.provider:
        return old
    keys = catalogue()
    replaced = {name for path in ("model.provider", "model.name", "model.base_url") for name in keys[path].environment}
    addition = ""
    secret = answers.key.get_secret_value()
    if secret:
        names = keys[f"keys.{answers.provider}"].environment
        replaced.update(names)
        addition = f"{names[0]}={_quoted(secret)}\n"
    text = "".join(line.original.string for line in parse_stream(StringIO(old)) if line.key not in replaced)
    if text and not text.endswith("\n"):
        text += "\n"
    return text + addition


def _quoted(value: str) -> str:
    if PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _replace(path: Path, old: bytes, text: str, suffix: str) -> Path | None:
    """Write the new text unless it is the old one; returns where the old one was kept."""
    new = text.encode()
    if new == old:
        return None
    copy = path.with_name(path.name + suffix) if old else None
    if copy is not None:
        _write(copy, old)
    _write(path, new)
    return copy


def _write(path: Path, content: bytes) -> None:
    """Put the content in the file's place in one step. The new file is its owner's only; a link stays a link."""
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
