"""Tools that come and go while GOAT runs.

A plugin is a Python file, or a folder with `__init__.py`, that has `build(registry) -> list[ToolDefinition]`. The
folders are watched and also looked through from time to time. A changed plugin is loaded beside the event loop once its
files have stopped changing; the new version takes the place of the old one whole, and one that fails leaves the old one
at work.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from goat.errors import in_seconds
from goat.records.turns import Notice
from goat.tools.plugin_unit import PluginFault, Signature, Version, load_in_thread, units
from goat.tools.tool import ToolDefinition

SETTLE_SECONDS = 0.1
"""How long the files of a plugin must stay as they are before it is loaded."""

SETTLE_TRIES = 20
OLD_SECONDS = 2.0
"""Files that nobody wrote to for so long are at rest."""

IMPORT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class PluginStatus:
    """A plugin as `goat plugins` shows it. With an `error` the tools are those of the last version that worked."""

    name: str
    path: Path
    tools: tuple[str, ...]
    error: str = ""


@dataclass(slots=True)
class _Plugin:
    signature: Signature = ()
    version: Version | None = None
    error: str = ""


@dataclass(slots=True)
class PluginManager:
    """Loads plugins and keeps them up to date.

    `linger_seconds` is how long a replaced version stays usable for turns that began with it; then its `close` is
    called.
    """

    folders: Sequence[Path]
    registry: Any
    bundled: Sequence[str] = ()
    tell: Callable[[Notice], None] = lambda _: None
    linger_seconds: float = 120.0
    import_seconds: float = IMPORT_SECONDS
    _plugins: dict[Path, _Plugin] = field(default_factory=dict)
    _retired: list[tuple[float, Version]] = field(default_factory=list)
    _own: tuple[ToolDefinition, ...] = ()
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def tools(self) -> list[ToolDefinition]:
        """The tools of this moment: the bundled ones first, then those of the plugins by path."""
        loaded = [self._plugins[path].version for path in sorted(self._plugins)]
        return [*self._own, *(tool for version in loaded if version is not None for tool in version.tools)]

    def status(self) -> list[PluginStatus]:
        """Every plugin, by path."""
        return [
            PluginStatus(
                path.name,
                path,
                tuple(tool.name for tool in plugin.version.tools) if plugin.version else (),
                plugin.error,
            )
            for path, plugin in sorted(self._plugins.items())
        ]

    def load_bundled(self) -> None:
        """Build the tools that come with GOAT."""
        made: list[ToolDefinition] = []
        for name in self.bundled:
            build = importlib.import_module(name).build
            made += [replace(tool, source=name.rpartition(".")[2]) for tool in build(self.registry)]
        self._own = tuple(made)

    async def scan(self) -> bool:
        """Look through the folders once and load what changed; True when anything did."""
        async with self._lock:
            found = await asyncio.to_thread(units, self.folders)
            gone = [path for path in self._plugins if path not in found]
            for path in gone:
                self._retire(self._plugins.pop(path).version)
            changed = {path: signature for path, signature in found.items() if self._known(path) != signature}
            for path, signature in (await self._at_rest(changed)).items():
                await self._reload(path, signature)
            await self._dispose_old()
            return bool(gone or changed)

    def _known(self, path: Path) -> Signature:
        return self._plugins[path].signature if path in self._plugins else ()

    async def _reload(self, path: Path, signature: Signature) -> None:
        """Load a plugin whose files are at rest. Whatever goes wrong, the version at work stays."""
        plugin = self._plugins.setdefault(path, _Plugin())
        plugin.signature = signature
        try:
            loading = asyncio.wrap_future(load_in_thread(path, self.registry))
            version = await asyncio.wait_for(asyncio.shield(loading), self.import_seconds)
        except TimeoutError:
            loading.add_done_callback(_forget)
            plugin.error = f"it takes longer than {in_seconds(self.import_seconds)} to load"
        except PluginFault as fault:
            plugin.error = str(fault)
        else:
            self._retire(plugin.version)
            plugin.version, plugin.error = version, ""
            return
        kept = " The version before stays at work." if plugin.version else ""
        self.tell(Notice(f"plugin {path.name}", f"{plugin.error}.{kept}"))

    async def _at_rest(self, changed: Mapping[Path, Signature]) -> dict[Path, Signature]:
        """The changed plugins with the state of their files once these no longer change; without those that went."""
        rested = {path: signature for path, signature in changed.items() if _is_old(signature)}
        waiting = {path: signature for path, signature in changed.items() if path not in rested}
        for _ in range(SETTLE_TRIES):
            if not waiting:
                break
            await asyncio.sleep(SETTLE_SECONDS)
            now = await asyncio.to_thread(units, self.folders)
            rested |= {path: signature for path, signature in waiting.items() if now.get(path) == signature}
            waiting = {path: now[path] for path in waiting if path in now and path not in rested}
        return dict(sorted({**rested, **waiting}.items()))

    def _retire(self, version: Version | None) -> None:
        if version is not None:
            self._retired.append((asyncio.get_running_loop().time() + self.linger_seconds, version))

    async def _dispose_old(self, everything: bool = False) -> None:
        now = asyncio.get_running_loop().time()
        due = [version for at, version in self._retired if everything or at <= now]
        self._retired = [] if everything else [(at, version) for at, version in self._retired if at > now]
        for version in due:
            await _disposed(version, self.tell)

    async def close(self) -> None:
        """Let every plugin close what it opened."""
        for plugin in self._plugins.values():
            self._retire(plugin.version)
        self._plugins.clear()
        await self._dispose_old(everything=True)

    @asynccontextmanager
    async def running(self, seconds: float) -> AsyncIterator[None]:
        """Load everything, then keep it up to date until the context ends. Scans come every `seconds` at least."""
        self.load_bundled()
        await self.scan()
        following = asyncio.create_task(self._follow(seconds), name="plugins")
        try:
            yield
        finally:
            following.cancel()
            await asyncio.wait({following})
            await self.close()

    async def _follow(self, seconds: float) -> None:
        while True:
            await _change(self.folders, seconds)
            await self.scan()


def _is_old(signature: Signature) -> bool:
    """Whether nobody wrote to the files of a plugin for a while."""
    return time.time() - max(stamp for _, stamp, _ in signature) / 1e9 > OLD_SECONDS


async def _change(folders: Sequence[Path], seconds: float) -> None:
    """Wait for a change in one of the folders, or the end of the time."""
    from watchfiles import awatch

    present = [folder for folder in folders if folder.is_dir()]
    if not present:
        await asyncio.sleep(seconds)
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            try:
                async for _ in awatch(*present, debounce=200, step=50):
                    return
            except (OSError, RuntimeError):  # a system that watches no more folders; the scans go on
                pass
            await asyncio.sleep(seconds)


async def _disposed(version: Version, tell: Callable[[Notice], None]) -> None:
    try:
        closing = version.dispose()
        if inspect.isawaitable(closing):
            await asyncio.wait_for(closing, IMPORT_SECONDS)
    except Exception as fault:  # noqa: BLE001 - foreign code
        tell(Notice(f"plugin {version.module.__name__}", f"its close failed: {fault!r}"))


def _forget(loading: asyncio.Future[Version]) -> None:
    """A load that nobody waits for any more: undo it when it ends after all."""
    if not loading.cancelled() and loading.exception() is None:
        loading.result().dispose()
