"""Changes to one owner's passage columns within a transaction: the chain of each chat and its sessions.

The indexed passages of a chat form a doubly linked chain in order of (time, ord). A session is a stretch of the chain
in which no two neighbours are more than `SESSION_GAP` apart; it follows from the passages that stand in the chain, not
from the order in which they came.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

import numpy as np

from goat.adapters.passage_columns import BLANK, BLOCK, FILED, INDEXED, RECORD, PassageColumns, Records

SESSION_GAP: Final = 4 * 3600 * 1_000_000
"""Microseconds of silence after which a new session begins."""

_as_record = attrgetter(*(RECORD.names or ()))


@dataclass(slots=True)
class PassageRow:
    """A record of `passage_columns.RECORD` that can be changed."""

    at: int = 0
    episode: int = 0
    chat: int = 0
    topic: int = 0
    speaker: int = 0
    session: int = 0
    previous: int = -1
    following: int = -1
    length: int = 0
    flags: int = 0

    @property
    def indexed(self) -> bool:
        """Whether it stands in a chain."""
        return bool(self.flags & INDEXED)

    @property
    def labels(self) -> set[int]:
        """The labels that it needs."""
        return {self.chat, self.topic, self.speaker} - {0}


class PassageDraft:
    """The columns and, over them, rows that are not committed yet."""

    def __init__(self, columns: PassageColumns) -> None:
        self._columns = columns
        self._rows: dict[int, PassageRow] = {}
        self._moved: set[int] = set()
        self._ends: dict[int, int] = {}
        self._next_session = columns.next_session
        self._dropped: set[int] = set()

    @property
    def owner_id(self) -> int:
        """The owner's number."""
        return self._columns.owner_id

    @property
    def changed(self) -> bool:
        """Whether there is anything to save."""
        return bool(self._rows)

    def row(self, ord_: int) -> PassageRow:
        """The row as the transaction sees it; what is changed in it is saved."""
        row = self._rows.get(ord_)
        if row is None:
            row = self._rows[ord_] = PassageRow(*self._columns.row(ord_))
        return row

    def peek(self, ord_: int) -> PassageRow:
        """The row as the transaction sees it, only to be looked at."""
        return self._rows.get(ord_) or PassageRow(*self._columns.row(ord_))

    def file(self, ord_: int, row: PassageRow) -> None:
        """Put a row that stands in no chain."""
        self._dropped |= self.peek(ord_).labels
        self._rows[ord_] = row

    def blank(self, ord_: int) -> None:
        """Leave nothing of a row that stands in no chain; a row that is not there is fine."""
        if self.peek(ord_).flags:
            self.file(ord_, PassageRow(*BLANK))

    def unlink(self, ord_: int) -> None:
        """Take a passage out of its chain and close the gap; a silence that this leaves parts the session."""
        row = self.row(ord_)
        self._moved.add(ord_)
        if row.previous >= 0:
            self.row(row.previous).following = row.following
        if row.following >= 0:
            self.row(row.following).previous = row.previous
        else:
            self._ends[row.chat] = row.previous
        if row.previous >= 0 and row.following >= 0:
            before, after = self.peek(row.previous), self.peek(row.following)
            if before.session == after.session and after.at - before.at > SESSION_GAP:
                self._rename_session(row.following, self._new_session())
        row.previous = row.following = -1
        row.session = row.length = 0
        row.flags = FILED

    def link(self, ord_: int, row: PassageRow) -> None:
        """Put an indexed row into the chain of its chat; where it bridges a silence, two sessions become one."""
        self.file(ord_, row)
        self._moved.add(ord_)
        row.previous, row.following = self._place(ord_, row)
        near_previous = self._near(row, row.previous)
        near_following = self._near(row, row.following)
        if row.previous >= 0:
            self.row(row.previous).following = ord_
        if row.following >= 0:
            self.row(row.following).previous = ord_
        else:
            self._ends[row.chat] = ord_
        if near_previous:
            row.session = self.peek(row.previous).session
            if near_following:
                self._rename_session(row.following, row.session)
        elif near_following:
            row.session = self.peek(row.following).session
        else:
            row.session = self._new_session()

    def blocks(self) -> Iterator[tuple[int, Records]]:
        """The blocks that hold changed rows, by number, with the records to be stored."""
        numbers = sorted({ord_ // BLOCK for ord_ in self._rows})
        blocks = {number: self._columns.block(number) for number in numbers}
        for ord_, row in self._rows.items():
            blocks[ord_ // BLOCK][ord_ % BLOCK] = _as_record(row)
        yield from blocks.items()

    def unused_labels(self) -> set[int]:
        """Labels that rows were freed of and that no row needs any more."""
        unused = set(self._dropped)
        for row in self._rows.values():
            unused -= row.labels
        if unused:
            view = self._columns.view()
            unchanged = np.ones(view.size, np.bool_)
            unchanged[[ord_ for ord_ in self._rows if ord_ < view.size]] = False
            for name in ("chat", "topic", "speaker"):
                column = view.column(name)[unchanged]
                unused = {label for label in unused if not (column == label).any()}
        return unused

    def _new_session(self) -> int:
        session = self._next_session
        self._next_session += 1
        return session

    def _near(self, row: PassageRow, neighbour: int) -> bool:
        return neighbour >= 0 and abs(self.peek(neighbour).at - row.at) <= SESSION_GAP

    def _rename_session(self, first: int, session: int) -> None:
        """Give the session that begins at `first` another number."""
        old = self.peek(first).session
        ord_ = first
        while ord_ >= 0 and old != session and self.peek(ord_).session == old:
            row = self.row(ord_)
            row.session = session
            ord_ = row.following

    def _place(self, ord_: int, row: PassageRow) -> tuple[int, int]:
        """The neighbours between which a row belongs."""
        end = self._ends.get(row.chat, self._columns.chat_ends.get(row.chat, -1))
        if end < 0 or self._key(end) < (row.at, ord_):
            return end, -1
        following = self._first_later(ord_, row)
        if following < 0:
            following = end
        while (previous := self.peek(following).previous) >= 0 and self._key(previous) > (row.at, ord_):
            following = previous
        return previous, following

    def _first_later(self, ord_: int, row: PassageRow) -> int:
        """The first passage of the chat after the given place among those that this draft has not moved, else -1."""
        view = self._columns.view()
        at = view.column("at")
        later = (view.column("chat") == row.chat) & view.having(INDEXED, slice(None)) & (at >= row.at)
        later[[moved for moved in self._moved if moved < view.size]] = False
        rows = np.flatnonzero(later)
        rows = rows[(at[rows] > row.at) | (rows > ord_)]
        return int(rows[np.lexsort((rows, at[rows]))[0]]) if len(rows) else -1

    def _key(self, ord_: int) -> tuple[int, int]:
        return self.peek(ord_).at, ord_
