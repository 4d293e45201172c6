"""What the LoCoMo bench says of the questions that name a time."""

from __future__ import annotations

from goat.bench.locomo import WITHOUT_TIMES, Asked, times
from goat.bench.locomo_data import Question


def asked(with_times: list[str], without: list[str] | None) -> Asked:
    one = Asked(Question("when?", "2", frozenset({"D1:1"})), {"D1:1": "D1", "D2:1": "D2"})
    one.ranked["goat"] = with_times
    if without is not None:
        one.ranked[WITHOUT_TIMES] = without
    return one


def test_only_questions_that_name_a_time_count() -> None:
    found = times(
        [
            asked(["D1:1", "D2:1"], ["D2:1", "D1:1"]),
            asked(["D1:1"], ["D1:1"]),
            asked(["D2:1"], None),
        ]
    )
    assert found["questions"] == 2
    assert found["with"]["turn"]["any"]["1"] == 1.0
    assert found["without"]["turn"]["any"]["1"] == 0.5


def test_where_no_question_names_a_time_there_is_nothing_to_measure() -> None:
    assert times([asked(["D1:1"], None)]) == {"questions": 0}
