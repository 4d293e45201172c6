"""What the pipeline is compared with: plain BM25, the plain embedder, and their reciprocal rank fusion."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from goat.records.search import Floats
from goat.retrieval.languages import stem

STOP_WORDS = """
a an the and or but if of at by for with about to from in on is are was were be been being have has had do does did i
you he she it we they me my your his her its our their this that these those what which who when where why how as not so
than too very can will just
"""
K1, B = 1.5, 0.75
RRF_K = 60


class PlainBm25:
    """Okapi BM25 over whole documents: lower-case words, a short list of English stop words, Snowball stems."""

    def __init__(self, documents: Sequence[str]) -> None:
        self._stop = frozenset(STOP_WORDS.split())
        self._counts = [Counter(self._terms(text)) for text in documents]
        self._lengths = np.array([counts.total() for counts in self._counts], dtype=float)
        self._df = Counter(term for counts in self._counts for term in counts)

    def _terms(self, text: str) -> list[str]:
        words = [word for word in re.findall(r"\w+", text.lower()) if word not in self._stop]
        return [stem(word, "en") for word in words]

    def scores(self, query: str) -> Floats:
        """The score of every document."""
        total = np.zeros(len(self._counts))
        norm = K1 * (1 - B + B * self._lengths / max(self._lengths.mean(), 1e-9))
        for term in set(self._terms(query)):
            df = self._df[term]
            tf = np.array([counts[term] for counts in self._counts], dtype=float)
            idf = np.log(1 + (len(self._counts) - df + 0.5) / (df + 0.5))
            total += idf * tf * (K1 + 1) / (tf + norm)
        return total.astype(np.float32)


def order(scores: Floats) -> list[int]:
    """Documents best first; ties keep their order."""
    return np.argsort(-scores, kind="stable").tolist()  # type: ignore[no-any-return]


def reciprocal_rank_fusion(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Whole lists fused by sum of 1 / (60 + rank) (Cormack et al., SIGIR 2009)."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, document in enumerate(ranking, start=1):
            scores[document] = scores.get(document, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda document: -scores[document])
