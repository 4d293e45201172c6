"""Calendar arithmetic over whole days. Ranges are half-open: `first` is inside, `end` is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple

Unit = Literal["minute", "hour", "day", "week", "weekend", "month", "quarter", "year", "decade", "half"]

DAYS_A_WEEK = 7
_MONTHS: Mapping[Unit, int] = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SATURDAY = 5


class Days(NamedTuple):
    """A half-open range of calendar days."""

    first: date
    end: date

    @property
    def length(self) -> int:
        """How many days it has."""
        return (self.end - self.first).days


def one_day(day: date) -> Days:
    """The day alone."""
    return Days(day, day + timedelta(1))


def week_of(day: date) -> Days:
    """Monday to Sunday."""
    monday = day - timedelta(day.weekday())
    return Days(monday, monday + timedelta(DAYS_A_WEEK))


def months(year: int, month: int, count: int = 1) -> Days:
    """`count` whole months from the first of `month`, which may lie outside of 1..12."""
    return Days(_first_of(year * 12 + month - 1), _first_of(year * 12 + month - 1 + count))


def year_of(year: int) -> Days:
    """January to December."""
    return months(year, 1, 12)


def _first_of(index: int) -> date:
    return date(index // 12, index % 12 + 1, 1)


def shifted(day: date, unit: Unit, count: int) -> date:
    """The same day `count` units later, the last of the month where there is no such day.

    Raises `ValueError` or `OverflowError` beyond the years of `date`.
    """
    if unit in ("week", "weekend"):
        return day + timedelta(DAYS_A_WEEK * count)
    if unit == "day":
        return day + timedelta(count)
    month = months(day.year, day.month + count * _MONTHS[unit])
    return month.first + timedelta(min(day.day, month.length) - 1)


def containing(day: date, unit: Unit) -> Days:
    """The calendar unit that a day lies in; of a week's day the weekend is that of its week."""
    if unit in ("week", "weekend"):
        week = week_of(day)
        return week if unit == "week" else Days(week.first + timedelta(_SATURDAY), week.end)
    if unit not in _MONTHS:
        return one_day(day)
    count = _MONTHS[unit]
    index = (day.year * 12 + day.month - 1) // count * count
    return months(index // 12, index % 12 + 1, count)


def share(days: Days, number: int, of: int) -> Days:
    """The `number`th (from 1) of `of` equal parts, in whole days."""
    start, end = (days.first + timedelta(round(days.length * part / of)) for part in (number - 1, number))
    return Days(start, end)


def easter(year: int) -> date:
    """Western Easter Sunday, by the anonymous Gregorian algorithm."""
    golden, century, rest = year % 19, year // 100, year % 100
    epact = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def orthodox_easter(year: int) -> date:
    """Orthodox Easter Sunday in the Gregorian calendar, by Meeus's Julian algorithm."""
    epact = (19 * (year % 19) + 15) % 30
    weekday = (2 * (year % 4) + 4 * (year % 7) - epact + 34) % 7
    month, day = divmod(epact + weekday + 114, 31)
    return date(year, month, day + 1) + timedelta(year // 100 - year // 400 - 2)


_FEAST = re.compile(r"(easter|orthodox)([+-]\d+)?|(\d+)/(\d+)|([a-z]{3})(\d)/(\d+)([+-]\d+)?")


@lru_cache(maxsize=256)
def feast(written: str) -> Callable[[int], Days]:
    """The days of a feast in a year: "12/25", "12/24..12/26", "easter-2..easter+1", "thu4/11" (fourth Thursday).

    A range that ends before it begins ends in the next year. Raises `ValueError` for anything else.
    """
    first, _, last = written.partition("..")
    starts, ends = _feast_day(first), _feast_day(last or first)

    def days(year: int) -> Days:
        start, end = starts(year), ends(year)
        return Days(start, (ends(year + 1) if end < start else end) + timedelta(1))

    return days


def _feast_day(written: str) -> Callable[[int], date]:
    match = _FEAST.fullmatch(written)
    if match is None:
        raise ValueError(
            f"{written!r} is no feast: write 12/25, easter-2, orthodox+49 or thu4/11, or two of them with .."
        )
    movable, offset, month, day, weekday, count, of_month, after = match.groups()
    if movable:
        sunday = easter if movable == "easter" else orthodox_easter
        return lambda year: sunday(year) + timedelta(int(offset or 0))
    if month:
        return lambda year: date(year, int(month), int(day))
    wanted, weeks = _WEEKDAYS.index(weekday), int(count) - 1

    def nth(year: int) -> date:
        first = date(year, int(of_month), 1)
        days = (wanted - first.weekday()) % DAYS_A_WEEK + weeks * DAYS_A_WEEK + int(after or 0)
        return first + timedelta(days)

    return nth
