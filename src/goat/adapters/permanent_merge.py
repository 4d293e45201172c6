"""How the values of two histories of one thing become one history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from goat.records.memory import Fact, IdentityText, PermanentHistory

V = TypeVar("V", Fact, IdentityText)


def merged(standing: Sequence[V], brought: Sequence[V]) -> tuple[list[V], int]:
    """The history of both, and how many of the brought values are new to it.

    At most one value holds, and it stands last. With nothing standing the brought order is kept.
    """
    known = {_identity(value) for value in standing}
    fresh: list[V] = list({_identity(value): value for value in brought if _identity(value) not in known}.values())
    values = list(standing)
    values.extend(fresh)
    if standing and fresh:
        values.sort(key=lambda value: value.since)
    holding = max((value for value in values if value.until is None), key=lambda value: value.since, default=None)
    if holding is None or not fresh:
        return values, len(fresh)
    history: list[V] = [_ended(value, holding) for value in values if value is not holding]
    history.append(holding)
    return history, len(fresh)


def without(held: PermanentHistory, unwanted: PermanentHistory) -> PermanentHistory:
    """The history without the unwanted values; a value is known by its text and its start."""
    facts = {(fact.key, *_identity(fact)) for fact in unwanted.facts}
    texts = {_identity(text) for text in unwanted.identities}
    return PermanentHistory(
        tuple(fact for fact in held.facts if (fact.key, *_identity(fact)) not in facts),
        tuple(text for text in held.identities if _identity(text) not in texts),
    )


def _identity(value: Fact | IdentityText) -> tuple[object, ...]:
    return (value.value if isinstance(value, Fact) else value.text, value.since)


def _ended(value: V, by: V) -> V:
    return value if value.until is not None else replace(value, until=max(value.since, by.since))
