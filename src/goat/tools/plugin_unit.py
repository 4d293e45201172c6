"""One plugin on disk: a file, or a folder with `__init__.py`. It is loaded whole into a fresh module, or not at all."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import sys
import threading
import traceback
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from goat.tools.tool import ToolDefinition

PACKAGE = "goat_plugin"
_numbers = itertools.count(1)
"""Makes the name of each loaded version its own, so that an old one that is still at work keeps its modules."""

Signature = tuple[tuple[str, int, int], ...]


class PluginFault(Exception):
    """Why a plugin cannot be used; the sentence is for its author."""


@dataclass(frozen=True, slots=True)
class Version:
    """A loaded version of a plugin."""

    module: ModuleType
    tools: tuple[ToolDefinition, ...]

    def dispose(self) -> Any:
        """Let the plugin close what it opened, with its function `close` if it has one; forget its modules."""
        name = self.module.__name__
        for loaded in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
            sys.modules.pop(loaded, None)
        closing = getattr(self.module, "close", None)
        return closing() if callable(closing) else None


def units(folders: Iterable[Path]) -> dict[Path, Signature]:
    """The plugins in some folders, each with what tells its state on disk."""
    found: dict[Path, Signature] = {}
    for folder in folders:
        with suppress(OSError):
            for entry in sorted(folder.iterdir()):
                signature = _signature(entry)
                if signature:
                    found[entry] = signature
    return found


def _signature(entry: Path) -> Signature:
    """The files of a plugin with their times and sizes; empty for what is none."""
    if entry.name.startswith((".", "_")):
        return ()
    if entry.is_dir():
        files = sorted(entry.rglob("*.py")) if (entry / "__init__.py").is_file() else []
    else:
        files = [entry] if entry.suffix == ".py" else []
    stated = []
    for file in files:
        with suppress(OSError):
            stat = file.stat()
            stated.append((str(file.relative_to(entry.parent)), stat.st_mtime_ns, stat.st_size))
    return tuple(stated)


def load_in_thread(unit: Path, registry: Any) -> Future[Version]:
    """Load a plugin beside the event loop. A thread of its own: an import that hangs keeps no other from loading."""
    future: Future[Version] = Future()

    def work() -> None:
        try:
            future.set_result(load(unit, registry))
        except BaseException as fault:  # noqa: BLE001 - a plugin may even call exit(); it goes to whoever waits
            future.set_exception(fault if isinstance(fault, PluginFault) else PluginFault(repr(fault)))

    threading.Thread(target=work, name=f"plugin {unit.name}", daemon=True).start()
    return future


def load(unit: Path, registry: Any) -> Version:
    """A fresh module of the plugin and its tools. Raises `PluginFault`."""
    name = f"{PACKAGE}_{next(_numbers)}_{unit.stem}"
    module = _module(name, unit)
    try:
        _run(module, unit)
        tools = _built(module, registry, unit)
    except PluginFault:
        Version(module, ()).dispose()
        raise
    return Version(module, tools)


def _module(name: str, unit: Path) -> ModuleType:
    start = unit / "__init__.py" if unit.is_dir() else unit
    _drop_bytecode(unit)
    spec = importlib.util.spec_from_file_location(
        name, start, submodule_search_locations=[str(unit)] if unit.is_dir() else None
    )
    if spec is None:
        raise PluginFault(f"{unit} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    importlib.invalidate_caches()
    return module


def _drop_bytecode(unit: Path) -> None:
    """Remove compiled copies: Python tells them by whole seconds, and two saves may fall into one."""
    for file in unit.rglob("*.py") if unit.is_dir() else [unit]:
        with suppress(OSError, NotImplementedError):
            Path(importlib.util.cache_from_source(str(file))).unlink()


def _run(module: ModuleType, unit: Path) -> None:
    spec = module.__spec__
    if spec is None or spec.loader is None:
        raise PluginFault(f"{unit} is no Python file")
    try:
        spec.loader.exec_module(module)
    except BaseException as fault:
        raise PluginFault(_where(fault, unit)) from fault


def _built(module: ModuleType, registry: Any, unit: Path) -> tuple[ToolDefinition, ...]:
    build = getattr(module, "build", None)
    if build is None:
        return ()
    if not callable(build) or inspect.iscoroutinefunction(build):
        raise PluginFault("build must be a plain function: def build(registry) -> list[ToolDefinition]")
    try:
        made = build(registry)
    except BaseException as fault:
        raise PluginFault(_where(fault, unit)) from fault
    if not isinstance(made, list | tuple) or not all(isinstance(one, ToolDefinition) for one in made):
        raise PluginFault("build must return a list of ToolDefinition")
    names = [one.name for one in made]
    if twice := {name for name in names if names.count(name) > 1}:
        raise PluginFault(f"build returned two tools named {', '.join(sorted(twice))}")
    return tuple(replace(one, source=unit.name) for one in made)


def _where(fault: BaseException, unit: Path) -> str:
    """What went wrong, with the last line of the plugin that took part."""
    told = "".join(traceback.format_exception_only(fault)).strip().splitlines()
    own = [frame for frame in traceback.extract_tb(fault.__traceback__) if Path(frame.filename).is_relative_to(unit)]
    place = f"{Path(own[-1].filename).name} line {own[-1].lineno}: " if own else ""
    return place + (told[-1] if told else type(fault).__name__)
