"""The best of many scores are those of a full sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.adapters.top_ranked import SAMPLES, top_ranked
from goat.records.search import Floats


def by_sorting(scores: Floats, at: np.ndarray, ords: np.ndarray, limit: int) -> list[int]:
    newest_first = sorted(range(len(scores)), key=lambda n: (scores[n], at[n], ords[n]), reverse=True)
    return newest_first[:limit]


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(0, 30) | st.integers(2 * SAMPLES, 5 * SAMPLES),
    levels=st.sampled_from([1, 3, 1_000_000]),
    limit=st.integers(0, 300),
)
def test_the_best_are_those_of_a_full_sort(seed: int, size: int, levels: int, limit: int) -> None:
    draw = np.random.default_rng(seed)
    scores = (draw.integers(0, levels, size) / levels).astype(np.float32)
    at, ords = draw.integers(0, 3, size), draw.permutation(size)
    assert top_ranked(scores, at, ords, limit).tolist() == by_sorting(scores, at, ords, limit)


@pytest.mark.parametrize("high", [True, False])
def test_scores_that_mislead_the_sample_cost_no_place(high: bool) -> None:
    """The sample takes every second score: it sees only the best ones, or none of them."""
    size, limit = 2 * SAMPLES, 200
    scores = np.linspace(0, 1, size).astype(np.float32)
    scores[::2] += 2 if high else -2
    scores[1::2] -= 1
    at, ords = np.zeros(size, np.int64), np.arange(size)
    assert top_ranked(scores, at, ords, limit).tolist() == by_sorting(scores, at, ords, limit)


def test_a_few_high_scores_under_the_sample_do_not_hide_the_rest() -> None:
    size, limit = 64 * SAMPLES, 200
    scores = np.zeros(size, np.float32)
    scores[: 64 * 12 : 64] = 2.0
    scores[1 : 2 * limit : 2] = 1.0
    at, ords = np.zeros(size, np.int64), np.arange(size)
    assert top_ranked(scores, at, ords, limit).tolist() == by_sorting(scores, at, ords, limit)
