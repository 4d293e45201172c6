"""JSON documents of any size, read as events (by ijson) so that memory holds one record at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, Any, TypeAlias

import ijson

from goat.adapters.history_file import CHUNK, BrokenHistory, HistoryFile, Reading, in_bytes

Mend: TypeAlias = Callable[[Iterator[bytes]], Iterator[bytes]]
"""Repairs the bytes of an exporter that writes what JSON does not allow."""


class JsonStream:
    """The events of a JSON document. Call `record_done` at least once a record: more bytes than the limit without it
    break the reading, whether they are one endless string or a thousand fields."""

    def __init__(self, file: HistoryFile, raw: IO[bytes], mend: Mend | None = None) -> None:
        self._file = file
        self._raw = raw
        self._mend = mend
        self._record_from = 0
        self.position = 0

    def record_done(self) -> None:
        """What was read so far is not held any more."""
        self._record_from = self.position

    def events(self) -> Iterator[tuple[str, str, Any]]:
        """(dotted path, event, value) as ijson names them; numbers are int or float. Raises `BrokenHistory`."""
        chunks = self._chunks()
        try:
            yield from ijson.parse(ijson.from_iter(self._mend(chunks) if self._mend else chunks), use_float=True)
        except ijson.JSONError as problem:
            reason = str(problem).removeprefix("b'").partition("\n")[0].partition("\\n")[0].rstrip(".'")
            raise BrokenHistory(f"the JSON breaks near byte {self.position} ({reason})") from problem
        except ValueError as problem:
            raise BrokenHistory(f"a number near byte {self.position} is too long") from problem

    def _chunks(self) -> Iterator[bytes]:
        limit = self._file.limits.record_bytes
        for chunk in self._file.chunks(self._raw):
            self.position += len(chunk)
            if self.position - self._record_from > max(limit, 2 * CHUNK):
                raise BrokenHistory(f"a record before byte {self.position} is longer than {in_bytes(limit)}")
            yield chunk


def whole_objects(file: HistoryFile, raw: IO[bytes], reading: Reading, before: int = 0) -> Iterator[object]:
    """The elements of the document's list, or the one object that it is; `reading` is told the position, which begins
    at `before`. Raises `BrokenHistory`."""
    stream = JsonStream(file, raw)
    target: str | None = None
    building: ijson.ObjectBuilder | None = None
    for path, event, value in stream.events():
        if target is None:
            target = "item" if event == "start_array" else ""
            if target:
                continue
        if building is None:
            if path != target or event == "end_array":
                continue
            building = ijson.ObjectBuilder()
        building.event(event, value)
        if path == target and event not in ("start_map", "start_array", "map_key"):
            reading.position = before + stream.position
            yield building.value
            building = None
            stream.record_done()
