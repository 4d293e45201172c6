"""What a turn gives back, and what the observers are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from goat.records.episodes import Episode
from goat.records.search import Recalled
from goat.records.usage import Usage


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn as it was: counts and times, never the words that were said. Times are milliseconds.

    `prompt_tokens` estimates the first prompt with the descriptions of the tools, `usage` is what the model's endpoint
    counted over all calls. `late` are those of the `lost` that the deadline of the reflex cut.
    """

    at: datetime
    owner: str
    chat: str
    state: str
    served_by: str
    confidence: float
    complexity: float
    budget_tokens: int
    prompt_tokens: int
    layer_tokens: Mapping[str, int]
    results_found: int
    results_used: int
    stage_ms: Mapping[str, float]
    total_ms: float
    model: str
    lost: tuple[str, ...] = ()
    cut_by_deadline: bool = False
    late: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    failed_calls: int = 0
    model_calls: int = 1
    tool_calls: int = 0


@dataclass(frozen=True, slots=True)
class PrefetchRecord:
    """One background search after a reply. Times are milliseconds."""

    at: datetime
    owner: str
    chat: str
    recipe: str
    results: int
    saved: bool
    total_ms: float
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know: a lost layer, a mended index, a replaced setting."""

    subject: str
    text: str
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TurnResult:
    """A turn that ended: the reply, the episodes of the exchange, what stood in the prompt and the turn's record.

    `altered` says that characters which no store can hold were replaced in the person's message; `notes` are sentences
    about the reply, to be shown below it. `unfinished` says that the model had to answer before it was done with its
    tools.
    """

    text: str
    question: Episode
    answer: Episode
    recalled: tuple[Recalled, ...]
    record: TurnRecord | None
    altered: bool = False
    notes: tuple[str, ...] = ()
    unfinished: bool = False
