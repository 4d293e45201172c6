"""The bench of imports, at sizes that a test can wait for."""

from __future__ import annotations

import sys

from goat.bench.imports import GROWTH_GOAL_MIB, Measured, run


def test_each_size_is_imported_in_a_process_of_its_own_and_its_figures_stand_beside_their_goals() -> None:
    steps: list[str] = []
    figures = {figure.name: figure for figure in run(steps.append, sizes=(300, 600), sample=20)}
    assert "importing 600 messages" in steps
    for size in (300, 600):
        rate = figures[f"import without vectors at {size}"]
        assert (rate.goal, rate.unit, rate.more_is_better) == (1000, "messages/s", True)
        assert figures[f"import with vectors at {size}, at that rate"].value < rate.value
        assert figures[f"· importing at {size}"].value > rate.value
    if sys.platform != "win32":
        growth = figures["growth of the peak from 300 to 600"]
        assert growth.goal == GROWTH_GOAL_MIB
        assert growth.value < figures["peak memory of an import at 600"].value


def test_vectors_are_reckoned_at_the_rate_of_the_sample() -> None:
    measured = Measured(
        messages=1_000, passages=2_000, checking=1, importing=1, repeating=1, peak_mib=0, embedded=100, embedding=2
    )
    assert measured.rate == 500
    assert measured.rate_with_vectors == 1_000 / (2 + 2_000 * 2 / 100)
