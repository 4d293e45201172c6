"""The shapes that digits come in: 9.07.2026, 2026-07-09T15:30, 15h30, 3-5, 12.50."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

Value = int | str | tuple[int, ...]
"""What a token or a word of a grammar stands for."""

FIRST_YEAR, LAST_YEAR = 1970, 2100
"""Years outside are not taken for years, and no window reaches outside."""

_LONGEST = 32
"""No numeric shape has more characters."""


def _numbers(match: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(group) for group in match.groups() if group is not None)


def _with_separator(match: re.Match[str]) -> Value | None:
    first, separator, second, year = match.groups()
    return None if separator == "-" and len(year) == 2 else (int(first), int(second), int(year), "./-".index(separator))


def _clock(match: re.Match[str]) -> Value | None:
    hour, minute = int(match[1]), int(match[2])
    return (hour, minute) if _is_clock(hour, minute) else None


def _hours(match: re.Match[str]) -> Value | None:
    times = [int(match[1]), int(match[2] or 0), int(match[3]), int(match[4] or 0)]
    if (match[2] is None and match[4] is None) or not (_is_clock(*times[:2]) and _is_clock(*times[2:])):
        return None
    return (times[0] * 60 + times[1], times[2] * 60 + times[3])


def _years(match: re.Match[str]) -> Value | None:
    first, last = int(match[1]), int(match[2])
    return (first, last) if FIRST_YEAR <= first < last <= LAST_YEAR else None


def _year_and_month(match: re.Match[str]) -> Value | None:
    year, month = int(match[1]), int(match[2])
    return (year, month) if FIRST_YEAR <= year <= LAST_YEAR and 1 <= month <= 12 else None


def _is_clock(hour: int, minute: int) -> bool:
    return minute < 60 and (hour < 24 or (hour, minute) == (24, 0))


_SHAPES: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], Value | None]], ...] = (
    ("int", re.compile(r"(\d{1,4})"), lambda match: int(match[1])),
    ("time", re.compile(r"(\d{1,2})[:hH](\d\d)(?::[0-5]\d)?"), _clock),
    (
        "ymd",
        re.compile(r"(\d{4})([-./])(\d{1,2})\2(\d{1,2})"),
        lambda match: (int(match[1]), int(match[3]), int(match[4])),
    ),
    ("dmy", re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})"), _with_separator),
    ("short", re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{2})"), _with_separator),
    ("dotted", re.compile(r"(\d{1,2})\.(\d{1,2})"), _numbers),
    ("slashed", re.compile(r"(\d{1,2})/(\d{1,2})"), _numbers),
    ("span", re.compile(r"(\d{1,2})-(\d{1,2})"), _numbers),
    ("comma", re.compile(r"(\d{1,2}),(\d{4})"), _numbers),
    ("hours", re.compile(r"(\d{1,2})(?::(\d\d))?-(\d{1,2})(?::(\d\d))?"), _hours),
    ("years", re.compile(r"(\d{4})-(\d{4})"), _years),
    ("ym", re.compile(r"(\d{4})-(\d\d)"), _year_and_month),
)

_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(?:([Zz])|([+-])(\d\d):?(\d\d))?")


def shape(written: str) -> tuple[str, Value | None]:
    """The class of a run of digits with separators and its value; ("none", None) for one that has no meaning here."""
    if len(written) > _LONGEST:
        return "none", None
    plain = unicodedata.normalize("NFKC", written).translate({0x2013: "-", 0x2212: "-"})
    for name, pattern, read in _SHAPES:
        match = pattern.fullmatch(plain)
        if match is not None and (value := read(match)) is not None:
            return name, value
    return "none", None


def iso_moment(written: str) -> tuple[str, Value | None]:
    """An ISO date-time: year, month, day, hour, minute, and where it has one its offset from UTC in minutes."""
    match = _ISO.fullmatch(unicodedata.normalize("NFKC", written))
    if match is None:
        return "none", None
    local = tuple(int(part) for part in match.groups()[:5])
    if match[7]:
        return "iso", (*local, 0)
    if match[8]:
        minutes = int(match[9]) * 60 + int(match[10])
        return "iso", (*local, minutes if match[8] == "+" else -minutes)
    return "iso", local
