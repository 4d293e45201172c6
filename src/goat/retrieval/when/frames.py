"""What an expression says so far: a frame with a slot for each thing that a date can name.

"last week", "Monday", "at three" and "in the afternoon" each fill one slot; neighbours are merged when their slots
agree. What recurs ("9 July", "Monday", "the 5th") is settled last, when it is known whether a year, a month or a week
was named with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Literal

from goat.retrieval.when.asked import MINUTES_A_DAY, Asked
from goat.retrieval.when.dates import DAYS_A_WEEK, Days

Kind = Literal[
    "time", "part", "day", "weekend", "week", "month", "quarter", "season", "year", "decade", "holiday", "range"
]
"""What a window stands for: about a clock time (an hour to either side), a part of a day, a day, a calendar unit, a
holiday, or a range that was named by its ends or its length."""

Every = Literal["year", "month", "week"]
_LONGEST_PAUSE = 9
"""So many years may lie between two 29ths of February."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Days that are known; `centre` is the day that was asked for, None for the middle."""

    days: Days
    kind: Kind
    centre: date | None = None


@dataclass(frozen=True, slots=True)
class Recurring:
    """Days that come again every year, month or week. `build` takes the number of the year, month or week."""

    every: Every
    kind: Kind
    build: Callable[[int], Days | None]

    def number(self, day: date) -> int:
        """The number of the year, month (from year 0) or week (from year 1) that a day lies in."""
        if self.every == "year":
            return day.year
        if self.every == "month":
            return day.year * 12 + day.month - 1
        return (day.toordinal() - 1) // DAYS_A_WEEK

    def latest(self, near: date, fits: Callable[[Days], bool]) -> Days | None:
        """The last occurrence up to about `near` that fits."""
        return self._nearest(range(self.number(near) + 1, self.number(near) - _LONGEST_PAUSE, -1), fits)

    def earliest(self, near: date, fits: Callable[[Days], bool]) -> Days | None:
        """The first occurrence from about `near` on that fits."""
        return self._nearest(range(self.number(near) - 1, self.number(near) + _LONGEST_PAUSE), fits)

    def _nearest(self, numbers: range, fits: Callable[[Days], bool]) -> Days | None:
        occurrences = (self.build(number) for number in numbers)
        return next((days for days in occurrences if days is not None and fits(days)), None)

    def inside(self, whole: Days) -> Days | None:
        """The occurrence within a year, month or week."""
        return self.earliest(whole.first, lambda days: whole.first <= days.first < whole.end)

    def settled(self, asked: Asked) -> Days | None:
        """The occurrence that is meant without more: the last that began, or the next that is not over.

        A weekday alone is never today, which has a name of its own.
        """
        today = asked.today
        if self.every == "week":
            return (
                self.latest(today, lambda days: days.first < today)
                if asked.prefer == "past"
                else self.earliest(today, lambda days: days.first > today)
            )
        if asked.prefer == "past":
            return self.latest(today, lambda days: days.first <= today)
        return self.earliest(today, lambda days: days.end > today)


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day in minutes; `open` while nothing says which half of the day is meant."""

    minute: int
    open: bool = False

    def within(self, part: Part) -> int:
        """The minute that lies in a part of the day, which may reach into the next day."""
        if not self.open:
            late = self.minute + MINUTES_A_DAY
            return late if part.start <= late <= part.end and not part.start <= self.minute <= part.end else self.minute
        half = MINUTES_A_DAY // 2
        choices = [self.minute % half + half * halves for halves in range(4)]
        return min(choices, key=lambda minute: max(part.start - minute, minute - part.end, 0))

    def named_by(self, part: Part) -> Clock:
        """The time of day that is called by a part of the day, as in "two at night"; midnight ends the day."""
        minute = self.within(part)
        return Clock(minute if minute == MINUTES_A_DAY else minute % MINUTES_A_DAY)

    @property
    def usual(self) -> int:
        """The minute that is meant without more: "at three" is in the afternoon, "at eight" in the morning."""
        return self.minute + MINUTES_A_DAY // 2 if self.open and 60 <= self.minute < 7 * 60 else self.minute


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the day in minutes; it may end after midnight."""

    start: int
    end: int
    kind: Kind = "part"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Moments that are known exactly."""

    after: datetime
    before: datetime
    centre: datetime
    kind: Kind


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
        if self.fixed is None:
            days = recurring.settled(asked) if recurring else None
            return Fixed(days, recurring.kind) if recurring and days else None
        if recurring is None or self.fixed.days.length <= 1:
            return self.fixed
        inside = recurring.inside(self.fixed.days)
        return Fixed(inside, recurring.kind) if inside else None

    def sharing_days(self, other: Frame) -> Frame:
        """This time of day on the days of another frame."""
        return replace(
            self, fixed=other.fixed, yearly=other.yearly, monthly=other.monthly, weekly=other.weekly, weak=False
        )


def merged(left: Frame, right: Frame) -> Frame | None:
    """One frame that says what both say, None where they contradict each other or have nothing to do with each other."""
    if left.stretch or right.stretch or not (_agree(left, right) and _agree(right, left)):
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
        weak=left.weak and right.weak and not (left.names_time and right.names_time),
    )


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
