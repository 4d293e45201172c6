"""What is asked of the indexes and what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from goat.records.episodes import Episode

Floats: TypeAlias = NDArray[np.float32]
Ords: TypeAlias = NDArray[np.int64]

NEIGHBOUR_REACH = 3
"""How many passages before and after a passage its neighbourhood holds."""


@dataclass(frozen=True, slots=True)
class Where:
    """A filter that the store applies before it ranks. Times are half-open: `after <= at < before`.

    `up_to` bounds the episode id (exclusive), so that a message does not find itself.
    """

    chat: str | None = None
    topic_id: str | None = None
    after: datetime | None = None
    before: datetime | None = None
    up_to: int | None = None


EVERYWHERE = Where()


@dataclass(frozen=True, slots=True)
class LexicalDocument:
    """A passage as the lexical index takes it: its terms with their counts, already analysed.

    `length` is the number of indexed terms. `question` marks a short question, `human` a person's own words.
    """

    owner: str
    ord: int
    episode_id: int
    chat: str
    at: datetime
    terms: Mapping[str, int]
    length: int
    topic_id: str = ""
    speaker: str = ""
    question: bool = False
    human: bool = True


@dataclass(frozen=True, slots=True)
class VectorRow:
    """A passage's unit vector (float32, the embedder's dimensions) with what filters need."""

    owner: str
    ord: int
    episode_id: int
    chat: str
    at: datetime
    vector: Floats
    topic_id: str = ""


@dataclass(frozen=True, slots=True)
class Centre:
    """The mean of the vectors of one owner's passages, and of how many."""

    mean: Floats
    count: int


@dataclass(frozen=True, slots=True)
class Hits:
    """Passages of one owner, best first, with the score of the index that found them."""

    ords: Ords
    scores: Floats

    def __len__(self) -> int:
        return len(self.ords)


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Candidates and the passages around them in the same session of the same chat.

    `around[i, j]` is the passage `j - NEIGHBOUR_REACH` steps from candidate `i` (the middle column is the candidate
    itself), -1 where there is none. The other arrays have one entry per candidate; `speakers` holds names as indexed.
    """

    ords: Ords
    episode_ids: Ords
    around: NDArray[np.int64]
    question: NDArray[np.bool_]
    after_question: NDArray[np.bool_]
    human: NDArray[np.bool_]
    at: NDArray[np.float64]
    speakers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LexicalFeatures:
    """Lexical scores in 0..1, one per candidate: of the passage in its neighbourhood, of its session, of itself.

    `held` is the share (0..1, by idf) of the query's terms that the passage itself holds, without its neighbours; a
    term that the owner's index does not know counts with the idf of a document frequency of zero. `rare` (0..1) is the
    mean over the query's terms of the square of how rare those are that the passage itself holds: a term's idf over
    that of one which no passage holds. What nearly every passage holds counts for next to nothing.
    """

    passage: Floats
    session: Floats
    held: Floats
    rare: Floats


@dataclass(frozen=True, slots=True)
class Recalled:
    """A found episode. `relevance` is calibrated to 0..1; `parts` says what its score is made of, `ord` which of its
    passages was found, where that is known.

    `copies` are the times at which the same was said in other episodes that were found, earliest first.
    """

    episode: Episode
    relevance: float
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    mechanisms: tuple[str, ...] = ()
    ord: int | None = None
    copies: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True)
class Lost:
    """A candidate group or layer that could not be served, and why."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer of the pipeline: best first, with the time each stage took (milliseconds) and what was lost."""

    query: str
    results: tuple[Recalled, ...] = ()
    lost: tuple[Lost, ...] = ()
    stage_ms: Mapping[str, float] = field(default_factory=dict)
