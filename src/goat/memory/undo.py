"""Undoing the last change of a fact or of the identity.

An undo is a change like any other: it stands in the history, and a second one takes it back. What was forgotten does
not come back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from goat.memory.l1_facts import Facts
from goat.ports.run import Clock
from goat.ports.stores import PermanentStore
from goat.records.memory import Fact, IdentityText

IDENTITY = "identity"


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo did: of which key (`identity` for the identity text), the value that went and the one that is back.

    None stands for no value; for the identity that is the configured text.
    """

    key: str
    went: str | None
    back: str | None


class Undo:
    """Takes back the newest change among an owner's facts and identity texts."""

    def __init__(self, store: PermanentStore, facts: Facts, clock: Clock) -> None:
        self._store = store
        self._facts = facts
        self._clock = clock

    async def last(self, owner: str) -> Undone | None:
        """Undo the last change; None when there is none. Raises `BackendUnavailable`."""
        held = await self._store.everything(owner)
        by_key: dict[str, list[Fact]] = {}
        for fact in held.facts:
            by_key.setdefault(fact.key, []).append(fact)
        changed = {key: _changed(history) for key, history in by_key.items()}
        key = max(changed, key=lambda key: changed[key], default=None)
        if held.identities and (key is None or _changed(held.identities) > changed[key]):
            return await self._identity(owner, held.identities)
        return None if key is None else await self._fact(owner, key, by_key[key])

    async def _fact(self, owner: str, key: str, history: list[Fact]) -> Undone:
        newest, now = history[-1], self._clock.now()
        if newest.until is not None:
            await self._store.put_fact(owner, key, newest.value, now, newest.source_episode)
            undone = Undone(key, None, newest.value)
        elif len(history) > 1 and history[-2].until == newest.since:
            before = history[-2]
            await self._store.put_fact(owner, key, before.value, now, before.source_episode)
            undone = Undone(key, newest.value, before.value)
        else:
            await self._store.drop_fact(owner, key, now)
            undone = Undone(key, newest.value, None)
        self._facts.forget_cached(owner)
        return undone

    async def _identity(self, owner: str, history: tuple[IdentityText, ...]) -> Undone:
        newest, now = history[-1], self._clock.now()
        if newest.until is not None:
            await self._store.put_identity(owner, newest.text, now)
            return Undone(IDENTITY, None, newest.text)
        before = history[-2].text if len(history) > 1 and history[-2].until == newest.since else None
        await self._store.put_identity(owner, before, now)
        return Undone(IDENTITY, newest.text, before)


def _changed(history: Iterable[Fact | IdentityText]) -> datetime:
    """When a history changed last."""
    return max(moment for value in history for moment in (value.since, value.until) if moment is not None)
