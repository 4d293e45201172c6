"""What an expression says so far: a frame with a slot for each thing that a date can name.

"last week", "Monday", "at three" and "in the afternoon" each fill one slot; neighbours are merged when their slots
agree. What recurs ("9 July", "Monday", "the 5th") is settled last, when it is known whether a year, a month or a week
was named with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from goat.retrieval.when.asked import Asked
from goat.retrieval.when.dates import Days
from goat.retrieval.when.selectors import Selector
from goat.retrieval.when.slots import Clock, Fixed, Part, Recurring, Stretch


@dataclass(frozen=True, slots=True)
class Frame:
    """The slots. A `weak` frame needs company to count as a time; one that is not `explicit` only mentions it."""

    fixed: Fixed | None = None
    yearly: Recurring | None = None
    monthly: Recurring | None = None
    weekly: Recurring | None = None
    clock: Clock | None = None
    part: Part | None = None
    stretch: Stretch | None = None
    selector: Selector | None = None
    weak: bool = False
    explicit: bool = True

    @property
    def names_days(self) -> bool:
        """Whether it says which day or days."""
        return any((self.fixed, self.yearly, self.monthly, self.weekly))

    @property
    def names_time(self) -> bool:
        """Whether it says which time of the day."""
        return self.clock is not None or self.part is not None

    def days(self, asked: Asked) -> Fixed | None:
        """The days that the slots together stand for; None where they name none or there is no such day."""
        recurring = self.yearly or self.monthly or self.weekly
        if self.monthly and self.weekly and not self.yearly:
            recurring = replace(self.monthly, build=self._of_the_weekday)
        if self.fixed is None:
            days = recurring.settled(asked) if recurring else None
            return Fixed(days, recurring.kind) if recurring and days else None
        if recurring is None or self.fixed.days.length <= 1:
            return self.fixed
        inside = recurring.inside(self.fixed.days)
        return Fixed(inside, recurring.kind) if inside else None

    def _of_the_weekday(self, number: int) -> Days | None:
        """The day of a month if it is the weekday that was named: Friday the 13th."""
        days = self.monthly.build(number) if self.monthly else None
        return days if days and self.weekly and _same_weekday(days, self.weekly) else None

    def sharing_days(self, other: Frame) -> Frame:
        """This time of day on the days of another frame."""
        return replace(
            self, fixed=other.fixed, yearly=other.yearly, monthly=other.monthly, weekly=other.weekly, weak=False
        )


def merged(left: Frame, right: Frame) -> Frame | None:
    """One frame that says what both say, None where they contradict each other or do not fit together."""
    alone = left.stretch or left.selector or right.stretch or right.selector
    if alone or not (_agree(left, right) and _agree(right, left)):
        return None
    clock, part = left.clock or right.clock, left.part or right.part
    if (left.clock and right.clock) or (left.part and right.part):
        return None
    if left.clock and right.part:
        clock, part = left.clock.named_by(right.part), None
    return Frame(
        left.fixed or right.fixed,
        left.yearly or right.yearly,
        left.monthly or right.monthly,
        left.weekly or right.weekly,
        clock,
        part,
        weak=left.weak and right.weak and not _make_a_time(left, right),
    )


def _make_a_time(left: Frame, right: Frame) -> bool:
    """Whether two weak frames are a time together: an hour and a part of the day, or a day and one of these."""
    of_a_day = left.weekly or left.monthly or right.weekly or right.monthly
    return (left.names_time and right.names_time) or bool(of_a_day and (left.names_time or right.names_time))


def _agree(one: Frame, other: Frame) -> bool:
    """Whether the days of the first leave room for those of the second."""
    if (one.fixed and other.fixed) or (one.yearly and other.yearly) or (one.monthly and other.monthly):
        return False
    if one.weekly and other.weekly:
        return False
    if one.yearly and other.monthly:
        return False
    if one.fixed is None:
        return not (one.yearly and one.yearly.kind != "day" and other.weekly)
    kind = one.fixed.kind
    fits_week = other.weekly is None or kind == "week" or _same_weekday(one.fixed.days, other.weekly)
    return fits_week and (other.yearly is None or kind == "year") and (other.monthly is None or kind == "month")


def _same_weekday(days: Days, weekly: Recurring) -> bool:
    return days.length == 1 and weekly.inside(Days(days.first, days.first + timedelta(1))) is not None
