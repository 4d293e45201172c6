"""What model calls used and cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls. `cached_tokens` are a part of `prompt_tokens`.

    `cost_usd` is None where it is not known; `estimated` says that the endpoint did not count and GOAT did.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = False

    def __bool__(self) -> bool:
        """Whether anything was used."""
        return bool(self.prompt_tokens or self.completion_tokens)

    def __add__(self, other: Usage) -> Usage:
        """Both together; the cost is known when that of each is, and nothing costs nothing."""
        costs = [usage.cost_usd for usage in (self, other) if usage]
        known = [cost for cost in costs if cost is not None]
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            sum(known) if costs and len(known) == len(costs) else None,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A model call that used something. `day` is the date at the owner's place; `exchange_id` names the turn."""

    at: datetime
    day: date
    owner: str
    chat: str
    exchange_id: str
    provider: str
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class UsageDay:
    """What one owner used of one model on one day. `unpriced` calls have no known cost and are not in `cost_usd`."""

    day: date
    owner: str
    provider: str
    model: str
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost_usd: float
    unpriced: int = 0
    estimated: int = 0


def dollars(amount: float) -> str:
    """An amount of USD: cents where it has them, else its first two digits that count."""
    if amount == 0 or amount >= 0.1:
        return f"${amount:,.2f}"
    if amount < 0.000_001:
        return "under $0.000001"
    digits = 2
    while round(amount, digits) < amount * 0.95 or round(amount, digits) > amount * 1.05:
        digits += 1
    return f"${amount:.{digits}f}"
