"""The answer when no language model is configured: quotations from memory, and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import tzinfo

from goat.adapters.model_offline_words import Words, words_of
from goat.records.episodes import Role
from goat.records.models import ModelRequest, Reply
from goat.records.search import Recalled

QUESTION_MARKS = ("?", "？", "؟", ";")
MOST_QUOTES = 3
NEAR_BEST = 0.75
"""A further quotation needs this part of the best one's relevance."""
AS_GOOD = 0.1
"""How much less relevant than the best a result may be and count as good as it."""


class OfflineModel:
    """Quotes the recalled episodes verbatim with their dates; says so when there are none. Never invents. Its own
    words are in the language of the person.

    `first_time` tells, once per home, that the hint on how to configure a model is due.
    """

    def __init__(self, zone: tzinfo, first_time: Callable[[], Awaitable[bool]]) -> None:
        self._zone = zone
        self._first_time = first_time

    @property
    def name(self) -> str:
        """What the status shows."""
        return "offline"

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """Answer from `request.recalled` alone, at once: there are no pieces to show before the reply is committed."""
        words = words_of(request.language)
        text = self._answer(request, words)
        if await self._first_time():
            text = f"{text}\n\n{words.how_to_configure}"
        return Reply(text, model=self.name, quotes_only=True)

    def _answer(self, request: ModelRequest, words: Words) -> str:
        chosen = best_quotes(request.recalled)
        if chosen:
            return "\n\n".join([words.found, *(self._quote(result, words) for result in chosen)])
        if _is_question(request.question):
            return words.nothing_found
        return words.kept

    def _quote(self, result: Recalled, words: Words) -> str:
        episode = result.episode
        own = words.person if episode.role is Role.USER else words.itself
        said = words.other.format(who=episode.speaker) if episode.speaker else own
        lines = "\n".join(f"> {line}" for line in episode.text.splitlines() or [""])
        return f"{episode.at.astimezone(self._zone):%Y-%m-%d %H:%M}, {said}:\n{lines}"


def best_quotes(recalled: Sequence[Recalled]) -> list[Recalled]:
    """At most three results near the best one; earlier questions are left out where there are answers.

    Of those as good as the best the newest comes first: it says how it is now.
    """
    statements = [result for result in recalled if not _is_question(result.episode.text)]
    pool = statements or list(recalled)
    best = max((result.relevance for result in pool), default=0.0)
    as_good = [one for one in pool if one.relevance >= best - AS_GOOD]
    others = [one for one in pool if best * NEAR_BEST <= one.relevance < best - AS_GOOD]
    return [*sorted(as_good, key=lambda one: one.episode.at, reverse=True), *others][:MOST_QUOTES]


def _is_question(text: str) -> bool:
    return text.rstrip().endswith(QUESTION_MARKS)
