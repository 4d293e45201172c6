"""The times of queries and messages: what is near, what stands in front, what the cutoff keeps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from goat.memory.archive import lexical_document
from goat.records.episodes import Episode, Passage, Role, Span
from goat.records.search import Neighbourhood, Recalled
from goat.retrieval.cutoff import cut
from goat.retrieval.fuse import Scores
from goat.retrieval.times import TELLING, asked_days, asked_first, distances, told_days
from goat.retrieval.when import Window, find_windows

BUCHAREST = ZoneInfo("Europe/Bucharest")
NOW = datetime(2026, 7, 15, 17, 22, tzinfo=BUCHAREST)


def windows(text: str) -> list[Window]:
    return find_windows(text, NOW, BUCHAREST)


def found(number: int, at: datetime, *mechanisms: str) -> Recalled:
    episode = Episode(number, f"u{number}", "ana", "c", Role.USER, f"text {number}", at, f"x{number}")
    return Recalled(episode, 0.1, 0.1, mechanisms=mechanisms)


def ids(results: list[Recalled]) -> list[int]:
    return [result.episode.id for result in results]


def neighbourhood(count: int) -> Neighbourhood:
    nothing = np.zeros(count, np.bool_)
    return Neighbourhood(
        ords=np.arange(count),
        episode_ids=np.arange(count),
        around=np.full((count, 7), -1),
        question=nothing,
        after_question=nothing,
        human=nothing,
        at=np.zeros(count),
        speakers=("",) * count,
    )


def kept(relevance: list[float], spared: set[int], limit: int = 20, distance: list[float] | None = None) -> list[int]:
    """What the cutoff at 0.5 leaves of candidates whose score is their relevance."""
    values = np.array(relevance, np.float32)
    marked = np.array([place in spared for place in range(len(values))], np.bool_)
    far = np.array(distance if distance is not None else [0.0] * len(values))
    return cut(neighbourhood(len(values)), Scores(values, values, marked, {}, values), far, 0.5, limit, 3.0).tolist()


def test_a02_a_result_of_the_named_time_survives_the_cutoff_that_takes_its_equals() -> None:
    assert kept([0.90, 0.30, 0.28, 0.27, 0.25], spared={1}) == [0, 1]


def test_a02_many_better_matches_of_other_times_do_not_drive_it_out() -> None:
    assert kept([0.9] * 30 + [0.01, 0.02], spared={30, 31}, limit=6) == [29, 28, 27, 26, 31, 30]


def test_of_many_spared_results_the_nearest_and_the_best_have_places() -> None:
    relevance = [0.01 * place for place in range(30)]
    assert kept(relevance, spared=set(range(30)), limit=4, distance=list(range(30))) == [29, 28, 1, 0]


def test_what_the_limit_does_not_reach_stays_in_its_order() -> None:
    assert kept([0.6, 0.9, 0.7, 0.1], spared={0}) == [1, 2, 0]


def test_a_moment_has_distances_and_a_day_has_none() -> None:
    noon = datetime(2026, 7, 14, 12, tzinfo=BUCHAREST)
    at = np.array([(noon + timedelta(minutes=m)).timestamp() for m in (-70, -50, 0, 59, 60)])
    assert distances(windows("yesterday at 12:00"), at).tolist() == [np.inf, 3000, 0, 3540, np.inf]
    assert distances(windows("yesterday"), at).tolist() == [0] * 5


@pytest.mark.parametrize("hint", ["what did we discuss today?", "on Monday", "in 2025", "we met"])
def test_a_hint_a_long_time_and_no_time_pin_nothing(hint: str) -> None:
    assert distances(windows(hint), np.array([NOW.timestamp() - 3600.0])).tolist() == [np.inf]
    results = [found(1, NOW), found(2, NOW - timedelta(hours=1))]
    assert asked_first(results, windows(hint)) == (results, 0)


def test_a04_what_was_said_nearest_to_the_asked_moment_stands_in_front() -> None:
    noon = datetime(2026, 7, 14, 12, tzinfo=BUCHAREST)
    results = [found(m, noon + timedelta(minutes=m)) for m in (-55, -40, 90, 5, 59, -10, 30)]
    ordered, count = asked_first(results, windows("what did we say yesterday at 12:00?"))
    assert ids(ordered) == [5, -10, 30, -40, -55, 59, 90]
    assert count == 6


def test_what_was_said_then_stands_before_what_tells_of_it_and_both_before_the_rest() -> None:
    day = datetime(2026, 7, 9, 8, tzinfo=BUCHAREST)
    results = [found(1, NOW), found(2, NOW, "words", TELLING), found(3, day, TELLING), found(4, day)]
    ordered, count = asked_first(results, windows("what happened on 9 July?"))
    assert ids(ordered) == [3, 4, 2, 1]
    assert count == 3


def test_a_message_tells_of_other_days_than_its_own_past_and_to_come() -> None:
    assert told_days("yesterday I fixed the boiler", NOW, BUCHAREST) == ("@2026-07-14",)
    assert told_days("mâine merg la dentist, poimâine la mare", NOW, BUCHAREST) == ("@2026-07-16", "@2026-07-17")
    assert told_days("we met on 3 July and on 9 July", NOW, BUCHAREST) == ("@2026-07-03", "@2026-07-09")
    assert len(told_days("we were in Rome last week", NOW, BUCHAREST)) == 7
    for nothing in ("at noon I ate an apple today", "we moved in 2019", "the boiler is fixed"):
        assert told_days(nothing, NOW, BUCHAREST) == ()


def test_days_are_those_of_the_owners_clocks_on_both_sides() -> None:
    late = datetime(2026, 7, 14, 22, 30, tzinfo=UTC)  # half past one on the 15th in Bucharest
    assert told_days("yesterday I fixed the boiler", late, BUCHAREST) == ("@2026-07-14",)
    assert told_days("yesterday I fixed the boiler", late, UTC) == ("@2026-07-13",)
    assert asked_days(windows("what did I do yesterday?")) == ("@2026-07-14",)
    assert asked_days(windows("what did I do on Monday?")) == ()


def indexed(text: str) -> dict[str, int]:
    episode = Episode(7, "u7", "ana", "c", Role.USER, text, NOW, "x7")
    return dict(lexical_document(episode, Passage("ana", 0, 7, 0, Span(0, len(text))), BUCHAREST).terms)


def test_told_days_are_indexed_with_a_statement_and_not_with_a_question() -> None:
    assert indexed("yesterday I fixed the boiler")["@2026-07-14"] == 1
    assert not [term for term in indexed("what did I do yesterday?") if term.startswith("@")]


def test_told_days_do_not_lengthen_a_passage() -> None:
    episode = Episode(7, "u7", "ana", "c", Role.USER, "boiler yesterday", NOW, "x7")
    document = lexical_document(episode, Passage("ana", 0, 7, 0, Span(0, 16)), BUCHAREST)
    assert document.length == sum(count for term, count in document.terms.items() if term[0] not in "@=")
