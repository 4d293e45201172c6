"""L1, the facts: read each turn through a short cache, so that a slow store costs one turn and not all.

A key has one value at a time. A new value supersedes the old one, which stays in the history with its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Final

from goat.ports.models import TokenCounter
from goat.ports.run import Clock, Locks
from goat.ports.stores import PermanentStore
from goat.records.memory import Fact
from goat.retrieval.clean import clean
from goat.retrieval.fold import fold

CACHE_SECONDS = 5.0

NEAR: Final = 0.87
"""The likeness (0..1) of two keys from which on they are taken for two spellings of one."""

LONGEST_KEY: Final = 100
"""Characters of a key."""


class Kept(StrEnum):
    """What became of a fact that was to be kept."""

    SET = "set"
    CHANGED = "changed"
    SAME = "same"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Promotion:
    """The outcome of `Facts.promote`: the key it went under, the value before, and for a refusal why and what to do.

    `used` of `cap` tokens are taken by the facts that hold now.
    """

    outcome: Kept
    key: str
    value: str
    before: str | None
    used: int
    cap: int
    reason: str = ""


class Facts:
    """The facts of an owner."""

    def __init__(self, store: PermanentStore, clock: Clock, tokens: TokenCounter, cap: int, locks: Locks) -> None:
        self._store = store
        self._clock = clock
        self._tokens = tokens
        self._locks = locks
        self.cap = cap
        self._cached: dict[str, tuple[float, list[Fact]]] = {}

    async def read(self, owner: str) -> list[Fact]:
        """The facts by key. Raises `BackendUnavailable` when they were never read and cannot be now."""
        cached = self._cached.get(owner)
        now = self._clock.monotonic()
        if cached is not None and now - cached[0] < CACHE_SECONDS:
            return cached[1]
        facts = await self._store.facts(owner)
        self._cached[owner] = (now, facts)
        return facts

    def forget_cached(self, owner: str) -> None:
        """Read the store again at the next turn."""
        self._cached.pop(owner, None)

    def used(self, facts: Sequence[Fact]) -> int:
        """The tokens of the facts as they stand in a prompt."""
        return self._tokens.count(shown(facts)) if facts else 0

    async def promote(
        self, owner: str, key: str, value: str, source_episode: int | None = None, *, another: bool = False
    ) -> Promotion:
        """Keep a value under a key, in the place of the key's value before.

        Another spelling of a key that is there (case, accents, signs) is that key. One that merely looks alike is
        refused, unless the caller says that it is `another` one; so is what makes the facts exceed the cap.
        Raises `BackendUnavailable`.
        """
        key, value = _tidy(key)[:LONGEST_KEY], _tidy(value)
        async with self._locks.hold(f"facts:{owner}"):
            facts = await self._store.facts(owner)
            there = find(facts, key)
            key = there.key if there else key
            before = there.value if there else None
            reason = self._refusal(facts, Fact(key, value, self._clock.now()), another)
            if reason:
                return Promotion(Kept.REFUSED, key, value, before, self.used(facts), self.cap, reason)
            if before == value:
                return Promotion(Kept.SAME, key, value, before, self.used(facts), self.cap)
            await self._store.put_fact(owner, key, value, self._clock.now(), source_episode)
            self.forget_cached(owner)
            outcome = Kept.CHANGED if there else Kept.SET
            used = self.used(_with(facts, Fact(key, value, self._clock.now())))
            return Promotion(outcome, key, value, before, used, self.cap)

    async def drop(self, owner: str, key: str) -> Fact | None:
        """End a fact, which stays in the history; the fact, or None where there is none.

        Raises `BackendUnavailable`.
        """
        async with self._locks.hold(f"facts:{owner}"):
            there = find(await self._store.facts(owner), key)
            if there is None:
                return None
            await self._store.drop_fact(owner, there.key, self._clock.now())
            self.forget_cached(owner)
            return there

    async def history(self, owner: str, key: str) -> list[Fact]:
        """Every value that the key has had, oldest first, whatever its spelling. Raises `BackendUnavailable`."""
        held = await self._store.everything(owner)
        return [fact for fact in held.facts if _same(fact.key, key)]

    def _refusal(self, facts: Sequence[Fact], new: Fact, another: bool) -> str:
        if not new.key or not new.value:
            return "A fact needs a key and a value; one of them is empty."
        near = None if another or find(facts, new.key) else _near(facts, new.key)
        if near:
            return (
                f"There is a fact {near.key!r} already ({near.value}). Use that key to change it, or say that "
                f"{new.key!r} is another one."
            )
        needed = self.used(_with(facts, new))
        if needed <= self.cap:
            return ""
        longest = sorted(facts, key=lambda fact: -self.used([fact]))[:3]
        named = ", ".join(f"{fact.key} ({self.used([fact])})" for fact in longest) or "none"
        return (
            f"The facts use {self.used(facts)} of {self.cap} tokens and would need {needed} with this one. Shorten it, "
            f"or drop a fact first; the longest are: {named}."
        )


def shown(facts: Sequence[Fact]) -> str:
    """The facts as lines of a prompt."""
    return "\n".join(f"- {fact.key}: {fact.value}" for fact in facts)


def find(facts: Sequence[Fact], key: str) -> Fact | None:
    """The fact of a key, whatever its spelling."""
    exact = next((fact for fact in facts if fact.key == key), None)
    return exact or next((fact for fact in facts if _same(fact.key, key)), None)


def _with(facts: Sequence[Fact], new: Fact) -> list[Fact]:
    return [*(fact for fact in facts if fact.key != new.key), new]


def _near(facts: Sequence[Fact], key: str) -> Fact | None:
    wanted = _bare(key)
    likeness = [(SequenceMatcher(None, _bare(fact.key), wanted).ratio(), fact) for fact in facts]
    best, fact = max(likeness, key=lambda pair: pair[0], default=(0.0, None))
    numbers = "".join(filter(str.isdigit, wanted))
    return fact if fact and best >= NEAR and "".join(filter(str.isdigit, _bare(fact.key))) == numbers else None


def _same(left: str, right: str) -> bool:
    return left == right or (bool(_bare(left)) and _bare(left) == _bare(right))


def _bare(key: str) -> str:
    """The key's letters and digits, folded."""
    return "".join(filter(str.isalnum, fold(key)))


def _tidy(text: str) -> str:
    """One line without what cannot be stored."""
    return " ".join(clean(text)[0].split())
