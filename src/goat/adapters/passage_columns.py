"""What both search indexes know of each passage of one owner: parallel columns in memory, row = passage number.

The columns mirror the blocks of the table `docmeta`. One thread changes them at a time; readers take no lock: they
work on a `PassageView`, which may see single rows change underneath but never a row or a link outside itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goat.records.search import Where

BLOCK: Final = 80
"""Records in a block: 3,840 bytes, so that a row of the table fits a page."""

MOST_ORD: Final = 2**24 - 1
"""The highest passage number: a posting has 24 bits for it."""

FILED: Final = 1
"""The passage exists: its time, episode, chat and topic hold."""
INDEXED: Final = 2
"""It has postings, a length, a session and a place in the chain of its chat."""
QUESTION: Final = 4
HUMAN: Final = 8

RECORD: Final = np.dtype(
    [
        ("at", "<i8"),  # microseconds since 1970
        ("episode", "<i8"),
        ("chat", "<u4"),  # labels
        ("topic", "<u4"),
        ("speaker", "<u4"),
        ("session", "<u4"),  # 0 = none
        ("previous", "<i4"),  # the chain of the chat in order of time, across sessions; -1 = none
        ("following", "<i4"),
        ("length", "<u4"),
        ("flags", "<u4"),
    ]
)
BLANK: Final[tuple[int, ...]] = (0, 0, 0, 0, 0, 0, -1, -1, 0, 0)

Records: TypeAlias = NDArray[np.void]
Rows: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

_IN_MEMORY: dict[str, np.dtype[Any]] = {"length": np.dtype(np.float32), "flags": np.dtype(np.uint8)}
_NAMES = tuple(RECORD.names or ())
_NO_LABEL = 2**32 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(moment: datetime) -> int:
    """An aware datetime as whole microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def require_ord(ord_: int) -> None:
    """Raise `ValueError` for a number that no passage can have."""
    if not 0 <= ord_ <= MOST_ORD:
        raise ValueError(f"passage number {ord_} is not between 0 and {MOST_ORD}")


class Totals(NamedTuple):
    """Counts over the indexed passages of the owner."""

    documents: int = 0
    length: int = 0
    sessions: int = 0


@dataclass(frozen=True, slots=True)
class PassageView:
    """The columns as a reader sees them, `size` rows each. `session_length[s]` is the length of all of session s."""

    size: int
    columns: Mapping[str, NDArray[Any]]
    totals: Totals
    session_length: NDArray[np.float64]
    labels: Mapping[str, int]
    names: Mapping[int, str]

    def column(self, name: str) -> NDArray[Any]:
        """One column, cut to `size`."""
        return self.columns[name][: self.size]

    def having(self, flag: int, rows: Rows | slice) -> Mask:
        """Which of the rows carry the flag."""
        return _carry(self.column("flags")[rows], flag)

    def passing(self, where: Where, rows: Rows | slice) -> Mask:
        """Which of the rows are filed and pass the filter."""
        mask = self.having(FILED, rows)
        if where.chat is not None:
            mask &= self.column("chat")[rows] == self._label(where.chat)
        if where.topic_id is not None:
            mask &= self.column("topic")[rows] == self._label(where.topic_id)
        if where.after is not None:
            mask &= self.column("at")[rows] >= microseconds(where.after)
        if where.before is not None:
            mask &= self.column("at")[rows] < microseconds(where.before)
        if where.up_to is not None:
            mask &= self.column("episode")[rows] < where.up_to
        return mask

    def _label(self, text: str) -> int:
        return self.labels.get(text, _NO_LABEL) if text else 0

    def sessions(self, rows: Rows) -> NDArray[np.int64]:
        """The session of each row, 0 for none or one that is newer than this view."""
        found = self.column("session")[rows].astype(np.int64)
        found[found >= len(self.session_length)] = 0
        return found

    def step(self, rows: Rows, link: str) -> Rows:
        """The neighbours by `previous` or `following` in the same session, -1 where there is none or the row is -1."""
        neighbours = self.column(link)[rows].astype(np.int64)
        there = (rows >= 0) & (neighbours >= 0) & (neighbours < self.size)
        session = self.column("session")
        there &= session[np.where(there, neighbours, 0)] == session[rows]
        return np.where(there, neighbours, -1)


class PassageColumns:
    """The columns of one owner with what is derived from them. `generation` says how new they are."""

    def __init__(self, owner_id: int) -> None:
        self.owner_id = owner_id
        self.generation = -1
        self.newest_label = 0
        self.labels: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.chat_ends: dict[int, int] = {}
        """The last indexed passage of each chat in order of time."""
        self._size = 0
        self._columns = _allocate(0)
        self._totals = Totals()
        self._session_length = np.zeros(1, np.float64)
        self._session_count = np.zeros(1, np.int64)

    @property
    def size(self) -> int:
        """One more than the highest row."""
        return self._size

    @property
    def next_session(self) -> int:
        """A session number that no row bears."""
        return len(self._session_length)

    def view(self) -> PassageView:
        """What is current now. The size is read first, since the columns only ever grow before it does."""
        size = self._size
        columns = self._columns
        return PassageView(size, columns, self._totals, self._session_length, self.labels, self.names)

    def filed(self, rows: Rows) -> Mask:
        """Which of the rows exist at this moment; a search asks before it answers."""
        return _carry(self._columns["flags"][rows], FILED)

    def row(self, ord_: int) -> tuple[int, ...]:
        """One record, blank outside."""
        if not 0 <= ord_ < self._size:
            return BLANK
        return tuple(int(self._columns[name][ord_]) for name in _NAMES)

    def block(self, number: int) -> Records:
        """The records of a block, blank where there are none yet."""
        first = number * BLOCK
        return self._pack(slice(first, min(first + BLOCK, self._size)), BLOCK)

    def add_labels(self, labels: Iterable[tuple[int, str]]) -> None:
        """Learn labels, in rising order of their numbers."""
        for number, text in labels:
            self.names[number] = text
            self.labels[text] = number
            self.newest_label = number

    def put(self, blocks: Rows, records: Records) -> None:
        """Take whole blocks over, `records` with shape (blocks, BLOCK)."""
        new = records.reshape(-1)
        rows = (blocks[:, None] * BLOCK + np.arange(BLOCK)).reshape(-1)
        stop = int(rows.max()) + 1
        self._reserve(stop)
        old = self._pack(rows, len(rows))
        self._count(old[_indexed(old)], new[_indexed(new)])
        flags = self._columns["flags"]
        flags[rows] &= new["flags"].astype(np.uint8)  # what goes is gone before its row changes, what comes is not seen
        for name in _NAMES[:-1]:
            self._columns[name][rows] = new[name]
        flags[rows] = new["flags"]
        self._size = max(self._size, stop)
        self._find_ends(rows, old, new)

    def _pack(self, rows: Rows | slice, count: int) -> Records:
        packed = np.full(count, np.array(BLANK, RECORD), RECORD)
        for name in _NAMES:
            values = self._columns[name][rows]
            packed[name][: len(values)] = values
        return packed

    def _reserve(self, size: int) -> None:
        held = len(self._columns["flags"])
        if size > held:
            larger = _allocate(max(size + size // 4, 1024))
            for name, values in self._columns.items():
                larger[name][:held] = values
            self._columns = larger

    def _count(self, old: Records, new: Records) -> None:
        """Carry the totals from the old records to the new ones."""
        touched, place = np.unique(np.concatenate([old["session"], new["session"]]), return_inverse=True)
        if not len(touched):
            return
        sign = np.repeat((-1, 1), (len(old), len(new)))
        length = np.concatenate([old["length"], new["length"]]).astype(np.int64) * sign
        self._reserve_sessions(int(touched[-1]) + 1)
        before = np.count_nonzero(self._session_count[touched])
        self._session_count[touched] += np.bincount(place, sign).astype(np.int64)
        self._session_length[touched] += np.bincount(place, length)
        self._totals = Totals(
            self._totals.documents + len(new) - len(old),
            self._totals.length + int(length.sum()),
            self._totals.sessions + int(np.count_nonzero(self._session_count[touched])) - int(before),
        )

    def _reserve_sessions(self, size: int) -> None:
        missing = size - len(self._session_length)
        if missing > 0:
            self._session_count = np.append(self._session_count, np.zeros(missing, np.int64))
            self._session_length = np.append(self._session_length, np.zeros(missing))

    def _find_ends(self, rows: Rows, old: Records, new: Records) -> None:
        for at in np.flatnonzero(_indexed(old) & (old["following"] < 0)):
            if self.chat_ends.get(int(old["chat"][at])) == rows[at]:
                del self.chat_ends[int(old["chat"][at])]
        for at in np.flatnonzero(_indexed(new) & (new["following"] < 0)):
            self.chat_ends[int(new["chat"][at])] = int(rows[at])


def _allocate(size: int) -> dict[str, NDArray[Any]]:
    return {
        name: np.full(size, blank, dtype=_IN_MEMORY.get(name, RECORD[name]))
        for name, blank in zip(_NAMES, BLANK, strict=True)
    }


def _indexed(records: Records) -> Mask:
    return _carry(records["flags"], INDEXED)


def _carry(flags: NDArray[Any], flag: int) -> Mask:
    mask: Mask = (flags & flag) != 0
    return mask
