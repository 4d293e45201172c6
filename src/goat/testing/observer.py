"""An observer that keeps what it is told."""

from __future__ import annotations

from goat.records.turns import Notice, PrefetchRecord, TurnRecord


class KeepingObserver:
    """Lists of everything that happened, in order."""

    def __init__(self) -> None:
        self.turns: list[TurnRecord] = []
        self.prefetches: list[PrefetchRecord] = []
        self.notices: list[Notice] = []

    def turn(self, record: TurnRecord) -> None:
        """Keep a turn."""
        self.turns.append(record)

    def prefetch(self, record: PrefetchRecord) -> None:
        """Keep a background search."""
        self.prefetches.append(record)

    def notice(self, notice: Notice) -> None:
        """Keep a notice."""
        self.notices.append(notice)
