"""The order of the best results, where a model that reads question and result together has an opinion on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from goat.records.search import Floats, Recalled

PART = "reranker"


class NoReranker:
    """The port Reranker where there is no such model."""

    name = "none"

    async def opinions(self, query: str, texts: Sequence[str]) -> Floats:
        """Zeros, which change nothing."""
        return np.zeros(len(texts), dtype=np.float32)


def reordered(results: Sequence[Recalled], opinions: Floats) -> tuple[Recalled, ...]:
    """The results by their score with the opinion added, best first; equals keep their order.

    The relevance stays what the evidence says: it is on the scale that the cutoff knows.
    """
    if not opinions.any():
        return tuple(results)
    judged = [
        replace(result, score=result.score + opinion, parts={**result.parts, PART: opinion})
        for result, opinion in zip(results, opinions.tolist(), strict=True)
    ]
    return tuple(sorted(judged, key=lambda result: -result.score))
