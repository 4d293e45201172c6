"""Exact cosine over vectors in memory: the reference of the port VectorIndex, and for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goat.adapters.lexical_memory import passes
from goat.records.search import Centre, Floats, Hits, Ords, VectorRow, Where


class MemoryVectorIndex:
    """The port VectorIndex over plain dictionaries."""

    def __init__(self) -> None:
        self._cursor = 0
        self._rows: dict[str, dict[int, VectorRow]] = {}

    async def cursor(self) -> int:
        """See `VectorIndex.cursor`."""
        return self._cursor

    async def apply(self, added: Sequence[VectorRow], removed: Sequence[tuple[str, int]], cursor: int) -> None:
        """See `VectorIndex.apply`."""
        for row in added:
            self._rows.setdefault(row.owner, {})[row.ord] = row
        for owner, ord_ in removed:
            self._rows.get(owner, {}).pop(ord_, None)
        self._cursor = cursor

    async def search(self, owner: str, vector: Floats, limit: int, where: Where) -> Hits:
        """See `VectorIndex.search`. Ties go to the newer passage."""
        rows = [row for row in self._rows.get(owner, {}).values() if passes(row, where)]
        scored = [(_cosine(row.vector, vector), row.at, row.ord) for row in rows]
        best = sorted(scored, reverse=True)[: max(limit, 0)]
        return Hits(np.array([ord_ for _, _, ord_ in best], np.int64), np.array([s for s, _, _ in best], np.float32))

    async def score(self, owner: str, vector: Floats, ords: Ords) -> Floats:
        """See `VectorIndex.score`. The answer has the shape of `ords`."""
        rows = self._rows.get(owner, {})
        scores = [_cosine(rows[ord_].vector, vector) if ord_ in rows else np.nan for ord_ in ords.ravel().tolist()]
        return np.array(scores, np.float32).reshape(ords.shape)

    async def centre(self, owner: str) -> Centre | None:
        """See `VectorIndex.centre`."""
        vectors = [row.vector for row in self._rows.get(owner, {}).values()]
        return Centre(np.mean(vectors, axis=0, dtype=np.float32), len(vectors)) if vectors else None

    async def clear(self) -> None:
        """See `VectorIndex.clear`."""
        self._rows.clear()
        self._cursor = 0


def _cosine(one: Floats, other: Floats) -> float:
    norms = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
    return float(np.dot(one, other)) / norms if norms else 0.0
