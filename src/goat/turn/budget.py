"""AITS, Adaptive Intent Token Scaling, and the split of the budget between the layers. Pure.

    budget = base + confidence * multiplier + complexity * bonus, at most the hard cap
    complexity = 0.7 * min(characters / 200, 1) + 0.3 * min(connectors / 3, 1)

Confidence is 0 without a cue, 0.5 with second-rank cues only, 0.8 with one first-rank cue and 0.1 more for each further
one, at most 1.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from goat.ports.models import TokenCounter
from goat.records.episodes import Role
from goat.records.memory import HistoryMessage
from goat.retrieval.words import UNSPACED
from goat.settings.sections import AitsSettings

WORD = re.compile(r"[^\W_]+")
WITHOUT_SPACES = re.compile(f"[{UNSPACED}]")
CUT_MARK = " […]"
SEPARATORS = ",;，、；"
CONSIDERED = 4000
"""Characters of a message that the formula looks at; what a person asks stands at its beginning."""
PIN_SHARE = 4
"""The first message stays while it costs less than this fraction (1/4) of the conversation's share."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens that a prompt may have, and the two signals that they come from."""

    tokens: int
    confidence: float
    complexity: float


@dataclass(frozen=True, slots=True)
class Shares:
    """Tokens for the conversation (L2), and what is left for the recalled episodes (L3) at least."""

    history: int
    recalled: int


def _folded_words(text: str) -> str:
    """Lower-case words without diacritics, single spaces around each."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return f" {' '.join(WORD.findall(plain))} "


def _cue(text: str) -> str:
    """A cue as it is looked for: whole words, but any place inside a text of a script without spaces."""
    folded = _folded_words(text)
    return folded.strip() if WITHOUT_SPACES.search(folded) else folded


class Aits:
    """The budget formula with its cue lists."""

    def __init__(self, settings: AitsSettings) -> None:
        self._settings = settings
        cues = tomllib.loads(files("goat.turn").joinpath("data/cues.toml").read_text(encoding="utf-8"))
        self._first = sorted({_cue(cue) for cue in cues["first"]}, key=len, reverse=True)
        self._second = {_cue(cue) for cue in cues["second"]}
        self._connectors = {_cue(word) for word in cues["connectors"]}

    def budget(self, text: str) -> Budget:
        """The budget for a message, in tokens."""
        text = text[:CONSIDERED]
        head = _folded_words(text)
        first = self._count_first(head)
        confidence = min(0.8 + 0.1 * (first - 1), 1.0) if first else 0.0
        if not first and any(cue in head for cue in self._second):
            confidence = 0.5
        joints = sum(head.count(word) for word in self._connectors) + sum(map(text.count, SEPARATORS))
        complexity = 0.7 * min(len(text) / 200, 1.0) + 0.3 * min(joints / 3, 1.0)
        one = self._settings
        tokens = one.budget_base + one.confidence_multiplier * confidence + one.complexity_max_bonus * complexity
        return Budget(min(int(tokens), one.budget_hard_cap), confidence, complexity)

    def _count_first(self, words: str) -> int:
        """Distinct first-rank cues; a word of a longer cue is not counted again on its own."""
        count = 0
        for cue in self._first:
            if cue in words:
                count += 1
                words = words.replace(cue, "  ")
        return count


def split(budget: int, mandatory: int, recalled_wanted: int, guaranteed: int, floor: int) -> Shares:
    """Divide what the mandatory blocks leave: L3's guarantee first, then L2, never below its floor while there is room.

    `recalled_wanted` is what all recalled episodes would cost: a guarantee beyond it would be wasted.
    """
    available = max(budget - mandatory, 0)
    guarantee = min(guaranteed, recalled_wanted, available)
    history = available - guarantee
    if history < floor:
        history = min(floor, available)
    return Shares(history=history, recalled=available - history)


def clip(text: str, tokens: int, counter: TokenCounter) -> str:
    """The text, or its longest beginning that fits `tokens` together with a mark; empty when not even the mark fits."""
    if counter.count(text) <= tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(text[:middle] + CUT_MARK) <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low] + CUT_MARK if low else ""


def fit_history(
    messages: Sequence[HistoryMessage], tokens: int, counter: TokenCounter, overhead: int = 0
) -> list[HistoryMessage]:
    """The newest messages that fit, oldest first; each costs `overhead` beside its text.

    The newest exchange is always there, cut where it must be; the first message stays while it is short and what
    is left pays for it. What is left out in between is left out in steps of two exchanges, so that the beginning stays
    the same for some turns, and the message after it is marked.
    """
    if not messages or tokens <= 0:
        return []
    newest = messages[-2:]
    kept = [replace(m, text=clip(m.text, tokens // len(newest) - overhead, counter)) for m in newest]
    spent = sum(counter.count(message.text) + overhead for message in kept)
    older = list(messages[:-2])
    pinned: list[HistoryMessage] = []
    if older and (cost := counter.count(older[0].text) + overhead) * PIN_SHARE < tokens and spent + cost <= tokens:
        pinned = [older.pop(0)]
        spent += cost
    start = len(older)
    while start and (spent := spent + counter.count(older[start - 1].text) + overhead) <= tokens:
        start -= 1
    if start:
        start = _steady_start(older, start)
        kept = [*older[start:], *kept]
        kept[0] = replace(kept[0], after_gap=True)
        return pinned + kept
    return pinned + older + kept


def _steady_start(messages: Sequence[HistoryMessage], earliest: int) -> int:
    """The first message from `earliest` on that opens an odd-numbered exchange, `earliest` itself without one."""
    opening = [place for place, message in enumerate(messages) if message.role is Role.USER]
    return next((place for place in opening[::2] if place >= earliest), earliest)
