"""What a plugin may use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goat.settings.section_tools import ToolSettings


@dataclass(frozen=True, slots=True)
class Registry:
    """Made once at the start and handed to `build`.

    `settings` are those of the tools, `metrics` gives figures about memory and turns, `logs` is the folder of the log
    files, `redact` takes secrets out of a text. `memory` is the memory façade, for plugins that search or store.
    """

    settings: ToolSettings
    metrics: Callable[[str], Awaitable[dict[str, Any]]]
    logs: Path
    redact: Callable[[str], str]
    memory: Any = None
