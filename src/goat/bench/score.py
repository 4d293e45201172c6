"""Measures of a ranked list against its evidence, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000

Scores: TypeAlias = Sequence[float] | NDArray[np.float64]


def any_at(ranked: Sequence[str], gold: frozenset[str], k: int) -> float:
    """1.0 when at least one piece of evidence stands in the first k."""
    return float(not gold.isdisjoint(ranked[:k]))


def frac_at(ranked: Sequence[str], gold: frozenset[str], k: int) -> float:
    """The share of the evidence that stands in the first k."""
    return len(gold.intersection(ranked[:k])) / len(gold)


def ndcg_at(ranked: Sequence[str], gold: frozenset[str], k: int) -> float:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen, 2002), the ideal list holding all evidence."""
    gain = sum(1 / math.log2(place + 2) for place, item in enumerate(ranked[:k]) if item in gold)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(gold), k)))
    return gain / ideal


def auroc(positives: Scores, negatives: Scores) -> float:
    """The probability that a positive scores above a negative, ties counting one half (Mann-Whitney U)."""
    if not len(positives) or not len(negatives):
        return math.nan
    above = np.asarray(positives)[:, None] - np.asarray(negatives)[None, :]
    return float((above > 0).mean() + 0.5 * (above == 0).mean())


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, or another statistic, and its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


def interval(values: Scores) -> Interval:
    """The mean over questions, with the percentile bootstrap over 1,000 resamples (Efron, 1979)."""
    return _bootstrap([np.asarray(values, dtype=float)], np.mean)


def auroc_interval(positives: Scores, negatives: Scores) -> Interval:
    """The same for `auroc`; positives and negatives are drawn each from their own."""
    return _bootstrap([np.asarray(positives, dtype=float), np.asarray(negatives, dtype=float)], auroc)


def _bootstrap(samples: Sequence[NDArray[np.float64]], statistic: Callable[..., Any]) -> Interval:
    if not all(len(sample) for sample in samples):
        return Interval(math.nan, math.nan, math.nan)
    random = np.random.default_rng(0)
    drawn = ([sample[random.integers(0, len(sample), len(sample))] for sample in samples] for _ in range(RESAMPLES))
    low, high = np.percentile([statistic(*each) for each in drawn], [2.5, 97.5])
    return Interval(float(statistic(*samples)), float(low), float(high))
