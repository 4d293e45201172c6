"""Notices an answer that is, word for word, the one before: a model that is stuck, as a rule."""

from __future__ import annotations

from collections.abc import Sequence

from goat.records.models import ChatMessage
from goat.tools.evidence import without_copied_evidence

SHORTEST = 80
"""A shorter answer ("Yes.", "Done.") may well be right twice."""


def earlier_answer(messages: Sequence[ChatMessage]) -> str:
    """The answer before the newest message, when repeating it would be odd; else an empty text.

    It is not odd for a short answer, nor when the person said the same thing again.
    """
    spoken = [one for one in messages if one.role in {"user", "assistant"} and one.content.strip()]
    places = [place for place, one in enumerate(spoken) if one.role == "assistant"]
    if not places:
        return ""
    asked = [one.content.strip() for one in spoken[: places[-1]] if one.role == "user"]
    answer = without_copied_evidence(spoken[places[-1]].content).strip()
    again = bool(asked) and asked[-1] == spoken[-1].content.strip()
    return "" if again or len(answer) < SHORTEST else answer
