"""What a long message asks.

A question behind a pasted page is a few words among hundreds, and what answers it is near to them, not to the page. So
the questions of a long message are looked for by themselves too.
"""

from __future__ import annotations

import re

from goat.records.search import Recall, Recalled
from goat.retrieval.passages import split_passages
from goat.retrieval.query import sought
from goat.retrieval.terms import is_short_question

MOST_ASKED = 3
"""Questions of a message that are looked for together. More of them belong to what was pasted: then the first and the
last are, for a person asks before or behind it."""

_SENTENCE_END = re.compile(r"(?<=[.!?…\u061f])\s+|\n+|(?<=[。！？])")


def asked_in(text: str) -> str:
    """The questions of a message that is longer than a passage; empty where it is shorter, or asks nothing."""
    text = sought(text)
    if len(split_passages(text)) < 2:
        return ""
    asked = [part.strip() for part in _SENTENCE_END.split(text) if is_short_question(part)]
    return " ".join(asked if len(asked) <= MOST_ASKED else [asked[0], asked[-1]])


def together(whole: Recall, asked: Recall, limit: int) -> Recall:
    """What was found for a whole message and for what it asks: each in its order, at every place the more relevant of
    the two. An episode that both found stands as the one to which it is more relevant found it."""
    best: dict[int, Recalled] = {}
    for one in (*whole.results, *asked.results):
        if one.episode.id not in best or one.relevance > best[one.episode.id].relevance:
            best[one.episode.id] = one
    lists = [list(reversed(whole.results)), list(reversed(asked.results))]
    order: dict[int, None] = {}
    while waiting := [one for one in lists if one]:
        order.setdefault(max(waiting, key=lambda one: one[-1].relevance).pop().episode.id)
    lost = tuple(dict.fromkeys((*whole.lost, *asked.lost)))
    return Recall(whole.query, tuple(best[number] for number in order)[:limit], lost, whole.stage_ms)
