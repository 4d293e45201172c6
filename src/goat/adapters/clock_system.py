"""The machine's clock."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from goat.errors import SettingsError


class SystemClock:
    """Time as the machine has it, read in the owner's zone.

    `zone` is an IANA name; empty means the machine's own. Raises `SettingsError` for a name that does not exist.
    """

    def __init__(self, zone: str = "") -> None:
        self._zone = _zone(zone)

    def now(self) -> datetime:
        """The present moment in UTC."""
        return datetime.now(UTC)

    def zone(self) -> tzinfo:
        """The zone in which the owner reads times."""
        return self._zone

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


def _zone(name: str) -> tzinfo:
    if name:
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError) as unknown:
            raise SettingsError([f"[turn] zone: {name!r} is not an IANA zone such as Europe/Bucharest"]) from unknown
    from tzlocal import get_localzone

    return get_localzone()
