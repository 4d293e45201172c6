"""Rules for what the calendar names: dates, months, weekdays, years, seasons, holidays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone

from goat.retrieval.when.asked import ABOUT, Asked
from goat.retrieval.when.dates import DAYS_A_WEEK, Days, feast, months, one_day, year_of
from goat.retrieval.when.frames import Frame
from goat.retrieval.when.shapes import FIRST_YEAR
from goat.retrieval.when.slots import Fixed, Kind, Part, Recurring, Stretch
from goat.retrieval.when.values import Values

Frames = tuple[Frame, ...]

_BREAK = timedelta(7)
"""Holidays from work or school reach about this far beyond the feast."""

_CENTURY = 100
_LEAP_YEAR = 2000


def _day(year: int, month: int, day: int) -> Days | None:
    try:
        return one_day(date(year, month, day))
    except (ValueError, OverflowError):
        return None


def _fixed(days: Days | None, kind: Kind) -> Frames:
    return (Frame(fixed=Fixed(days, kind)),) if days else ()


def _year(values: Values, asked: Asked) -> int:
    """The year as a number; a small value counts from this year."""
    year = values.number("year")
    return year if year >= FIRST_YEAR else asked.today.year + year


def _yearly(values: Values, asked: Asked, kind: Kind, build: Callable[[int], Days | None]) -> Frames:
    """The days of the year that was named with them, or of every year."""
    if "year" in values:
        return _fixed(build(_year(values, asked)), kind)
    return (Frame(yearly=Recurring("year", kind, build)),) if build(_LEAP_YEAR) else ()


def date_of(values: Values, asked: Asked) -> Frames:
    """`day`, `month`, perhaps `year`; or day and year as `comma`: 9,2026."""
    if comma := values.numbers("comma"):
        return _fixed(_day(comma[1], values.number("month"), comma[0]), "day")
    return _date(values, asked, values.number("day"), values.number("month"))


def _date(values: Values, asked: Asked, day: int, month: int) -> Frames:
    return _yearly(values, asked, "day", lambda year: _day(year, month, day))


def two_dates(values: Values, asked: Asked) -> Frames:
    """`day` and `day2` of `month`, perhaps `year`: two days."""
    month = values.number("month")
    first, second = (_date(values, asked, values.number(name), month) for name in ("day", "day2"))
    return first + second if first and second else ()


def dates_between(values: Values, asked: Asked) -> Frames:
    """`day` to `day2`, or both as `span`, of `month`, perhaps `year`: all days from the first to the last."""
    month = values.number("month")
    first, last = values.numbers("span") or (values.number("day"), values.number("day2"))

    def build(year: int) -> Days | None:
        start, end = _day(year, month, first), _day(year, month, last)
        return Days(start.first, end.end) if start and end and start.first < end.first else None

    return _yearly(values, asked, "range", build)


def day_of_month(values: Values, _asked: Asked) -> Frames:
    """`day`: the 5th of every month."""
    day = values.number("day")
    return (Frame(monthly=Recurring("month", "day", lambda index: _day(index // 12, index % 12 + 1, day))),)


def numeric_date(values: Values, asked: Asked) -> Frames:
    """`ymd`, or `dmy` in the order of the language, or `short` with a year of two digits.

    Where the month may come first it does, unless only the other reading lies where an open date points: those who
    write English do not agree on the order.
    """
    if ymd := values.numbers("ymd"):
        return _fixed(_day(*ymd), "day")
    first, second, year, separator = values.numbers("dmy") or values.numbers("short")
    if "short" in values:
        century = asked.today.year // _CENTURY * _CENTURY
        year += century if year <= asked.today.year % _CENTURY + 10 else century - _CENTURY
    days = [found for found in (_day(year, second, first), _day(year, first, second)) if found]
    if asked.order == "mdy" and separator > 0:
        days.reverse()
        days.sort(key=lambda found: (found.first > asked.today) != (asked.prefer == "future"))
    return _fixed(days[0] if days else None, "day")


def numeric_day(values: Values, asked: Asked) -> Frames:
    """`slashed` or `dotted`: a day and a month without a year, in the order of the language."""
    first, second = values.numbers("slashed") or values.numbers("dotted")
    month_first = "slashed" in values and asked.order != "dmy"
    day, month = (second, first) if month_first else (first, second)
    if _day(_LEAP_YEAR, month, day) is None:
        day, month = month, day
    return _date(values, asked, day, month)


def iso_time(values: Values, asked: Asked) -> Frames:
    """`iso`: a date and time; local unless it names its offset."""
    year, month, day, hour, minute, *offset = values.numbers("iso")
    try:
        if offset:
            moment = datetime(year, month, day, hour, minute, tzinfo=timezone(timedelta(minutes=offset[0])))
            first = last = moment.astimezone(UTC)
        else:
            datetime(year, month, day, hour, minute, tzinfo=UTC)
            first, last = asked.instants(date(year, month, day), hour * 60 + minute)
        return (Frame(stretch=Stretch(first - ABOUT, last + ABOUT, first, "time")),)
    except (ValueError, OverflowError):
        return ()


def month_of(values: Values, asked: Asked) -> Frames:
    """`month` (or `ym`), perhaps `year`."""
    if ym := values.numbers("ym"):
        return _fixed(months(*ym), "month")
    month = values.number("month")
    return _yearly(values, asked, "month", lambda year: months(year, month)) if 1 <= month <= 12 else ()


def year_named(values: Values, asked: Asked) -> Frames:
    """`year`, or `years` from one to another."""
    if "years" in values:
        first, last = values.numbers("years")
        return _fixed(Days(year_of(first).first, year_of(last).end), "range")
    return _fixed(year_of(_year(values, asked)), "year")


def season_of(values: Values, asked: Asked) -> Frames:
    """`season` (its first month), perhaps `year`."""
    first = values.number("season")
    return _yearly(values, asked, "season", lambda year: months(year, first, 3))


def holiday(values: Values, asked: Asked) -> Frames:
    """`holiday` (as `dates.feast` reads it), perhaps `year`."""
    return _yearly(values, asked, "holiday", feast(values.text("holiday")))


def holiday_break(values: Values, asked: Asked) -> Frames:
    """The days off around `holiday`, perhaps `year`."""
    days_of = feast(values.text("holiday"))

    def build(year: int) -> Days:
        days = days_of(year)
        return Days(days.first - _BREAK, days.end + _BREAK)

    return _yearly(values, asked, "holiday", build)


def weekday(values: Values, _asked: Asked) -> Frames:
    """`weekday`, Monday being 0."""
    number = values.number("weekday")
    return (Frame(weekly=Recurring("week", "day", lambda week: _day_of_week(week, number))),)


def weekday_part(values: Values, _asked: Asked) -> Frames:
    """`weekday_part`: a weekday, first hour, last hour; or `weekday` and `part` apart."""
    number, start, end = values.numbers("weekday_part") or (values.number("weekday"), *values.numbers("part"))
    weekly = Recurring("week", "day", lambda week: _day_of_week(week, number))
    return (Frame(weekly=weekly, part=Part(start * 60, end * 60)),)


def _day_of_week(week: int, number: int) -> Days | None:
    try:
        return one_day(date.fromordinal(week * DAYS_A_WEEK + number + 1))
    except (ValueError, OverflowError):
        return None


RULES: Mapping[str, Callable[[Values, Asked], Frames]] = {
    "date": date_of,
    "two_dates": two_dates,
    "dates_between": dates_between,
    "day_of_month": day_of_month,
    "numeric_date": numeric_date,
    "numeric_day": numeric_day,
    "iso_time": iso_time,
    "month": month_of,
    "year": year_named,
    "season": season_of,
    "holiday": holiday,
    "holiday_break": holiday_break,
    "weekday": weekday,
    "weekday_part": weekday_part,
}
