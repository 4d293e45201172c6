"""Vectors without a model: hashed words and character n-grams, for machines that the bundled model does not run on.

It knows spelling and nothing of meaning: 'parked the car' is near 'where is my car parked', 'automobile' is not near
'car', and no language is near another. Searches then rest on the lexical index; thread states are rough. It needs no
file, no download and well under a millisecond for a message. The method is feature hashing with signs (Weinberger et
al., "Feature Hashing for Large Scale Multitask Learning", 2009) over the n-grams of fastText's subword model.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from types import TracebackType
from typing import Self

import numpy as np

from goat.adapters.embedder_queue import EmbedderQueue, QueueCounts
from goat.records.search import Floats

BACKEND = "hashing"
DIMENSIONS = 384
WINDOW = 4000
"""The characters that count of a text."""

_VERSION = 1
"""Grows with every change of the vectors."""

_NGRAMS = (3, 4)
_WORD = re.compile(r"[^\W_]+")
_MARKS = re.compile("[\u0300-\u036f]+")
_EAST_ASIAN = re.compile("[\u0e00-\u0eff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U000323af]")
_FULL_WEIGHT = 8
"""Words of so many letters and more count in full, shorter ones less, by the square: most are function words."""

_NGRAMS_WEIGHT = 2.0
"""What the n-grams of a word weigh together, beside the word."""


class HashingEmbedder:
    """The port Embedder over hashed features: the same vectors in every process and on every machine."""

    def __init__(self) -> None:
        self._queue = EmbedderQueue(HashingModel, BACKEND)

    @property
    def name(self) -> str:
        """The version of the features and the number of dimensions: what the vectors depend on."""
        return f"hashing-{_VERSION}-{DIMENSIONS}"

    @property
    def dimensions(self) -> int:
        """384."""
        return DIMENSIONS

    async def embed_query(self, text: str) -> Floats:
        """The unit vector of a question. Raises `BackendUnavailable` after the end."""
        return await self._queue.query(text)

    async def embed_passages(self, texts: Sequence[str]) -> list[Floats]:
        """The unit vectors of passages, in order. Raises `BackendUnavailable` after the end."""
        return await self._queue.passages(texts)

    def counts(self) -> QueueCounts:
        """What waits and what was done."""
        return self._queue.counts()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._queue.close()


class HashingModel:
    """The vectors by themselves; questions and passages are alike."""

    def query(self, text: str) -> Floats:
        """The unit vector of a text, shape (384,), float32."""
        return self.passage(text)

    def passage(self, text: str) -> Floats:
        """The unit vector of a text, shape (384,), float32; a fixed one for a text without a word."""
        weights: defaultdict[str, float] = defaultdict(float)
        for feature, weight in _features(text[:WINDOW]):
            weights[feature] += weight
        vector = np.zeros(DIMENSIONS, dtype=np.float64)
        for feature, weight in weights.items():
            digest = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
            vector[(digest >> 1) % DIMENSIONS] += math.sqrt(weight) * (1 if digest & 1 else -1)
        length = float(np.linalg.norm(vector))
        if length == 0.0:
            vector[0] = length = 1.0
        return (vector / length).astype(np.float32)


def _features(text: str) -> Iterator[tuple[str, float]]:
    folded = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold())))
    for word in _WORD.findall(folded):
        if _EAST_ASIAN.search(word):
            yield from ((word[at : at + 2], 0.5) for at in range(len(word)))
            continue
        weight = (min(len(word), _FULL_WEIGHT) / _FULL_WEIGHT) ** 2
        yield f" {word} ", weight
        padded = f" {word} "
        grams = [padded[at : at + size] for size in _NGRAMS for at in range(len(padded) - size + 1)]
        yield from ((gram, _NGRAMS_WEIGHT * weight / len(grams)) for gram in grams)
