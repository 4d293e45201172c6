"""What is noted about a message, once: in the commit that keeps its words, or later for what came without it, from an
import or an older version."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

from goat.errors import BackendUnavailable
from goat.failpoints import reach
from goat.ports.models import EntityExtractor
from goat.ports.stores import Enrichment
from goat.records.entities import Entity, EntityKind
from goat.retrieval.languages import language_of
from goat.retrieval.terms import is_question
from goat.retrieval.times import referenced_times
from goat.retrieval.words import count_words

FULL_LENGTH: Final = 120
"""Words from which on a message counts as important as a message can."""

GREETING: Final = 6
"""A statement with fewer words than this, and neither a number nor a name, says little."""

BATCH: Final = 64
"""Messages that are noted between two commits: a killed process repeats at most these."""

ENRICHED: Final = "memory_type"
"""What stands in the meta of every message that was noted."""

ENTITIES: Final = "entities"
TIMES: Final = "times"

_KINDS: Final = frozenset(map(str, EntityKind))


@dataclass(frozen=True, slots=True)
class Noted:
    """What goes into the meta of an episode, and whether that is all."""

    meta: dict[str, str]
    complete: bool


class Enricher:
    """Notes what messages are about."""

    def __init__(self, enrichment: Enrichment, extractor: EntityExtractor, zone: tzinfo) -> None:
        self._enrichment = enrichment
        self._extractor = extractor
        self._zone = zone

    async def noted(self, text: str, at: datetime) -> Noted:
        """What is to be noted about a message of the time `at`; without its entities where these cannot be had."""
        try:
            (entities,) = await self._extractor.extract([text])
        except BackendUnavailable:
            return Noted(enriched(text, at, self._zone), complete=False)
        return Noted(enriched(text, at, self._zone, entities), complete=True)

    async def step(self) -> set[str]:
        """Note the next messages that were written without it; whose they are, nobody when none waits.

        Raises `BackendUnavailable`.
        """
        waiting = await self._enrichment.waiting(BATCH)
        found = await self._extractor.extract([episode.text for episode in waiting])

        def note() -> dict[int, dict[str, str]]:
            pairs = zip(waiting, found, strict=True)
            return {one.id: enriched(one.text, one.at, self._zone, entities) for one, entities in pairs}

        notes = await asyncio.to_thread(note)
        reach("enrichment_found")
        await self._enrichment.note(notes)  # what was forgotten meanwhile is not there to be noted
        reach("enrichment_noted")
        return {episode.owner for episode in waiting}


def enriched(text: str, at: datetime, zone: tzinfo, entities: Sequence[Entity] = ()) -> dict[str, str]:
    """What is noted about a message of the time `at`; what does not show is left out.

    `importance` (0..1, by length), `memory_type` (question, greeting or statement), `language` (ISO 639-1), `entities`
    (see `entities_in`) and `times` (see `referenced_times`, parted by blanks).
    """
    words = count_words(text)
    noted = {
        "importance": f"{round(min(words / FULL_LENGTH, 1.0), 3):g}",
        ENRICHED: _kind(text, words, bool(entities)),
        "language": language_of(text),
        ENTITIES: "\n".join(f"{entity.kind}: {entity.text}" for entity in entities),
        TIMES: " ".join(referenced_times(text, at, zone)),
    }
    return {name: value for name, value in noted.items() if value}


def entities_in(meta: Mapping[str, str]) -> tuple[Entity, ...]:
    """The entities that stand in the meta of an episode: one on each line, after its kind and a colon."""
    return tuple(_entities(meta.get(ENTITIES, "").splitlines()))


def _entities(lines: Iterable[str]) -> Iterable[Entity]:
    for line in lines:
        kind, _, text = line.partition(": ")
        if text and kind in _KINDS:
            yield Entity(EntityKind(kind), text)


def _kind(text: str, words: int, names: bool) -> str:
    if is_question(text):
        return "question"
    return "greeting" if words < GREETING and not names and not any(map(str.isdigit, text)) else "statement"
