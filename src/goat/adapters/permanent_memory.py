"""The PermanentStore port in this process's memory: the reference for its contract."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime

from goat.records.memory import Fact


class MemoryPermanentStore:
    """See the port `PermanentStore`. Setting what holds already changes nothing."""

    def __init__(self) -> None:
        self._facts: defaultdict[tuple[str, str], list[Fact]] = defaultdict(list)
        self._identities: dict[str, str] = {}

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
        return self._identities.get(owner)

    async def put_identity(self, owner: str, text: str | None, at: datetime) -> None:
        """Set the identity text, or remove it."""
        if text is None:
            self._identities.pop(owner, None)
        else:
            self._identities[owner] = text


def _ended(fact: Fact, at: datetime) -> Fact:
    """The fact with its end, which is never before its start."""
    return replace(fact, until=max(at.astimezone(UTC), fact.since))
