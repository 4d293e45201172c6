from __future__ import annotations

from datetime import date

import pytest

from goat.interfaces.money import cost, spent, tokens
from goat.interfaces.texts import texts_for
from goat.records.usage import Usage, UsageDay, dollars


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (0, "$0.00"),
        (0.0000001, "under $0.000001"),
        (0.000004, "$0.000004"),
        (0.000345, "$0.00034"),
        (0.0123, "$0.012"),
        (0.1, "$0.10"),
        (12345.678, "$12,345.68"),
    ],
)
def test_an_amount_is_shown_with_the_digits_that_count(amount: float, shown: str) -> None:
    assert dollars(amount) == shown


def test_a_cost_that_is_not_known_is_not_shown_as_nothing() -> None:
    assert cost(Usage(10, 5)) == "cost unknown"
    assert cost(Usage(10, 5, 0, 0.0)) == "$0.00"


def test_tokens_are_shown_with_those_from_the_cache_and_estimates_as_such() -> None:
    assert tokens(Usage(1204, 37, 1024)) == "1,204 → 37 tokens (1,024 cached)"
    assert tokens(Usage(10, 5, estimated=True)) == "about 10 → 5 tokens"


def used(cost_usd: float, unpriced: int) -> UsageDay:
    return UsageDay(date(2026, 3, 2), "o", "p", "m", 2, 10, 0, 5, cost_usd, unpriced)


@pytest.mark.parametrize(
    ("rows", "english", "romanian"),
    [
        ([used(0.5, 0)], "2 calls, 10 → 5 tokens, $0.50", "2 apeluri, 10 → 5 tokeni, $0.50"),
        ([used(0, 2)], "2 calls, 10 → 5 tokens, cost unknown", "2 apeluri, 10 → 5 tokeni, cost necunoscut"),
        (
            [used(0.5, 1)],
            "2 calls, 10 → 5 tokens, $0.50 and calls of unknown cost",
            "2 apeluri, 10 → 5 tokeni, $0.50 și apeluri cu cost necunoscut",
        ),
    ],
)
def test_what_was_spent_is_told_in_words_where_it_is_not_known(
    rows: list[UsageDay], english: str, romanian: str
) -> None:
    assert spent(texts_for("en"), rows) == english
    assert spent(texts_for("ro"), rows) == romanian
