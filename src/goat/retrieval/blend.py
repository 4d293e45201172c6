"""The order that GOAT's two source documents publish: similarity, recency and use, each with its share."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from goat.records.search import NEIGHBOUR_REACH, Floats, Neighbourhood
from goat.retrieval.fuse import Evidence, Scores
from goat.settings.sections import PrefetchSettings

DAY: Final = 86400.0


def blended(similarity: Floats, age_days: Floats, uses: Floats, shares: PrefetchSettings) -> dict[str, Floats]:
    """The three parts of each result's score, which is their sum; all arrays have one entry for each result.

    `similarity` lies in 0..1. Recency falls from 1 to 0 over the recency window, and is 1 for what lies ahead; use
    grows with the number of uses up to `access_count_ref`.
    """
    recency = np.clip(1.0 - age_days / shares.recency_window_days, 0.0, 1.0)
    access = np.minimum(uses / shares.access_count_ref, 1.0)
    return {
        "relevance": np.asarray(shares.score_similarity_weight * similarity, dtype=np.float32),
        "recency": np.asarray(shares.score_recency_weight * recency, dtype=np.float32),
        "access": np.asarray(shares.score_access_weight * access, dtype=np.float32),
    }


def published(
    near: Neighbourhood,
    evidence: Evidence,
    exact: NDArray[np.bool_],
    uses: Floats,
    at: datetime,
    shares: PrefetchSettings,
) -> Scores:
    """The published formula over a whole pool, one entry for each candidate; `at` is when the query was asked.

    A candidate that holds a key of the query (`exact`) is as similar as can be, one without a vector not at all.
    """
    cosines = evidence.around[:, NEIGHBOUR_REACH]
    similarity = np.where(exact, np.float32(1.0), published_similarity(cosines))
    age_days = ((at.timestamp() - near.at) / DAY).astype(np.float32)
    parts = blended(similarity, age_days, uses, shares)
    total = np.asarray(np.sum(list(parts.values()), axis=0), dtype=np.float32)
    return Scores(total, similarity, evidence.in_window, parts, total, evidence.echo)


def published_similarity(cosines: Floats) -> Floats:
    """1 / (1 + d) of the squared distance d of unit vectors, 0 where there is no vector (NaN)."""
    distance = np.maximum(2.0 - 2.0 * cosines, 0.0)
    return np.asarray(np.nan_to_num(1.0 / (1.0 + distance), nan=0.0), dtype=np.float32)
