"""The passage columns of all owners, kept in the journal's SQLite file and mirrored in memory for both indexes.

Table `docmeta` holds them in blocks of `passage_columns.BLOCK` records, keyed `owner << 32 | block`. Every transaction
that changes blocks gives them the next `gen`, so the memory catches up by reading what is newer than itself: after a
commit, and just as well after one whose caller was cancelled. Strings stand once in `label`; their numbers are never
used again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock

import numpy as np
from sqlalchemy import Connection

from goat.adapters.database import Database
from goat.adapters.passage_chain import PassageDraft, PassageRow
from goat.adapters.passage_columns import BLOCK, FILED, RECORD, PassageColumns, microseconds
from goat.records.search import VectorRow


class SqlitePassages:
    """Shared by the lexical and the vector index of one file. Its methods with a connection run in a transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._columns: dict[str, PassageColumns] = {}
        self._written = 0
        self._catching_up = Lock()

    async def columns(self, port: str, owner: str) -> PassageColumns:
        """The owner's columns, holding every change whose call has returned; failures are told in a port's name."""
        columns = self._columns.get(owner)
        if columns is not None and columns.generation >= self._written:
            return columns
        return await self._database.read(port, lambda connection: self.current(connection, owner))

    def current(self, connection: Connection, owner: str) -> PassageColumns:
        """The owner's columns, holding every change that was committed when the transaction began."""
        columns = self._columns.get(owner)
        if columns is not None and columns.generation >= self._written:
            return columns
        with self._catching_up:
            columns = self._columns.get(owner)
            if columns is None:
                owner_id = find_owner(connection, owner)
                if owner_id is None:
                    return PassageColumns(0)
                columns = PassageColumns(owner_id)
            _catch_up(connection, columns)
            self._columns[owner] = columns
            return columns

    def draft(self, connection: Connection, owner: str, *, adding: bool) -> PassageDraft:
        """Begin changes to an owner's passages; with `adding`, an owner who is not known yet becomes known.

        Begin all drafts of a transaction before the first is saved: memory must not learn what may be rolled back.
        """
        columns = self.current(connection, owner)
        if adding and not columns.owner_id:
            columns = PassageColumns(make_owner(connection, owner))
        return PassageDraft(columns)

    def save(self, connection: Connection, drafts: Sequence[PassageDraft]) -> None:
        """Write what the drafts changed, one draft for an owner."""
        if not any(draft.changed for draft in drafts):
            return
        generation = self._next_generation(connection)
        stored = [
            ((draft.owner_id << 32) | number, generation, records.tobytes())
            for draft in drafts
            for number, records in draft.blocks()
        ]
        connection.exec_driver_sql(
            "INSERT INTO docmeta (k, gen, data) VALUES (?, ?, ?) "
            "ON CONFLICT (k) DO UPDATE SET gen = excluded.gen, data = excluded.data",
            stored,
        )
        unused = [(label,) for draft in drafts for label in draft.unused_labels()]
        if unused:
            connection.exec_driver_sql("DELETE FROM label WHERE id = ?", unused)

    def file_vectors(
        self, connection: Connection, added: Mapping[str, Iterable[VectorRow]], removed: Mapping[str, Iterable[int]]
    ) -> None:
        """Make the passages of rows known and forget the removed, by owner; what the lexical index holds stays."""
        drafts = {}
        for owner in {*added, *removed}:
            draft = drafts[owner] = self.draft(connection, owner, adding=owner in added)
            for row in added.get(owner, ()):
                if not draft.peek(row.ord).indexed:
                    _file_vector(connection, draft, row)
            for ord_ in removed.get(owner, ()):
                if not draft.peek(ord_).indexed:
                    draft.blank(ord_)
        self.save(connection, list(drafts.values()))

    def unindex_all(self, connection: Connection) -> None:
        """Take every passage of every owner out of its chain; the columns that filters need stay."""
        blocks = connection.exec_driver_sql("SELECT k, data FROM docmeta").all()
        if not blocks:
            return
        generation = self._next_generation(connection)
        stored = []
        for key, data in blocks:
            records = np.frombuffer(data, RECORD).copy()
            records["flags"] &= FILED
            records["session"] = records["length"] = 0
            records["previous"] = records["following"] = -1
            stored.append((generation, records.tobytes(), key))
        connection.exec_driver_sql("UPDATE docmeta SET gen = ?, data = ? WHERE k = ?", stored)

    def _next_generation(self, connection: Connection) -> int:
        generation = _newest_generation(connection) + 1
        self._written = max(self._written, generation)
        return generation


def find_owner(connection: Connection, owner: str) -> int | None:
    """The owner's number, None when nothing was ever said by them."""
    found: int | None = connection.exec_driver_sql("SELECT id FROM owner WHERE name = ?", (owner,)).scalar()
    return found


def make_owner(connection: Connection, owner: str) -> int:
    """The owner's number, a new one for an owner who is not known yet."""
    connection.exec_driver_sql(
        "INSERT INTO owner (name, next_ord) VALUES (?, 0) ON CONFLICT (name) DO NOTHING", (owner,)
    )
    made = find_owner(connection, owner)
    assert made is not None
    return made


def label_ids(connection: Connection, owner_id: int, texts: set[str]) -> dict[str, int]:
    """The numbers of strings, new ones where need be; the empty string is 0."""
    numbers = {"": 0}
    wanted = sorted(texts - {""})
    if not wanted:
        return numbers
    listed = json.dumps(wanted)
    find = "SELECT j.key, l.id FROM json_each(?) AS j CROSS JOIN label AS l ON l.owner = ? AND l.t = j.value"
    found = connection.exec_driver_sql(find, (listed, owner_id)).all()
    if len(found) < len(wanted):
        connection.exec_driver_sql(
            "INSERT INTO label (owner, t) SELECT ?, value FROM json_each(?) WHERE true "
            "ON CONFLICT (owner, t) DO NOTHING",
            (owner_id, listed),
        )
        found = connection.exec_driver_sql(find, (listed, owner_id)).all()
    numbers.update((wanted[position], number) for position, number in found)
    return numbers


def get_cursor(connection: Connection, follower: str) -> int:
    """How far a follower of the journal has come."""
    found = connection.exec_driver_sql("SELECT cursor FROM follower WHERE name = ?", (follower,)).scalar()
    return int(found or 0)


def set_cursor(connection: Connection, follower: str, cursor: int) -> None:
    """Say how far a follower of the journal has come."""
    connection.exec_driver_sql(
        "INSERT INTO follower (name, cursor) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET cursor = excluded.cursor",
        (follower, cursor),
    )


def _file_vector(connection: Connection, draft: PassageDraft, row: VectorRow) -> None:
    labels = label_ids(connection, draft.owner_id, {row.chat, row.topic_id})
    filed = PassageRow(
        at=microseconds(row.at),
        episode=row.episode_id,
        chat=labels[row.chat],
        topic=labels[row.topic_id],
        flags=FILED,
    )
    if draft.peek(row.ord) != filed:
        draft.file(row.ord, filed)


def _newest_generation(connection: Connection) -> int:
    newest = connection.exec_driver_sql("SELECT max(gen) FROM docmeta").scalar()
    return int(newest or 0)


def _catch_up(connection: Connection, columns: PassageColumns) -> None:
    """Read the blocks and labels that are newer than the columns."""
    newest = _newest_generation(connection)
    if newest <= columns.generation:
        return
    first_key = columns.owner_id << 32
    labels = connection.exec_driver_sql(
        "SELECT id, t FROM label WHERE id > ? AND owner = ? ORDER BY id", (columns.newest_label, columns.owner_id)
    ).all()
    columns.add_labels((number, text) for number, text in labels)
    # The plus keeps SQLite from walking all of the owner's blocks instead of the new ones.
    changed = connection.exec_driver_sql(
        "SELECT k, data FROM docmeta WHERE gen > ? AND +k BETWEEN ? AND ?",
        (columns.generation, first_key, first_key | 0xFFFFFFFF),
    ).all()
    if changed:
        numbers = np.array([key & 0xFFFFFFFF for key, _ in changed], np.int64)
        records = np.frombuffer(b"".join(data for _, data in changed), RECORD)
        columns.put(numbers, records.reshape(-1, BLOCK))
    columns.generation = newest
