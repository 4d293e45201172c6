"""Tokens and money as a person reads them."""

from __future__ import annotations

from goat.records.turns import TurnRecord
from goat.records.usage import Usage

UNKNOWN = "cost unknown"


def usage_line(record: TurnRecord) -> str:
    """One line on what a turn used: the model, the tokens, the cost and the time."""
    seconds = record.total_ms / 1000
    return f"{record.model} · {tokens(record.usage)} · {cost(record.usage)} · {seconds:.1f} s"


def tokens(usage: Usage) -> str:
    """The tokens of a usage, such as `1,204 tokens in (1,024 cached), 37 out`."""
    about = "about " if usage.estimated else ""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    return f"{about}{usage.prompt_tokens:,} tokens in{cached}, {usage.completion_tokens:,} out"


def cost(usage: Usage) -> str:
    """The cost of a usage; one that is not known is never 0."""
    if usage.cost_usd is None:
        return UNKNOWN
    return f"{'about ' if usage.estimated else ''}{dollars(usage.cost_usd)}"


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
