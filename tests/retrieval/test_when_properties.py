"""Whatever the text: no failure, sound windows, bounded work, and an answer that does not hang on its surroundings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goat.retrieval.when import LANGUAGES, find_windows
from goat.retrieval.when.asked import Asked
from goat.retrieval.when.compose import expressions
from goat.retrieval.when.grammar import Lattice, Step
from goat.retrieval.when.load import grammar_of

BUCHAREST = ZoneInfo("Europe/Bucharest")
AT = datetime(2026, 7, 15, 17, 22, tzinfo=BUCHAREST)
GRAMMAR = grammar_of(LANGUAGES)
WORDS = sorted(GRAMMAR.words)
NUMBERS = [
    "3",
    "12",
    "31",
    "2024",
    "1850",
    "9:30",
    "15h30",
    "3-5",
    "9.7",
    "9/7",
    "9.07.2026",
    "2026-07-09",
    "1,5",
    "7.7.7.7",
    "٣",
]

ZONES = st.sampled_from(["Europe/Bucharest", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Apia", "UTC"]).map(
    ZoneInfo
)
MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(2100, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001 - naive bounds
SOUP = st.lists(st.sampled_from(WORDS) | st.sampled_from(NUMBERS), max_size=30).map(" ".join)
TEXTS = st.text(max_size=200) | SOUP | st.lists(st.text(max_size=8) | st.sampled_from(WORDS)).map("".join)

PHRASES = st.sampled_from(
    [
        "yesterday at 3pm",
        "last Tuesday around noon",
        "between 3 and 5 July",
        "9 iulie la ora 19",
        "săptămâna trecută",
        "acum 2 ore",
        "letzten Freitag um halb vier",
        "el 9 de julio a las 15:30",
        "du 3 au 5 juillet",
        "venerdì scorso",
        "sexta-feira passada",
        "先週の金曜",
        "昨天下午三点",
        "2026-07-09T15:30",
    ]
)
NEUTRAL = st.lists(
    st.sampled_from(
        ["tree", "copac", "Baum", "árbol", "arbre", "albero", "árvore", "木です", "树木", "xyzzy", "!", "?", ":"]
    ),
    max_size=60,
).map(" ".join)


class Counted(Sequence[Sequence[Step]]):
    """A lattice that counts how often its places are looked at."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self.visits = 0

    def __len__(self) -> int:
        return len(self.lattice)

    def __getitem__(self, place: Any) -> Any:
        self.visits += 1
        return self.lattice[place]

    def __iter__(self) -> Iterator[Sequence[Step]]:
        for place in range(len(self)):
            yield self[place]


def visits(text: str) -> tuple[int, int]:
    """How often places of a text's lattice are looked at, and how many there are."""
    tokens = GRAMMAR.scanner.tokens(text)
    lattice = Counted(GRAMMAR.lattice(tokens))
    expressions(GRAMMAR, tokens, lattice, Asked(AT, BUCHAREST, "past", "dmy"))
    return lattice.visits, len(tokens)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=300)
@given(TEXTS, MOMENTS, ZONES, st.sampled_from(["past", "future"]), st.booleans())
def test_no_text_raises_and_every_window_is_sound(
    text: str, at: datetime, zone: ZoneInfo, prefer: Literal["past", "future"], keep_future: bool
) -> None:
    windows = find_windows(text, at, zone, prefer, keep_future=keep_future)
    for window in windows:
        assert window.after.astimezone(UTC) < window.before.astimezone(UTC)
        assert window.after.astimezone(UTC) <= window.centre.astimezone(UTC) <= window.before.astimezone(UTC)
        assert text[slice(*window.span)] == window.text != ""
        assert window.after.tzinfo is window.before.tzinfo is zone
        assert 1970 <= window.after.year <= window.before.year <= 2101
    assert [window.span[0] for window in windows] == sorted(window.span[0] for window in windows)
    if not keep_future:
        assert all(window.after.astimezone(UTC) <= at for window in windows)


@settings(deadline=None)
@given(TEXTS)
def test_the_answer_is_the_same_every_time(text: str) -> None:
    assert find_windows(text, AT, BUCHAREST) == find_windows(text, AT, BUCHAREST)


@settings(deadline=None)
@given(PHRASES, NEUTRAL, NEUTRAL)
def test_a10_what_stands_around_a_phrase_does_not_change_what_it_means(phrase: str, front: str, back: str) -> None:
    [alone] = find_windows(phrase, AT, BUCHAREST)
    [inside] = find_windows(f"{front} {phrase} {back}", AT, BUCHAREST)
    assert (inside.after, inside.before, inside.text) == (alone.after, alone.before, alone.text)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(WORDS) | st.sampled_from(NUMBERS), min_size=1, max_size=6), st.integers(1, 40))
def test_every_token_is_looked_at_a_bounded_number_of_times(words: list[str], times: int) -> None:
    looked, tokens = visits(" ".join(words * times))
    assert looked <= 40 * tokens


def test_the_work_grows_with_the_length_of_the_text_and_not_faster() -> None:
    for phrase in (
        "last last ",
        "5 5 5 ",
        "from Monday to ",
        "din luni in luni de la ",
        "3 and 5 and ",
        "上周五晚上",
        "since the beginning of ",
    ):
        short, long = visits(phrase * 50)[0], visits(phrase * 500)[0]
        assert long <= 11 * short


@settings(deadline=None)
@given(TEXTS)
def test_tokens_are_disjoint_stretches_in_the_order_of_the_text(text: str) -> None:
    end = 0
    for token in GRAMMAR.scanner.tokens(text):
        assert end <= token.start < token.end <= len(text)
        end = token.end


@given(st.integers(0, 400), st.integers(0, 23), st.integers(0, 59))
def test_n_days_ago_and_a_time_is_that_time_of_that_day(days: int, hour: int, minute: int) -> None:
    [window] = find_windows(f"{days} days ago at {hour:02}:{minute:02}", AT, BUCHAREST, keep_future=True)
    day = AT.date() - timedelta(days)
    expected = datetime(day.year, day.month, day.day, hour, minute, tzinfo=BUCHAREST)
    assert window.centre.replace(tzinfo=None) - expected.replace(tzinfo=None) in (
        timedelta(0),
        timedelta(hours=1),
        timedelta(hours=12),
    )
