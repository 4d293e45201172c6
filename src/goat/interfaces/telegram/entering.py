"""Who is being let in: what they send meanwhile is kept, and judged when that has ended."""

from __future__ import annotations

from typing import NamedTuple

from goat.records.arrivals import Arrival


class _Kept(NamedTuple):
    arrival: Arrival
    person: int
    chat: int


class Entering:
    """The people and chats that a code or a command is letting in, each by its number."""

    def __init__(self) -> None:
        self._under_way: dict[int, int] = {}
        self._kept: list[_Kept] = []

    def begin(self, arrival: Arrival, number: int) -> None:
        """Take in that the handling of a delivery may let a person or a chat in, until `end`."""
        self._under_way[arrival.id] = number

    def keeps(self, arrival: Arrival, person: int, chat: int, refused: bool) -> bool:
        """Keep what would be `refused` and may not be, and what the same person says there behind it."""
        behind = any(one.person == person and one.chat == chat for one in self._kept)
        if not behind and not (refused and self._waits(person, chat)):
            return False
        self._kept.append(_Kept(arrival, person, chat))
        return True

    def end(self, arrival: Arrival) -> list[Arrival]:
        """What was kept until the handling of a delivery had ended, oldest first."""
        if self._under_way.pop(arrival.id, None) is None:
            return []
        free = [one.arrival for one in self._kept if not self._waits(one.person, one.chat)]
        self._kept = [one for one in self._kept if self._waits(one.person, one.chat)]
        return free

    def close(self) -> None:
        """Leave what is kept to the next start."""
        self._under_way.clear()
        self._kept.clear()

    def _waits(self, person: int, chat: int) -> bool:
        return not {person, chat}.isdisjoint(self._under_way.values())
