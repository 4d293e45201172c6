"""Values out of JSON that nobody vouches for."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from typing import Any, Final, TypeAlias

from goat.adapters.history_file import BadValue

Json: TypeAlias = dict[str, Any]

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """The text with U+FFFD in the place of NUL and lone surrogates, which no database takes."""
    return _UNSTORABLE.sub("\ufffd", text)


def text_of(value: object) -> str:
    """A string as it is, an empty one for everything else."""
    return clean(value) if isinstance(value, str) else ""


def whole_number(value: object) -> int | None:
    """An integer that is written as a number or as digits, None for everything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,20}", value):
        return int(value)
    return None


def unix_moment(value: object) -> datetime:
    """Seconds since 1970 (a number, or digits in a string) as an aware time in UTC. Raises `BadValue`."""
    seconds = value if isinstance(value, float) else whole_number(value)
    if seconds is not None:
        try:
            return datetime.fromtimestamp(seconds, UTC)
        except (OverflowError, ValueError, OSError):
            pass
    raise BadValue(f"its date {shortened(value)} is no time in seconds")


def iso_moment(value: object, zone: tzinfo) -> datetime:
    """An ISO 8601 date and time as an aware time in UTC; one without an offset is read in `zone`. Raises `BadValue`."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        if moment is not None:
            return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise BadValue(f"its date {shortened(value)} is no date and time")


def shortened(value: object) -> str:
    """A value as it is quoted in a message to the person."""
    quoted = repr(value)
    return quoted if len(quoted) <= 60 else f"{quoted[:57]}..."


def as_object(value: object, what: str) -> Json:
    """A JSON object. Raises `BadValue`, naming what it should have been."""
    if isinstance(value, dict):
        return value
    raise BadValue(f"{what} is not a JSON object but {shortened(value)}")


def duration(seconds: object) -> str:
    """Seconds as `0:12` or `1:02:03`, empty where there is no number."""
    count = int(seconds) if isinstance(seconds, float) else whole_number(seconds)
    if count is None or count < 0:
        return ""
    minutes, rest = divmod(count, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
