"""The PermanentStore port in this process's memory: the reference for its contract."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime

from goat.adapters.permanent_merge import V, merged, without
from goat.records.memory import Fact, IdentityText, PermanentHistory


class MemoryPermanentStore:
    """See the port `PermanentStore`. Setting what holds already changes nothing."""

    def __init__(self) -> None:
        self._facts: defaultdict[tuple[str, str], list[Fact]] = defaultdict(list)
        self._identities: defaultdict[str, list[IdentityText]] = defaultdict(list)

    async def facts(self, owner: str) -> list[Fact]:
        """The facts that hold now, by key."""
        owned = (history for (whose, _), history in self._facts.items() if whose == owner)
        current = (history[-1] for history in owned if history[-1].until is None)
        return sorted(current, key=lambda fact: fact.key)

    async def put_fact(self, owner: str, key: str, value: str, at: datetime, source_episode: int | None) -> None:
        """Set a fact; the older value is kept with its end."""
        history = self._facts[owner, key]
        if history and history[-1].until is None:
            if history[-1].value == value:
                return
            history[-1] = _ended(history[-1], at)
        history.append(Fact(key, value, at.astimezone(UTC), None, source_episode))

    async def drop_fact(self, owner: str, key: str, at: datetime) -> bool:
        """End a fact; False when there is none."""
        history = self._facts.get((owner, key), [])
        if not history or history[-1].until is not None:
            return False
        history[-1] = _ended(history[-1], at)
        return True

    async def history(self, owner: str, key: str) -> list[Fact]:
        """Every value that the key has had, oldest first."""
        return list(self._facts.get((owner, key), []))

    async def identity(self, owner: str) -> str | None:
        """The owner's identity text."""
        texts = self._identities.get(owner, [])
        return texts[-1].text if texts and texts[-1].until is None else None

    async def put_identity(self, owner: str, text: str | None, at: datetime) -> None:
        """Set the identity text, or remove it; the older one is kept with its end."""
        texts = self._identities[owner]
        if await self.identity(owner) == text:
            return
        if texts and texts[-1].until is None:
            texts[-1] = _ended(texts[-1], at)
        if text is not None:
            texts.append(IdentityText(text, at.astimezone(UTC)))

    async def everything(self, owner: str) -> PermanentHistory:
        """All facts and identity texts that the owner has or had."""
        keys = sorted(key for whose, key in self._facts if whose == owner)
        facts = tuple(fact for key in keys for fact in self._facts[owner, key])
        return PermanentHistory(facts, tuple(self._identities.get(owner, [])))

    async def take_in(self, owner: str, brought: PermanentHistory) -> int:
        """Merge values that come from elsewhere."""
        taken = 0
        for key in dict.fromkeys(fact.key for fact in brought.facts):
            new = [replace(fact, since=fact.since.astimezone(UTC)) for fact in brought.facts if fact.key == key]
            self._facts[owner, key], count = merged(self._facts[owner, key], new)
            taken += count
        self._identities[owner], count = merged(self._identities[owner], brought.identities)
        return taken + count

    async def erase(self, owner: str, unwanted: PermanentHistory) -> int:
        """Remove values, also from the history."""
        held = await self.everything(owner)
        rest = without(held, unwanted)
        for key in {fact.key for fact in held.facts}:
            self._facts[owner, key] = [fact for fact in rest.facts if fact.key == key]
            if not self._facts[owner, key]:
                del self._facts[owner, key]
        self._identities[owner] = list(rest.identities)
        return len(held.facts) + len(held.identities) - len(rest.facts) - len(rest.identities)


def _ended(value: V, at: datetime) -> V:
    """The value with its end, which is never before its start."""
    return replace(value, until=max(at.astimezone(UTC), value.since))
