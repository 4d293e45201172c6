"""Windows of time: zones, the way that open dates point, languages, and the known faults."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from goat.retrieval.when import UnknownLanguage, Window, find_windows

BUCHAREST = ZoneInfo("Europe/Bucharest")
AT = datetime(2026, 7, 15, 17, 22, tzinfo=BUCHAREST)


def local(month: int, day: int, hour: int = 0, minute: int = 0, year: int = 2026) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=BUCHAREST)


def only(text: str, at: datetime = AT, zone: ZoneInfo = BUCHAREST) -> Window:
    [window] = find_windows(text, at, zone)
    return window


def bounds(window: Window) -> tuple[datetime, datetime]:
    return window.after, window.before


def test_a_window_says_what_was_understood_and_where_it_stands() -> None:
    text = "Hei, ce am zis ieri la ora 15?"
    window = only(text)
    assert window.text == "ieri la ora 15"
    assert text[slice(*window.span)] == window.text
    assert (window.kind, window.explicit) == ("time", True)
    assert window.centre == local(7, 14, 15)
    assert window.after.tzinfo is BUCHAREST


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("yesterday at 3pm", "time"),
        ("yesterday morning", "part"),
        ("yesterday", "day"),
        ("last weekend", "weekend"),
        ("last week", "week"),
        ("last month", "month"),
        ("last quarter", "quarter"),
        ("last summer", "season"),
        ("last year", "year"),
        ("last decade", "decade"),
        ("at Christmas", "holiday"),
        ("between 3 and 5 July", "range"),
    ],
)
def test_the_kind_names_what_was_asked_for(text: str, kind: str) -> None:
    assert only(text).kind == kind


@pytest.mark.parametrize(
    ("text", "centre"),
    [
        ("9 July", local(7, 9, 12)),
        ("two weeks ago", local(7, 1, 12)),
        ("2 months ago", local(5, 15, 12)),
        ("between 3 and 5 July", local(7, 4, 12)),
        ("before 9 July", local(7, 9)),
    ],
)
def test_the_centre_is_the_asked_moment_or_the_middle(text: str, centre: datetime) -> None:
    assert only(text).centre == centre


@pytest.mark.parametrize("text", ["today", "on Monday", "in April", "in summer", "Christmas", "at the weekend"])
def test_what_is_named_without_more_is_a_mention(text: str) -> None:
    assert not only(text).explicit


@pytest.mark.parametrize(
    "text", ["today at 3pm", "Monday morning", "April 2024", "last summer", "at Christmas", "9 July"]
)
def test_what_is_named_with_more_is_asked_for(text: str) -> None:
    assert only(text).explicit


class TestZones:
    def test_a_time_is_read_in_the_zone_of_the_owner(self) -> None:
        tokyo = ZoneInfo("Asia/Tokyo")
        late = datetime(2026, 7, 15, 20, 0, tzinfo=UTC)  # 16 July, 5:00 in Tokyo
        window = only("yesterday at 9am", late, tokyo)
        assert window.centre == datetime(2026, 7, 15, 9, 0, tzinfo=tokyo)

    def test_a_day_has_23_hours_where_clocks_go_forward_and_25_where_they_go_back(self) -> None:
        spring = only("on 29 March")
        autumn = only("on 26 October 2025")
        assert spring.before.astimezone(UTC) - spring.after.astimezone(UTC) == timedelta(hours=23)
        assert autumn.before.astimezone(UTC) - autumn.after.astimezone(UTC) == timedelta(hours=25)

    def test_a_time_that_clocks_jump_over_is_as_late_as_without_the_jump(self) -> None:
        window = only("29 March 2026 at 3:30 am")  # clocks jump from 3:00 to 4:00
        assert window.centre.astimezone(UTC) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
        assert window.before.astimezone(UTC) - window.after.astimezone(UTC) == timedelta(hours=2)

    def test_a_time_that_clocks_show_twice_is_both_times(self) -> None:
        window = only("26 October 2025 at 3:30 am")  # clocks go back from 4:00 to 3:00
        assert window.after.astimezone(UTC) == datetime(2025, 10, 25, 23, 30, tzinfo=UTC)
        assert window.before.astimezone(UTC) == datetime(2025, 10, 26, 2, 30, tzinfo=UTC)

    def test_a_day_begins_after_midnight_where_midnight_is_jumped_over(self) -> None:
        sao_paulo = ZoneInfo("America/Sao_Paulo")
        window = only("on 4 November 2018", datetime(2018, 12, 1, 12, tzinfo=sao_paulo), sao_paulo)
        assert window.after.astimezone(UTC) == datetime(2018, 11, 4, 3, 0, tzinfo=UTC)

    def test_a_time_with_an_offset_is_that_moment(self) -> None:
        assert only("2026-07-09T12:30:00+02:00").centre == datetime(2026, 7, 9, 10, 30, tzinfo=UTC)

    def test_a_time_without_an_offset_is_local(self) -> None:
        assert only("2026-07-12T12:00:00").centre == local(7, 12, 12)

    def test_a_naive_moment_of_writing_is_refused(self) -> None:
        with pytest.raises(ValueError, match="aware"):
            find_windows("yesterday", datetime(2026, 7, 15), BUCHAREST)  # noqa: DTZ001 - that is the fault


class TestDirection:
    def test_an_open_date_is_the_last_or_the_next_one(self) -> None:
        assert only("on 20 July").after == local(7, 20, year=2025)
        [ahead] = find_windows("on 20 July", AT, BUCHAREST, prefer="future")
        assert ahead.after == local(7, 20)

    def test_the_day_of_writing_is_the_last_and_the_next_of_its_date(self) -> None:
        assert only("on 15 July").after == local(7, 15)
        [ahead] = find_windows("on 15 July", AT, BUCHAREST, prefer="future")
        assert ahead.after == local(7, 15)

    def test_what_can_only_lie_ahead_is_kept_when_asked_for(self) -> None:
        text = "tomorrow I fly, on Monday I packed"
        assert [window.after for window in find_windows(text, AT, BUCHAREST)] == [local(7, 13)]
        kept = find_windows(text, AT, BUCHAREST, keep_future=True)
        assert [window.after for window in kept] == [local(7, 16), local(7, 13)]

    def test_a_day_that_has_begun_is_past_and_an_hour_that_has_not_come_is_not(self) -> None:
        assert only("today").before == local(7, 16)
        assert find_windows("today at 17:50", AT, BUCHAREST) == []

    def test_an_hour_alone_is_the_last_one_or_the_next_one(self) -> None:
        assert only("at 7pm").centre == local(7, 14, 19)
        assert only("at 5pm").centre == local(7, 15, 17)
        [ahead] = find_windows("at 5pm", AT, BUCHAREST, prefer="future")
        assert ahead.centre == local(7, 16, 17)

    def test_tonight_and_last_night_in_languages_that_do_not_tell_them_apart(self) -> None:
        assert only("heute Nacht").after == local(7, 14, 22)
        [ahead] = find_windows("heute Nacht", AT, BUCHAREST, prefer="future")
        assert ahead.after == local(7, 15, 22)


class TestLanguages:
    def test_the_first_language_decides_the_order_of_a_numeric_date(self) -> None:
        december = datetime(2026, 12, 24, 12, tzinfo=BUCHAREST)
        for languages, day in ((None, (7, 9)), (("ro", "en"), (7, 9)), (("en", "ro"), (9, 7))):
            [window] = find_windows("9/7/2026", december, BUCHAREST, languages=languages)
            assert window.after == local(*day)

    def test_an_english_date_that_would_lie_ahead_is_read_day_first(self) -> None:
        [window] = find_windows("9/7/2026", AT, BUCHAREST, languages=["en"])
        assert window.after == local(7, 9)

    def test_an_impossible_month_turns_the_order(self) -> None:
        assert only("7/25/2025").after == local(7, 25, year=2025)

    def test_only_the_asked_languages_are_understood(self) -> None:
        assert find_windows("ieri", AT, BUCHAREST, languages=["en"]) == []
        assert len(find_windows("ieri", AT, BUCHAREST, languages=["ro"])) == 1

    def test_a_language_without_a_grammar_is_named(self) -> None:
        with pytest.raises(UnknownLanguage, match="'xx'"):
            find_windows("yesterday", AT, BUCHAREST, languages=["en", "xx"])

    @pytest.mark.parametrize(
        "text", ["ieri dimineață", "IERI DIMINEAŢA", "ieri dimineata", "ieri dimineat\u0326a\u0306"]
    )
    def test_case_accents_and_their_encoding_do_not_matter(self, text: str) -> None:
        assert bounds(only(text)) == (local(7, 14, 5), local(7, 14, 12))

    def test_a_wrong_accent_makes_another_word(self) -> None:
        assert find_windows("Martí", AT, BUCHAREST) == []

    def test_a_word_of_two_languages_is_read_in_that_of_the_text(self) -> None:
        assert len(find_windows("qu'est-ce que nous avons dit hier ?", AT, BUCHAREST)) == 1
        assert find_windows("ich war hier und du nicht", AT, BUCHAREST) == []


class TestPlausibility:
    @pytest.mark.parametrize(
        "text",
        [
            "9 July 1850",
            "9.07.1850",
            "in 1850",
            "on 9 July 2500",
            "2500-01-01",
            "9999 years ago",
            "in 9999 years",
            "99999999 days ago",
        ],
    )
    def test_years_far_away_are_no_years(self, text: str) -> None:
        assert find_windows(text, AT, BUCHAREST, keep_future=True) == []

    @pytest.mark.parametrize(
        "text", ["32 iulie", "31 februarie", "30 February 2024", "31.04.2026", "2026-13-01", "ora 25", "ora 9:75"]
    )
    def test_days_and_hours_that_do_not_exist_are_none(self, text: str) -> None:
        assert find_windows(text, AT, BUCHAREST) == []

    def test_the_29th_of_february_is_that_of_the_last_leap_year(self) -> None:
        assert only("29 February").after == local(2, 29, year=2024)
        assert find_windows("29 February 2025", AT, BUCHAREST) == []


def test_a05_a_day_and_an_hour_make_one_window_around_the_hour() -> None:
    window = only("Dar azi pe la 12:00 ce am discutat?")
    assert bounds(window) == (local(7, 15, 11), local(7, 15, 13))


def test_a06_a_spoken_hour_is_no_year() -> None:
    assert bounds(only("9 iulie la ora 19")) == (local(7, 9, 18), local(7, 9, 20))
    assert bounds(only("ora 9")) == (local(7, 15, 8), local(7, 15, 10))
    assert bounds(only("ora 19:00")) == (local(7, 14, 18), local(7, 14, 20))


def test_a07_relative_expressions_are_read_from_the_text_itself() -> None:
    assert bounds(only("ieri")) == (local(7, 14), local(7, 15))
    assert only("acum 2 ore").centre == local(7, 15, 15, 22)


def test_a09_a_day_and_a_month_need_no_year_and_a_bare_word_is_no_month() -> None:
    assert bounds(only("5 iulie")) == (local(7, 5), local(7, 6))
    assert find_windows("mai vorbim", AT, BUCHAREST) == []


def test_a10_a_long_sentence_in_front_does_not_shift_the_year() -> None:
    prefix = (
        "Spune-mi te rog, fiindcă nu îmi amintesc deloc și aș vrea să știu exact, ce am hotărât atunci când am vorbit "
    )
    for text in (prefix * 20 + "pe 9 iulie", "pe 9 iulie"):
        assert bounds(only(text)) == (local(7, 9), local(7, 10))


@pytest.mark.parametrize(
    "text",
    [
        "Ce mai faci?",
        "May I ask you something?",
        "how are you now?",
        "do it now",
        "a second",
        "sat on the mat",
        "can you march",
        "I have 5 minutes",
        "Am 12 mere",
    ],
)
def test_f_b02_everyday_words_are_no_dates(text: str) -> None:
    assert find_windows(text, AT, BUCHAREST, keep_future=True) == []


def test_f_b02_an_hour_count_is_not_a_weekday() -> None:
    assert only("what did we discuss 2 hours ago?").centre == local(7, 15, 15, 22)


@pytest.mark.parametrize(
    ("text", "after", "before"),
    [
        ("at 3pm yesterday", local(7, 14, 14), local(7, 14, 16)),
        ("last week", local(7, 6), local(7, 13)),
        ("last month", local(6, 1), local(7, 1)),
        ("in April", local(4, 1), local(5, 1)),
        ("between 3 and 5 July", local(7, 3), local(7, 6)),
        ("9.07.2026", local(7, 9), local(7, 10)),
        ("9/7/2026", local(7, 9), local(7, 10)),
        ("luni", local(7, 13), local(7, 14)),
        ("aseara", local(7, 14, 18), local(7, 15)),
        ("alaltaieri", local(7, 13), local(7, 14)),
        ("vorgestern", local(7, 13), local(7, 14)),
    ],
)
def test_f_b40_windows_are_as_wide_as_what_was_named(text: str, after: datetime, before: datetime) -> None:
    assert bounds(only(text)) == (after, before)


def test_f_b40_two_dates_are_two_windows_and_the_future_is_not_searched() -> None:
    two = find_windows("July 3rd and July 8th", AT, BUCHAREST)
    assert [bounds(window) for window in two] == [(local(7, 3), local(7, 4)), (local(7, 8), local(7, 9))]
    assert find_windows("tomorrow", AT, BUCHAREST) == []
