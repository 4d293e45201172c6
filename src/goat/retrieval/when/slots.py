"""The things that a time expression can name: known days, recurring days, a clock time, a part of the day, moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
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
