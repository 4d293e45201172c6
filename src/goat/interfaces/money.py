"""Tokens and money as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence

from goat.interfaces.texts import Texts
from goat.records.turns import TurnRecord
from goat.records.usage import Usage, UsageDay, dollars

UNKNOWN = "cost unknown"


def usage_line(record: TurnRecord) -> str:
    """One line on what a turn used: the model, the tokens, the cost and the time."""
    seconds = record.total_ms / 1000
    return f"{record.model} · {tokens(record.usage)} · {cost(record.usage)} · {seconds:.1f} s"


def tokens(usage: Usage) -> str:
    """The tokens of a usage, in and out, such as `1,204 → 37 tokens (1,024 cached)`."""
    about = "about " if usage.estimated else ""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    return f"{about}{usage.prompt_tokens:,} → {usage.completion_tokens:,} tokens{cached}"


def cost(usage: Usage) -> str:
    """The cost of a usage; one that is not known is never 0."""
    if usage.cost_usd is None:
        return UNKNOWN
    return f"{'about ' if usage.estimated else ''}{dollars(usage.cost_usd)}"


def spent(say: Texts, rows: Sequence[UsageDay]) -> str:
    """What the calls of some days used and cost together; told where the cost of some is not known."""
    known, unpriced = sum(row.cost_usd for row in rows), sum(row.unpriced for row in rows)
    priced = sum(row.calls for row in rows) > unpriced or not rows
    amount = dollars(known) if priced else say("commands.cost_unknown")
    if priced and unpriced:
        amount = say("commands.cost_partly", cost=amount)
    return say(
        "commands.spent",
        calls=say("commands.calls", n=sum(row.calls for row in rows)),
        prompt=sum(row.prompt_tokens for row in rows),
        answer=sum(row.completion_tokens for row in rows),
        cost=amount,
    )
