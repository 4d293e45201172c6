"""Rules for what counts from the moment of writing: yesterday, last week, three days ago, next Monday."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import cast

from goat.retrieval.when.asked import ABOUT, Asked
from goat.retrieval.when.dates import DAYS_A_WEEK, Days, Unit, containing, one_day, share, shifted, week_of
from goat.retrieval.when.frames import Frame
from goat.retrieval.when.rules_calendar import holiday, month_of, season_of, weekday
from goat.retrieval.when.selectors import KINDS, Relation, Selector, week_about
from goat.retrieval.when.slots import Fixed, Part, Recurring, Stretch
from goat.retrieval.when.values import Values

Frames = tuple[Frame, ...]

_FEW = (2, 6)
"""What "a few" may be."""

_MINUTES: Mapping[Unit, int] = {"minute": 1, "hour": 60}


def _unit(values: Values) -> Unit:
    return cast(Unit, values.text("unit"))


def _moved(asked: Asked, unit: Unit, count: int) -> date | None:
    try:
        return shifted(asked.today, unit, count)
    except (ValueError, OverflowError):
        return None


def _around(asked: Asked, minutes: int) -> Frames:
    """An hour to either side of a moment so many minutes from now."""
    centre = _moment(asked, minutes)
    return (Frame(stretch=Stretch(centre - ABOUT, centre + ABOUT, centre, "time")),) if centre else ()


def _moment(asked: Asked, minutes: int) -> datetime | None:
    try:
        return asked.at.astimezone(UTC) + timedelta(minutes=minutes)
    except OverflowError:
        return None


def relative_day(values: Values, asked: Asked) -> Frames:
    """`days` from today."""
    return (Frame(fixed=Fixed(one_day(asked.today + timedelta(values.number("days"))), "day")),)


def part_of_day(values: Values, asked: Asked) -> Frames:
    """`daypart`: days from today, first hour, last hour."""
    days, start, end = values.numbers("daypart")
    day = Fixed(one_day(asked.today + timedelta(days)), "day")
    return (Frame(fixed=day, part=Part(start * 60, end * 60)),)


def part_today(values: Values, asked: Asked) -> Frames:
    """`part` (first hour, last hour) of today."""
    start, end = values.numbers("part")
    return (Frame(fixed=Fixed(one_day(asked.today), "day"), part=Part(start * 60, end * 60)),)


def nearest_night(values: Values, asked: Asked) -> Frames:
    """`night` (first hour, last hour): the one before today or, where dates point ahead, after."""
    start, end = values.numbers("night")
    day = asked.today - timedelta(1) if asked.prefer == "past" else asked.today
    return (Frame(fixed=Fixed(one_day(day), "day"), part=Part(start * 60, end * 60)),)


def some_days_ago(values: Values, asked: Asked) -> Frames:
    """`lately`: from so many days ago to so many days ago, the nearer first."""
    near, far = values.numbers("lately")
    days = Days(asked.today - timedelta(far), asked.today - timedelta(near - 1))
    return (Frame(fixed=Fixed(days, "range")),)


def distance(values: Values, asked: Asked, direction: int) -> Frames:
    """`count` `unit`s from now; or `minutes`, or `months`, from now."""
    unit, count = _unit(values), values.number("count") * direction
    if "minutes" in values:
        return _around(asked, values.number("minutes") * direction)
    if "months" in values:
        unit, count = "month", values.number("months") * direction
    if unit in _MINUTES:
        return _around(asked, count * _MINUTES[unit])
    day = _moved(asked, unit, count)
    if day is None:
        return ()
    if unit == "week":
        return (Frame(fixed=week_about(day)),)
    return (Frame(fixed=Fixed(containing(day, unit), KINDS[unit], None if unit == "weekend" else day)),)


def few(values: Values, asked: Asked, direction: int) -> Frames:
    """A few `unit`s from now."""
    unit = _unit(values)
    ends = sorted(count * direction for count in _FEW)
    if unit in _MINUTES:
        after, before = (_moment(asked, count * _MINUTES[unit]) for count in ends)
        if after is None or before is None:
            return ()
        return (Frame(stretch=Stretch(after - ABOUT, before + ABOUT, after + (before - after) / 2, "range")),)
    first, last = (_moved(asked, unit, count) for count in ends)
    return (Frame(fixed=Fixed(Days(first, one_day(last).end), "range")),) if first and last else ()


def span(values: Values, asked: Asked, direction: int, default: int = 1) -> Frames:
    """The last or next `count` `unit`s up to now or from now."""
    unit, count = _unit(values), values.number("count", default) * direction
    now = asked.at.astimezone(UTC)
    if unit in _MINUTES:
        far = _moment(asked, count * _MINUTES[unit])
    else:
        day = _moved(asked, unit, count)
        far = asked.midnight(day) if day else None
    if far is None or far == now:
        return ()
    after, before = sorted((far, now))
    return (Frame(stretch=Stretch(after, before, after + (before - after) / 2, "range")),)


def unit_from_now(values: Values, asked: Asked, count: int | None = None) -> Frames:
    """The calendar `unit` so many away from the present one; `ref` names both, as in "week-1"."""
    unit = _unit(values)
    if count is None:
        name = values.text("ref").rstrip("+-0123456789")
        unit, count = cast(Unit, name), int(values.text("ref").removeprefix(name))
    day = _moved(asked, unit, count)
    if day is None:
        return ()
    days = containing(day, unit)
    if unit == "weekend" and count == 0 and asked.prefer == "past" and days.first > asked.today:
        days = containing(shifted(day, unit, -1), unit)
    return (Frame(fixed=Fixed(days, KINDS[unit])),)


def share_of_unit(values: Values, asked: Asked, third: int) -> Frames:
    """The first, second or last third of the present `unit`."""
    days = share(containing(asked.today, _unit(values)), third, of=3)
    return (Frame(fixed=Fixed(days, "range")),)


def weekday_of_week(values: Values, asked: Asked) -> Frames:
    """`weekday`, or `int` with Monday being 1, of the week `ref`."""
    number = values.number("weekday", values.number("int") - 1)
    frame = unit_from_now(values, asked)
    if not frame or not 0 <= number < 7:
        return ()
    week = frame[0].fixed
    return (Frame(fixed=Fixed(one_day(week.days.first + timedelta(number)), "day")),) if week else ()


def beside(values: Values, _asked: Asked, relation: Relation) -> Frames:
    """`count` `unit`s before or after what follows; without a count the one next to it."""
    unit = _unit(values)
    return () if unit in _MINUTES else (Frame(selector=Selector(relation, values.number("count", 1), unit)),)


def inside(values: Values, asked: Asked) -> Frames:
    """The `number`th `unit` or `weekday` of what follows, from its end if negative; or the last `count` units."""
    weekly = _recurring(weekday(values, asked)) if "weekday" in values else None
    number, count = values.number("number", -1), values.number("count", 1)
    return (Frame(selector=Selector("of", number, "day" if weekly else _unit(values), weekly, count)),)


def _recurring(frames: Frames) -> Recurring | None:
    return (frames[0].yearly or frames[0].weekly) if frames else None


def last(values: Values, asked: Asked, rule: Callable[[Values, Asked], Frames]) -> Frames:
    """The last one that is over."""
    recurring = _recurring(rule(values, asked))
    days = recurring and recurring.latest(asked.today, lambda days: days.end <= asked.today)
    return (Frame(fixed=Fixed(days, recurring.kind)),) if recurring and days else ()


def weekday_before_last(values: Values, asked: Asked) -> Frames:
    """The `weekday` a week before the last one."""
    weekly = _recurring(weekday(values, asked))
    days = weekly and weekly.latest(asked.today, lambda days: (asked.today - days.first).days > DAYS_A_WEEK)
    return (Frame(fixed=Fixed(days, "day")),) if days else ()


def following(values: Values, asked: Asked, rule: Callable[[Values, Asked], Frames]) -> Frames:
    """The next one that has not begun; a weekday is that of the next calendar week."""
    recurring = _recurring(rule(values, asked))
    after = week_of(asked.today).end - timedelta(1) if recurring and recurring.every == "week" else asked.today
    days = recurring and recurring.earliest(after, lambda days: days.first > after)
    return (Frame(fixed=Fixed(days, recurring.kind)),) if recurring and days else ()


def present(values: Values, asked: Asked, rule: Callable[[Values, Asked], Frames]) -> Frames:
    """The one of the present week or year, or the one that lasts now."""
    recurring = _recurring(rule(values, asked))
    if recurring is None:
        return ()
    days = recurring.latest(asked.today, lambda days: days.first <= asked.today < days.end)
    days = days or recurring.build(recurring.number(asked.today))
    return (Frame(fixed=Fixed(days, recurring.kind)),) if days else ()


RULES: Mapping[str, Callable[[Values, Asked], Frames]] = {
    "relative_day": relative_day,
    "part_of_day": part_of_day,
    "part_today": part_today,
    "nearest_night": nearest_night,
    "some_days_ago": some_days_ago,
    "ago": partial(distance, direction=-1),
    "ahead": partial(distance, direction=1),
    "few_ago": partial(few, direction=-1),
    "few_ahead": partial(few, direction=1),
    "past_span": partial(span, direction=-1),
    "next_span": partial(span, direction=1),
    "past_few": partial(span, direction=-1, default=_FEW[1]),
    "next_few": partial(span, direction=1, default=_FEW[1]),
    "last_unit": partial(unit_from_now, count=-1),
    "this_unit": partial(unit_from_now, count=0),
    "next_unit": partial(unit_from_now, count=1),
    "unit_from_now": unit_from_now,
    "early_unit": partial(share_of_unit, third=1),
    "mid_unit": partial(share_of_unit, third=2),
    "late_unit": partial(share_of_unit, third=3),
    "weekday_before_last": weekday_before_last,
    "weekday_of_week": weekday_of_week,
    "before": partial(beside, relation="before"),
    "after": partial(beside, relation="after"),
    "nth": inside,
    **{
        f"{which}_{name}": partial(select, rule=rule)
        for which, select in (("last", last), ("this", present), ("next", following))
        for name, rule in (("weekday", weekday), ("month", month_of), ("season", season_of), ("holiday", holiday))
    },
}
