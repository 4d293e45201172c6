"""The one door through which plugins come in: the bundled ones, and those in the person's folders."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from goat.errors import BackendUnavailable
from goat.plugins.registry import Registry
from goat.ports.edges import ToolSource
from goat.ports.stores import Journal
from goat.records.tools import SourceState
from goat.records.turns import Notice
from goat.settings import Settings
from goat.tools.acting import Acting
from goat.tools.foreign import ForeignTools, Look
from goat.tools.pins import Pins
from goat.tools.plugins import PluginManager, PluginStatus
from goat.tools.redact import Redactor
from goat.tools.tool import ToolDefinition
from goat.tools.toolbox import Refused, Toolbox
from goat.tools.watchdog import LoopWatch

PINS = "mcp_tools.json"
"""The file of the home that keeps how MCP servers described their tools."""

BUNDLED = (
    "goat.plugins.files",
    "goat.plugins.shell",
    "goat.plugins.web",
    "goat.plugins.browser",
    "goat.plugins.introspect",
)


def plugin_folders(settings: Settings, home: Path) -> list[Path]:
    """Where a person's plugins stand: `plugins` in the data folder, and the folders of the settings."""
    return [home / "plugins", *(Path(path).expanduser() for path in settings.plugins.paths)]


@asynccontextmanager
async def plugins_at_work(
    settings: Settings,
    home: Path,
    acting: Acting,
    journal: Journal,
    embedder: str,
    memory: Any,
    tell: Callable[[Notice], None],
    sources: Sequence[ToolSource] = (),
) -> AsyncIterator[PluginManager]:
    """Load all plugins, give their tools to each new turn and keep them up to date until the context ends.

    The tools of the sources, which run already, come after those of the plugins.

    Questions that an earlier process left open are closed as expired, and the person is told.
    """

    async def metrics(owner: str) -> dict[str, Any]:
        return asdict(await journal.counts(owner, embedder))

    registry = Registry(settings.tools, metrics, home / "logs", acting.redact, memory)
    folders = plugin_folders(settings, home)
    folders[0].mkdir(parents=True, exist_ok=True)
    longest = settings.turn.timeout_seconds + settings.tools.approval_seconds
    plugins = PluginManager(folders, registry, BUNDLED, tell, linger_seconds=longest)
    try:
        for question in await acting.policy.expire_left():
            told = f"the question whether {question.tool} may run expired because GOAT was restarted; ask again"
            tell(Notice("approvals", told))
    except BackendUnavailable as lost:
        tell(Notice("approvals", str(lost)))
    with LoopWatch(tell):
        async with plugins.running(settings.plugins.scan_seconds):
            acting.outfit.add(lambda: plugins.tools)
            foreign = ForeignTools(sources, settings.mcp, Pins(home / PINS), tell)
            acting.outfit.add(foreign.tools, foreign.started)
            yield plugins


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """An MCP server as it answers now."""

    name: str
    state: SourceState
    trouble: str
    look: Look


@dataclass(frozen=True, slots=True)
class Survey:
    """All plugins and servers as they load now. `refused` are tools left out because of their name."""

    bundled: tuple[ToolDefinition, ...]
    own: tuple[PluginStatus, ...]
    refused: tuple[Refused, ...]
    servers: tuple[ServerStatus, ...] = ()


async def survey(settings: Settings, home: Path, sources: Sequence[ToolSource] = (), accept: str = "") -> Survey:
    """Load every plugin once, beside a GOAT that may be running, and say what came of it; wait for the sources.

    `accept` names a source whose tools are taken as they are now. Raises `OSError` when that cannot be kept.
    """

    async def metrics(owner: str) -> dict[str, Any]:
        return {}

    registry = Registry(settings.tools, metrics, home / "logs", Redactor())
    plugins = PluginManager(plugin_folders(settings, home), registry, BUNDLED)
    plugins.load_bundled()
    bundled = tuple(plugins.tools)
    await plugins.scan()
    foreign = ForeignTools(sources, settings.mcp, Pins(home / PINS))
    await foreign.started()
    for source in sources:
        if source.name == accept and source.state is SourceState.READY:
            foreign.accept(source)
    servers = tuple(ServerStatus(one.name, one.state, one.trouble, foreign.look(one)) for one in sources)
    refused = Toolbox.of(plugins.tools, foreign.tools()).refused
    found = Survey(bundled, tuple(plugins.status()), refused, servers)
    await plugins.close()
    return found
