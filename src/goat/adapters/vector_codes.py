"""A memory-mapped file of int8 vectors, row = passage number, without a header. A row of zeros is no vector.

The file is derived from the journal's own vectors and can be lost at any time. It is read through a mapping and
written through the file, so that a full disk is an error and not the end of the process. Who reads works on a snapshot;
the file only ever grows while it is mapped.
"""

from __future__ import annotations

import os
from math import sqrt
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Final, NamedTuple, TypeAlias

import numkong
import numpy as np
from numpy.typing import NDArray

from goat.records.search import Floats

Codes: TypeAlias = NDArray[np.int8]
Rows: TypeAlias = NDArray[np.int64]

_GROWTH: Final = 1024
"""The least number of rows that the file grows by."""


def usual_scale(dimensions: int) -> float:
    """What one step of a code stands for with unit vectors of this length.

    Components of unit vectors spread with 1/sqrt(dimensions). A code reaches four times as far: 0.2 for the 384
    components of e5-small, whose largest is 0.19. A model with larger ones wants a scale of its own.
    """
    return min(1.0, 4 / sqrt(dimensions)) / 127


def to_codes(vectors: NDArray[np.floating], scale: float) -> Codes:
    """Vectors as codes, by way of the float16 that the journal keeps: from there the same codes can be made again."""
    at_rest = vectors.astype(np.float16).astype(np.float32)
    codes: Codes = np.clip(np.rint(at_rest / np.float32(scale)), -127, 127).astype(np.int8)
    return codes


class Mapped(NamedTuple):
    """The rows of the file, and which of them hold a vector."""

    codes: Codes
    present: NDArray[np.bool_]


class CodeFile:
    """The codes of one owner and one model."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self._path = path
        self._unfinished = path.with_suffix(".part")
        self._dimensions = dimensions
        self._writing = Lock()
        self.mapped = self._nothing()
        self._map()

    def rows(self, first: int, stop: int) -> Codes:
        """A copy of some rows, zeros beyond the end of the file."""
        copy = np.zeros((stop - first, self._dimensions), np.int8)
        held = self.mapped.codes[first:stop]
        copy[: len(held)] = held
        return copy

    def holds(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of the rows hold a vector at this moment."""
        present = self.mapped.present
        held = rows < len(present)
        held[held] = present[rows[held]]
        return held

    def write(self, rows: Rows, codes: Codes) -> None:
        """Set ascending rows; they are on the disk when this returns. Raises `OSError`."""
        if not len(rows):
            return
        with self._writing:
            self._path.touch(mode=0o600)
            with self._path.open("r+b") as file:
                self._grow(file, int(rows[-1]) + 1)
                self._write(file, rows, codes)
                _to_disk(file)
            self.mapped.present[rows] = codes.any(axis=1)

    def erase(self, rows: Rows) -> None:
        """Zero the rows that are there. Raises `OSError`."""
        there = rows[(rows >= 0) & (rows < len(self.mapped.codes))]
        self.write(there, np.zeros((len(there), self._dimensions), np.int8))

    def begin_refill(self) -> None:
        """Start a new file that shall stand in the place of this one. Raises `OSError`."""
        self._unfinished.unlink(missing_ok=True)
        self._unfinished.touch(mode=0o600)

    def add_to_refill(self, rows: Rows, codes: Codes) -> None:
        """Set rows of the new file. Raises `OSError`."""
        with self._unfinished.open("r+b") as file:
            self._write(file, rows, codes)

    def end_refill(self) -> None:
        """Put the new file in its place, whole. Raises `OSError`."""
        with self._writing:
            self.mapped = self._nothing()
            with self._unfinished.open("r+b") as file:
                _to_disk(file)
            self._unfinished.replace(self._path)
            self._map()

    def serve(self, codes: Codes) -> None:
        """Serve these rows from now on, whatever the file holds."""
        self.mapped = Mapped(codes, np.any(codes, axis=1))

    def remove(self) -> None:
        """Leave no file, or where the system does not let a mapped one go, one without a vector. Raises `OSError`."""
        with self._writing:
            size = self.mapped.codes.size
            self.mapped = self._nothing()
            try:
                self._path.unlink(missing_ok=True)
            except PermissionError:
                self._path.write_bytes(bytes(size))

    def _write(self, file: BinaryIO, rows: Rows, codes: Codes) -> None:
        runs = np.flatnonzero(np.diff(rows) != 1) + 1
        for run, run_codes in zip(np.split(rows, runs), np.split(codes, runs), strict=True):
            file.seek(int(run[0]) * self._dimensions)
            file.write(run_codes.tobytes())

    def _map(self) -> None:
        size = self._path.stat().st_size if self._path.exists() else 0
        rows = size // self._dimensions
        if rows:
            codes = np.memmap(self._path, np.int8, "r", shape=(rows, self._dimensions))
            self.mapped = Mapped(codes, np.any(codes, axis=1))

    def _grow(self, file: BinaryIO, rows: int) -> None:
        codes, present = self.mapped
        if rows <= len(codes):
            return
        larger = rows + max(_GROWTH, rows // 8)
        file.truncate(larger * self._dimensions)
        grown = np.zeros(larger, np.bool_)
        grown[: len(present)] = present
        self.mapped = Mapped(np.memmap(self._path, np.int8, "r", shape=(larger, self._dimensions)), grown)

    def _nothing(self) -> Mapped:
        return Mapped(np.empty((0, self._dimensions), np.int8), np.empty(0, np.bool_))


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def scan(codes: Codes, query: Floats) -> Floats:
    """The product of the query with every row, the query rounded to codes of its own as the rows are.

    The kernel reads each row once, in one pass without the interpreter's lock.
    """
    if not len(codes):
        return np.empty(0, np.float32)
    step = float(np.abs(query).max()) / 127 or 1.0
    rounded = np.rint(query / np.float64(step)).astype(np.int8)
    products = np.asarray(numkong.cdist(rounded[None, :], codes, metric="dot"))[0]
    return np.asarray(products * step, dtype=np.float32)


def gathered(codes: Codes, rows: Rows, query: Floats) -> Floats:
    """The product of the query, as it is, with the given rows, gathered a piece at a time into one buffer."""
    piece = 1024
    buffer = np.empty((piece, len(query)), np.float32)
    scores = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), piece):
        part = rows[start : start + piece]
        floats = buffer[: len(part)]
        np.copyto(floats, codes[part])
        np.dot(floats, query, out=scores[start : start + len(part)])
    return scores
