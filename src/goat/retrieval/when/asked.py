"""When and where a text was written: the moment, the zone, and which way an open date points."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal

Prefer = Literal["past", "future"]
Order = Literal["dmy", "mdy", "ymd"]
MINUTES_A_DAY = 24 * 60
ABOUT = timedelta(hours=1)
"""A clock time stands for this much to either side of it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`at` is local to `zone`; `order` is how a numeric date such as 9/7/2026 is read."""

    at: datetime
    zone: tzinfo
    prefer: Prefer
    order: Order

    @property
    def today(self) -> date:
        """The calendar day on which it was written."""
        return self.at.date()

    def instants(self, day: date, minute: int) -> tuple[datetime, datetime]:
        """The first and the last moment (UTC) at which the clocks show `minute` of a day, which may lie in a later day.

        Two moments where clocks are set back over it. A time that clocks jump over is as late as they would have been
        without the jump.
        """
        days, minute = divmod(minute, MINUTES_A_DAY)
        local = datetime.combine(day + timedelta(days), time(*divmod(minute, 60)), tzinfo=self.zone)
        first, second = local.astimezone(UTC), local.replace(fold=1).astimezone(UTC)
        return first, max(first, second)

    def midnight(self, day: date) -> datetime:
        """The moment (UTC) at which a day begins."""
        return self.instants(day, 0)[0]

    def a_day_later(self, moment: datetime) -> datetime:
        """The moment (UTC) at which the clocks show the same time on the next day."""
        local = self.local(moment)
        return self.instants(local.date() + timedelta(1), local.hour * 60 + local.minute)[0]

    def local(self, moment: datetime) -> datetime:
        """The moment as the clocks of the zone show it."""
        return moment.astimezone(self.zone)
