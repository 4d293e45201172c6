"""What an expression stands for on the time line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from goat.retrieval.when.asked import ABOUT, MINUTES_A_DAY, Asked
from goat.retrieval.when.dates import Days, one_day, share
from goat.retrieval.when.expressions import Expression
from goat.retrieval.when.frames import Frame
from goat.retrieval.when.marks import THIRDS
from goat.retrieval.when.shapes import FIRST_YEAR, LAST_YEAR
from goat.retrieval.when.slots import Fixed, Kind, Part, Recurring

_SHORTEST_IN_THIRDS = 7
_ALL_DAY = Part(0, MINUTES_A_DAY)


@dataclass(frozen=True, slots=True)
class Extent:
    """A stretch of time in UTC. `begin` and `finish` are the exact ends, which a range takes; `after` and `before`
    are those of the window, wider about a clock time."""

    begin: datetime
    finish: datetime
    after: datetime
    before: datetime
    centre: datetime
    kind: Kind


def extent_of(one: Expression, asked: Asked) -> Extent | None:
    """Where the expression lies, None where there is no such time or it lies outside of the years that count."""
    try:
        found = _range(one.frame, one.to.frame, asked) if one.to else _marked(one, asked)
        return found if found and _is_plausible(found, asked) else None
    except (ValueError, OverflowError):  # beyond the years of `datetime`
        return None


def _is_plausible(found: Extent, asked: Asked) -> bool:
    return asked.local(found.after).year >= FIRST_YEAR and asked.local(found.before).year <= LAST_YEAR + 1


def _marked(one: Expression, asked: Asked) -> Extent | None:
    """A single expression with its marks: the early part of it, or the time since, until, before or after."""
    frame = one.frame
    for third, mark in enumerate(THIRDS, start=1):
        if mark in one.marks:
            frame = _third(frame, third, asked)
    extent = _extent(frame, asked)
    if extent is None:
        return None
    of_a_day = frame.names_time and frame.stretch is None
    if "since" in one.marks:
        return _between(extent.begin, asked.at.astimezone(UTC))
    if "after" in one.marks:
        return _between(extent.finish, _end_of_day(extent, asked) if of_a_day else _later(extent.finish, asked))
    if "until" in one.marks or "before" in one.marks:
        end = extent.finish if "until" in one.marks else extent.begin
        found = _between(asked.midnight(asked.local(end).date()) if of_a_day else _earlier(end, asked), end)
        return replace(found, centre=end) if found and not of_a_day else found
    return extent


def _end_of_day(extent: Extent, asked: Asked) -> datetime:
    return asked.midnight(asked.local(extent.begin).date() + timedelta(1))


def _later(moment: datetime, asked: Asked) -> datetime:
    """Where the time after a moment ends: now, unless it lies ahead."""
    now = asked.at.astimezone(UTC)
    return now if moment < now else asked.midnight(date(LAST_YEAR + 1, 1, 1))


def _earlier(moment: datetime, asked: Asked) -> datetime:
    """Where the time before a moment begins: with the years that count, or now if it lies ahead and that is meant."""
    now = asked.at.astimezone(UTC)
    return now if asked.prefer == "future" and moment > now else asked.midnight(date(FIRST_YEAR, 1, 1))


def _third(frame: Frame, third: int, asked: Asked) -> Frame:
    found = frame.days(asked)
    if found is None or found.days.length < _SHORTEST_IN_THIRDS:
        return frame
    return Frame(fixed=Fixed(share(found.days, third, of=3), "range"))


def _between(begin: datetime, finish: datetime) -> Extent | None:
    if begin >= finish:
        return None
    return Extent(begin, finish, begin, finish, begin + (finish - begin) / 2, "range")


def _range(left: Frame, right: Frame, asked: Asked) -> Extent | None:
    """From the beginning of one to the end of the other; an open end follows the one that is known."""
    if left.names_time and not left.names_days and right.names_days:
        left = left.sharing_days(right)
    elif right.names_time and not right.names_days and left.names_days:
        right = right.sharing_days(left)
    if left.clock and left.part and right.clock and not right.part:
        right = replace(right, part=left.part)
    left, right = _aligned(left, right, asked)
    begins, finishes = _extent(left, asked), _extent(right, asked)
    if begins is None or finishes is None:
        return None
    finish = finishes.finish
    if finish <= begins.begin and right.names_time and left.fixed == right.fixed:
        finish = asked.a_day_later(finish)
    return _between(begins.begin, finish)


def _aligned(left: Frame, right: Frame, asked: Asked) -> tuple[Frame, Frame]:
    """Both ends with known days, the second not before the first."""
    begins, finishes = _open(left), _open(right)
    if begins and finishes and begins.every == "week" and asked.prefer == "past":
        last = finishes.latest(asked.today, lambda days: days.first <= asked.today)
        right, finishes = _pinned(right, last, finishes), None
    elif begins and finishes:
        left, begins = _pinned(left, begins.settled(asked), begins), None
    if begins and (known := right.days(asked)):
        end = known.days.first
        left = _pinned(left, begins.latest(end, lambda days: days.first <= end), begins)
    if finishes and (known := left.days(asked)):
        start = known.days.first
        right = _pinned(right, finishes.earliest(start, lambda days: days.first >= start), finishes)
    return left, right


def _open(frame: Frame) -> Recurring | None:
    return None if frame.fixed else frame.yearly or frame.monthly or frame.weekly


def _pinned(frame: Frame, days: Days | None, recurring: Recurring) -> Frame:
    if days is None:
        return frame
    return replace(frame, fixed=Fixed(days, recurring.kind), yearly=None, monthly=None, weekly=None)


def _extent(frame: Frame, asked: Asked) -> Extent | None:
    """Where a single frame lies."""
    stretch = frame.stretch
    if stretch:
        exact = (stretch.centre, stretch.centre) if stretch.kind == "time" else (stretch.after, stretch.before)
        return Extent(*exact, stretch.after, stretch.before, stretch.centre, stretch.kind)
    found = frame.days(asked)
    if frame.names_time and (found is None or found.days.length == 1):
        if found is None and frame.names_days:
            return None
        return _time_extent(frame, found.days if found else None, asked)
    return _days_extent(found, asked) if found else None


def _days_extent(found: Fixed, asked: Asked) -> Extent:
    begin, finish = asked.midnight(found.days.first), asked.midnight(found.days.end)
    if found.centre is None:
        return Extent(begin, finish, begin, finish, begin + (finish - begin) / 2, found.kind)
    noon, _ = asked.instants(found.centre, 12 * 60)
    return Extent(begin, finish, begin, finish, noon, found.kind)


def _time_extent(frame: Frame, days: Days | None, asked: Asked) -> Extent | None:
    """The time of the day that was named, or of the day on which it was last or will be next."""
    choices = list(_choices(frame, days, asked))
    now = asked.at.astimezone(UTC)
    if days is None and asked.prefer == "past":
        fitting = [choice for choice in choices if choice.begin <= now]
    elif days is None:
        fitting = [choice for choice in choices if choice.finish >= now]
    else:
        fitting = [choice for choice in choices if asked.prefer == "future" or choice.begin <= now]
    return next(iter(fitting or choices), None)


def _choices(frame: Frame, days: Days | None, asked: Asked) -> Iterator[Extent]:
    """The times that may be meant, the likelier first."""
    step = -1 if asked.prefer == "past" else 1
    for offset in (0, step) if days is None else (0,):
        day = (days or one_day(asked.today)).first + timedelta(offset)
        yield _time_on(day, frame, asked)
        if frame.clock and frame.part is None and frame.clock.usual != frame.clock.minute and asked.prefer == "past":
            yield _time_on(day, replace(frame, clock=replace(frame.clock, open=False)), asked)


def _time_on(day: date, frame: Frame, asked: Asked) -> Extent:
    clock, part = frame.clock, frame.part or _ALL_DAY
    if clock:
        minute = clock.within(part) if frame.part else clock.usual
        first, last = asked.instants(day, minute)
        return Extent(first, last, first - ABOUT, last + ABOUT, first, "time")
    begin, finish = asked.instants(day, part.start)[0], asked.instants(day, part.end)[1]
    return Extent(begin, finish, begin, finish, begin + (finish - begin) / 2, part.kind)
