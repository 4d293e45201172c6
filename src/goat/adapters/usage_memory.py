"""The UsageLog port in memory: the reference that the suites compare with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date

from goat.records.usage import ModelCall, UsageDay


class MemoryUsageLog:
    """Calls in a list; see the port `UsageLog` for its promises."""

    def __init__(self) -> None:
        self.calls: list[ModelCall] = []

    async def record(self, call: ModelCall) -> None:
        """Keep a call."""
        self.calls.append(call)

    async def spent(self, day: date) -> float:
        """What is known to have been spent on a day."""
        return sum(call.usage.cost_usd or 0.0 for call in self.calls if call.day == day)

    async def days(self, since: date, until: date, owner: str | None = None) -> list[UsageDay]:
        """The sums per day, owner and model."""
        groups: defaultdict[tuple[date, str, str, str], list[ModelCall]] = defaultdict(list)
        for call in self.calls:
            if since <= call.day <= until and owner in {None, call.owner}:
                groups[call.day, call.owner, call.provider, call.model].append(call)
        return [_summed(*key, groups[key]) for key in sorted(groups)]


def _summed(day: date, owner: str, provider: str, model: str, calls: Sequence[ModelCall]) -> UsageDay:
    used = [call.usage for call in calls]
    return UsageDay(
        day=day,
        owner=owner,
        provider=provider,
        model=model,
        calls=len(used),
        prompt_tokens=sum(usage.prompt_tokens for usage in used),
        cached_tokens=sum(usage.cached_tokens for usage in used),
        completion_tokens=sum(usage.completion_tokens for usage in used),
        cost_usd=sum(usage.cost_usd or 0.0 for usage in used),
        unpriced=sum(usage.cost_usd is None for usage in used),
        estimated=sum(usage.estimated for usage in used),
    )
