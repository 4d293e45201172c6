from __future__ import annotations

import pytest

from goat.interfaces.money import cost, tokens
from goat.records.usage import Usage, dollars


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
