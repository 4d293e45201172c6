"""Rules for the times of a day."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from goat.retrieval.when.asked import MINUTES_A_DAY, Asked
from goat.retrieval.when.frames import Frame
from goat.retrieval.when.slots import Clock, Part
from goat.retrieval.when.values import Values

Frames = tuple[Frame, ...]
HALF_DAY = MINUTES_A_DAY // 2


def _clock(minute: int, half: str, is_open: bool = True) -> Clock | None:
    """A time from its minutes; `half` is "am", "pm" or "" where nothing says it."""
    if not 0 <= minute <= MINUTES_A_DAY:
        return None
    if half and minute < HALF_DAY + 60:
        return Clock(minute % HALF_DAY + (HALF_DAY if half == "pm" else 0))
    return Clock(minute, open=is_open and not half and minute < HALF_DAY + 60)


def _frames(clock: Clock | None) -> Frames:
    return (Frame(clock=clock),) if clock else ()


def _time(values: Values, is_open: bool = True) -> Clock | None:
    """The time that is written with digits (`time`, or `dotted` as in 15.30) or in words (`hour`, perhaps `minute`)."""
    hour, minute = (
        values.numbers("time") or values.numbers("dotted") or (values.number("hour"), values.number("minute"))
    )
    return _clock(hour * 60 + minute, values.text("half"), is_open) if hour <= 24 and minute < 60 else None


def time(values: Values, _asked: Asked, is_open: bool) -> Frames:
    """A time as the language writes it; `is_open` where its clock has twelve hours or the time is spoken."""
    return _frames(_time(values, is_open))


def beside(values: Values, _asked: Asked, minutes: int) -> Frames:
    """So many minutes after `hour`, perhaps `half`."""
    hour = values.number("hour")
    return _frames(_clock(hour * 60 + minutes, values.text("half"))) if hour <= 24 else ()


def minutes_to(values: Values, asked: Asked) -> Frames:
    """`minute` minutes before `hour`, perhaps `half`."""
    minute = values.number("minute")
    return beside(values, asked, -minute) if minute < 60 else ()


def hours_between(values: Values, _asked: Asked) -> Frames:
    """From `hour` to `hour2`, or both as `span` or in minutes as `hours`, perhaps `half`."""
    half = values.text("half")
    if "hours" in values:
        start, end = (Clock(minute) for minute in values.numbers("hours"))
        return _between(start, end)
    first, last = values.numbers("span") or (values.number("hour"), values.number("hour2"))
    begin, finish = _clock(first * 60, half), _clock(last * 60, half)
    if begin is None or finish is None:
        return ()
    return _between(Clock(begin.minute - HALF_DAY) if half and begin.minute > finish.minute else begin, finish)


def _between(start: Clock, end: Clock) -> Frames:
    """From one time to another: "11 to 1 pm" begins in the morning, "22 to 2" ends in the next day."""
    first, last = start.usual, end.usual
    if last <= first:
        last += HALF_DAY if end.open else MINUTES_A_DAY
    return (Frame(part=Part(first, last, "range")),)


def part(values: Values, _asked: Asked) -> Frames:
    """`part`: first hour, last hour."""
    start, end = values.numbers("part")
    return (Frame(part=Part(start * 60, end * 60)),)


def noon(values: Values, _asked: Asked) -> Frames:
    """`noon`, or midnight: first hour, last hour around it."""
    start, end = values.numbers("noon")
    return (Frame(part=Part(start * 60, end * 60, "time")),)


def time_in_part(values: Values, _asked: Asked) -> Frames:
    """A time of a `part` of the day: "three in the afternoon"."""
    clock = _time(values)
    start, end = values.numbers("part")
    return _frames(clock.named_by(Part(start * 60, end * 60))) if clock else ()


RULES: Mapping[str, Callable[[Values, Asked], Frames]] = {
    "time": partial(time, is_open=False),
    "spoken_time": partial(time, is_open=True),
    "minutes_past": partial(time, is_open=True),
    "quarter_past": partial(beside, minutes=15),
    "half_past": partial(beside, minutes=30),
    "three_quarters_past": partial(beside, minutes=45),
    "quarter_to": partial(beside, minutes=-15),
    "half_to": partial(beside, minutes=-30),
    "three_quarters_to": partial(beside, minutes=-45),
    "minutes_to": minutes_to,
    "hours_between": hours_between,
    "part": part,
    "part_ahead": part,
    "time_ahead": partial(time, is_open=True),
    "noon": noon,
    "time_in_part": time_in_part,
}
