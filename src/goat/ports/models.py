"""Ports of the models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Protocol

from goat.records.entities import Entity
from goat.records.models import ModelRequest, Reply
from goat.records.search import Floats
from goat.records.usage import ModelCall, UsageDay


class ChatModel(Protocol):
    """A language model, or what stands in for one."""

    @property
    def name(self) -> str:
        """The model's name as it is shown and recorded."""
        ...

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """Answer the request; `on_text` gets the text in pieces as it comes.

        The pieces together are the text of the reply, unless that answer broke off and another one took its place:
        then the text of the reply counts. Raises `ModelError` when no answer is to be had; the sentence says what to
        do.
        """
        ...


class UsageLog(Protocol):
    """What the model calls of all owners used. Raises `BackendUnavailable`."""

    async def record(self, call: ModelCall) -> None:
        """Keep a call."""
        ...

    async def spent(self, day: date) -> float:
        """What all calls of a day cost together in USD, as far as it is known."""
        ...

    async def days(self, since: date, until: date, owner: str | None = None) -> list[UsageDay]:
        """The sums per day, owner and model from `since` to `until`, both included, in this order; of one owner, or
        of all."""
        ...


class Embedder(Protocol):
    """Text to unit vectors. Queries overtake passages that wait."""

    @property
    def name(self) -> str:
        """Names the vectors: two embedders with one name make the same vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    async def embed_query(self, text: str) -> Floats:
        """One unit vector, shape (dimensions,), float32. Text beyond the model's window does not count.

        Raises `BackendUnavailable`.
        """
        ...

    async def embed_passages(self, texts: Sequence[str]) -> list[Floats]:
        """A unit vector for each text, in order. Raises `BackendUnavailable`."""
        ...


class EntityExtractor(Protocol):
    """Finds what texts name: persons and things, places, codes."""

    @property
    def name(self) -> str:
        """Names the extractor as it is shown."""
        ...

    async def extract(self, texts: Sequence[str]) -> list[tuple[Entity, ...]]:
        """The distinct entities of each text, in order. Raises `BackendUnavailable`.

        It is asked for a message before that is committed, and for a query while the reply waits, so it answers within
        milliseconds or not at all.
        """
        ...


class Reranker(Protocol):
    """Reads a query and what was found for it together, and says how well each answers."""

    @property
    def name(self) -> str:
        """Names the model as it is shown."""
        ...

    async def opinions(self, query: str, texts: Sequence[str]) -> Floats:
        """What each text's answering adds to its score: shape (len(texts),), float32, on the scale of
        `Recalled.score`. Zero is no opinion. Raises `BackendUnavailable`."""
        ...


class TokenCounter(Protocol):
    """How many tokens a text costs in a prompt."""

    def count(self, text: str) -> int:
        """The number of tokens, 0 for an empty text. An estimate errs upwards."""
        ...
