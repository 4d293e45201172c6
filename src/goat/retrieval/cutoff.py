"""What is good enough to be shown. "Nothing relevant" is an outcome."""

from __future__ import annotations

from collections.abc import Sequence

from goat.records.search import Recalled


def cut(results: Sequence[Recalled], least_relevance: float, limit: int) -> tuple[Recalled, ...]:
    """The best results at or above `least_relevance`, at most `limit`; `results` come best first."""
    return tuple(result for result in results if result.relevance >= least_relevance)[:limit]
