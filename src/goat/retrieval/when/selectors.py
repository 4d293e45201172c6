"""Days that are named by other days: "two days before", "the first week of", "the Monday after"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from goat.retrieval.when.dates import DAYS_A_WEEK, Days, Unit, containing, one_day, share, shifted
from goat.retrieval.when.slots import Fixed, Kind, Recurring

_WEEK = timedelta(DAYS_A_WEEK)
_SATURDAY = 5

Relation = Literal["of", "before", "after"]
KINDS: dict[Unit, Kind] = {
    "day": "day",
    "week": "week",
    "weekend": "weekend",
    "month": "month",
    "quarter": "quarter",
    "year": "year",
    "decade": "decade",
}


def week_about(day: date) -> Fixed:
    """Three days to either side: what is meant by a day so many weeks away."""
    return Fixed(Days(day - timedelta(3), day + timedelta(4)), "week", day)


@dataclass(frozen=True, slots=True)
class Selector:
    """`number` `unit`s (or weekdays) before or after other days, or the `number`th of them, from the end if negative.

    `count` is how many of them, for "the last two weeks of".
    """

    relation: Relation
    number: int
    unit: Unit = "day"
    weekly: Recurring | None = None
    count: int = 1

    def of(self, whole: Days) -> Fixed | None:
        """The days that are meant beside or inside of others, None where there are none."""
        try:
            return self._inside(whole) if self.relation == "of" else self._beside(whole)
        except (ValueError, OverflowError):  # beyond the years of `date`
            return None

    def _beside(self, whole: Days) -> Fixed | None:
        if self.weekly:
            return self._weekday_beside(self.weekly, whole)
        if self.unit == "weekend":
            return self._weekend_beside(whole)
        before = self.relation == "before"
        edge = whole.first if before else whole.end - timedelta(1)
        if self.unit == "week" and self.number == 1:
            return Fixed(Days(edge - _WEEK, edge) if before else Days(whole.end, whole.end + _WEEK), "week")
        day = shifted(edge, self.unit, -self.number if before else self.number)
        if self.unit == "week":
            return week_about(day)
        return Fixed(containing(day, self.unit), KINDS[self.unit], day)

    def _inside(self, whole: Days) -> Fixed | None:
        if self.weekly or self.unit == "weekend":
            parts = _weekdays(whole, self.weekly) if self.weekly else _weekends(whole)
            place = self.number - 1 if self.number > 0 else len(parts) + self.number
            return Fixed(parts[place], "day" if self.weekly else "weekend") if 0 <= place < len(parts) else None
        if self.unit == "half":
            return Fixed(share(whole, self.number % 3, of=2), "range") if self.number in (1, 2, -1) else None
        if self.unit not in ("day", "week"):
            return None
        length = timedelta(DAYS_A_WEEK if self.unit == "week" else 1)
        if self.number > 0:
            first = whole.first + (self.number - 1) * length
            days = Days(first, min(first + length * self.count, whole.end))
        else:
            days = Days(max(whole.end - length * self.count, whole.first), whole.end)
        return Fixed(days, "range" if self.count > 1 else self.unit) if days.first < days.end else None

    def _weekday_beside(self, weekly: Recurring, whole: Days) -> Fixed | None:
        if self.relation == "before":
            days = weekly.latest(whole.first, lambda days: days.end <= whole.first)
        else:
            days = weekly.earliest(whole.end, lambda days: days.first >= whole.end)
        return Fixed(days, "day") if days else None

    def _weekend_beside(self, whole: Days) -> Fixed:
        if self.relation == "before":
            weekend = containing(whole.first, "weekend")
            weeks = -self.number if weekend.end > whole.first else 1 - self.number
        else:
            weekend = containing(whole.end, "weekend")
            weeks = self.number - 1 if weekend.first >= whole.end else self.number
        return Fixed(Days(weekend.first + weeks * _WEEK, weekend.end + weeks * _WEEK), "weekend")


def _weekdays(whole: Days, weekly: Recurring) -> list[Days]:
    first = weekly.inside(whole)
    weeks = range((whole.end - first.first).days // DAYS_A_WEEK + 1) if first else ()
    days = [one_day(first.first + week * _WEEK) for week in weeks] if first else []
    return [day for day in days if day.first < whole.end]


def _weekends(whole: Days) -> list[Days]:
    """The weekends whose Saturday is inside."""
    saturday = whole.first + timedelta((_SATURDAY - whole.first.weekday()) % DAYS_A_WEEK)
    weeks = range(max((whole.end - saturday).days - 1, -1) // DAYS_A_WEEK + 1)
    return [Days(saturday + week * _WEEK, saturday + week * _WEEK + timedelta(2)) for week in weeks]
