"""The answer when no language model is configured: quotations from memory, and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import tzinfo

from goat.records.episodes import Role
from goat.records.models import ModelRequest, Reply
from goat.records.search import Recalled

QUESTION_MARKS = ("?", "？", "؟", ";")
MOST_QUOTES = 3
NEAR_BEST = 0.6
"""A further quotation needs this part of the best one's relevance."""

HOW_TO_CONFIGURE = (
    "(No language model is configured, so I answer by quoting what you told me. `./run.sh setup` connects one.)"
)


class OfflineModel:
    """Quotes the recalled episodes verbatim with their dates; says so when there are none. Never invents.

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
        text = self._answer(request)
        if await self._first_time():
            text = f"{text}\n\n{HOW_TO_CONFIGURE}"
        return Reply(text, model=self.name, quotes_only=True)

    def _answer(self, request: ModelRequest) -> str:
        chosen = best_quotes(request.recalled)
        if chosen:
            return "\n\n".join(["From memory:", *(self._quote(result) for result in chosen)])
        if _is_question(request.question):
            return "Nothing found in memory about that."
        return "Kept, word for word. Nothing in memory relates to it yet."

    def _quote(self, result: Recalled) -> str:
        episode = result.episode
        who = episode.speaker or ("you" if episode.role is Role.USER else "I")
        lines = "\n".join(f"> {line}" for line in episode.text.splitlines() or [""])
        return f"{episode.at.astimezone(self._zone):%Y-%m-%d %H:%M}, {who} said:\n{lines}"


def best_quotes(recalled: Sequence[Recalled]) -> list[Recalled]:
    """At most three results near the best one; earlier questions are left out where there are answers."""
    statements = [result for result in recalled if not _is_question(result.episode.text)]
    pool = statements or list(recalled)
    best = max((result.relevance for result in pool), default=0.0)
    return [result for result in pool if result.relevance >= best * NEAR_BEST][:MOST_QUOTES]


def _is_question(text: str) -> bool:
    return text.rstrip().endswith(QUESTION_MARKS)
