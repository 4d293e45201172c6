"""Which history a file holds: told from its content, never from its name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Final, TypeAlias

from goat.adapters import history_chatgpt, history_jsonl, history_locomo, history_telegram
from goat.adapters.history_file import HistoryFile, HistoryLimits, find_files
from goat.adapters.history_sniff import Shape, shape_of
from goat.errors import HistoryError
from goat.ports.edges import HistorySource

_Open: TypeAlias = Callable[[list[HistoryFile], tzinfo], HistorySource]

_FORMATS: Final[tuple[tuple[Callable[[Shape], bool], _Open], ...]] = (
    (history_telegram.recognises, lambda files, zone: history_telegram.TelegramHistory(files[0], zone)),
    (history_chatgpt.recognises, lambda files, _: history_chatgpt.ChatGptHistory(files)),
    (history_locomo.recognises, lambda files, _: history_locomo.LocomoHistory(files[0])),
    (history_jsonl.recognises, lambda files, zone: history_jsonl.JsonLinesHistory(files[0], zone)),
)
"""Each format with how it is recognised; the first that fits reads the file. A new format is a line here."""


def open_history(path: Path, zone: tzinfo = UTC, limits: HistoryLimits | None = None) -> HistorySource:
    """The history in a file, or in a zip archive as it was downloaded.

    `zone` is that of times which the export wrote without one. Raises `HistoryError` for a folder, an empty file, an
    archive that cannot or should not be unpacked, and a format that nobody here knows.
    """
    files = find_files(path, limits or HistoryLimits())
    shape = shape_of(files[0])
    for recognises, opened in _FORMATS:
        if recognises(shape):
            return opened(files, zone)
    if shape.root == "markup":
        remedy = "In Telegram Desktop choose the format “Machine-readable JSON” when you export."
        raise HistoryError(path, None, "it is a page to look at (HTML), not data", remedy)
    raise HistoryError(
        path,
        None,
        "its format is not known",
        "GOAT reads exports of Telegram Desktop (JSON), of ChatGPT, JSON lines and LoCoMo samples.",
    )


def sniff(path: Path) -> bool:
    """Whether `open_history` would read the file."""
    try:
        open_history(path)
    except HistoryError:
        return False
    return True
