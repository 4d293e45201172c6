"""The shape of a JSON file, from its beginning: what formats are told apart by."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Final, Literal

from goat.adapters.history_file import BrokenHistory, HistoryFile, unreadable_archive
from goat.adapters.history_json import JsonStream

HEAD: Final = 1024 * 1024
"""Bytes of a file that are looked at. LoCoMo writes a sample's questions before its conversation."""

_DEPTH: Final = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """What the beginning of a file shows: its root, and the dotted paths of its keys down to four levels, where the
    elements of a list stand as `item`."""

    root: Literal["map", "array", "markup", "other"]
    keys: frozenset[str] = frozenset()


def shape_of(file: HistoryFile) -> Shape:
    """Look at the first `HEAD` bytes. Raises `HistoryError` when they cannot be read."""
    head = _head(file)
    if head.lstrip().startswith(b"<"):
        return Shape("markup")
    return _shape(file, head)


def _head(file: HistoryFile) -> bytes:
    head = b""
    with file.open() as raw:
        try:
            for chunk in file.chunks(raw):
                head += chunk
                if len(head) >= HEAD:
                    break
        except BrokenHistory as damage:
            if not head:
                raise unreadable_archive(file.path, damage) from damage
    return head


def _shape(file: HistoryFile, head: bytes) -> Shape:
    keys: set[str] = set()
    root: Literal["map", "array", "other"] = "other"
    try:
        for path, event, value in JsonStream(file, io.BytesIO(head)).events():
            if not path and event == "start_map":
                root = "map"
            elif not path and event == "start_array":
                root = "array"
            elif event == "map_key" and path.count(".") < _DEPTH:
                keys.add(f"{path}.{value}" if path else value)
    except BrokenHistory:
        pass  # the head ends within the document, or one document follows another
    return Shape(root, frozenset(keys))
