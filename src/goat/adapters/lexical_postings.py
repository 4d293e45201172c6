"""Posting lists in SQLite.

A posting is one unsigned 32-bit number, `ord << 8 | min(tf, 255)`. Table `post` holds the ascending postings of a term
in blocks of at most `BLOCK` (3,840 bytes, so that a row fits a page), keyed `term.id << 32 | n` where n is at most
the block's first ord and above the last ord of the block before. Table `forward` says which terms a passage has, keyed
`owner << 32 | ord`, so that taking a passage out touches its own blocks only. Document frequencies are the lengths of
the lists, hence exact and the owner's own.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from goat.adapters.lexical_formula import MOST_TF

BLOCK: Final = 960

Postings: TypeAlias = NDArray[np.uint32]
_STORED: Final = np.dtype("<u4")


def read_postings(connection: Connection, owner_id: int, terms: Sequence[str]) -> dict[str, Postings]:
    """The posting lists of those terms that the owner's index knows, each ascending by ord.

    The joins are nested in the order they are written, so a term's blocks come together and in the order of their keys.
    """
    blocks: defaultdict[int, list[bytes]] = defaultdict(list)
    found = connection.exec_driver_sql(
        "SELECT j.key, p.data FROM json_each(?) AS j "
        "CROSS JOIN term AS t ON t.owner = ? AND t.t = j.value "
        "CROSS JOIN post AS p ON p.k BETWEEN t.id << 32 AND (t.id << 32) | 4294967295",
        (json.dumps(terms), owner_id),
    )
    for position, data in found.all():
        blocks[position].append(data)
    return {terms[position]: np.frombuffer(b"".join(data), _STORED) for position, data in blocks.items()}


def add_postings(connection: Connection, owner_id: int, documents: Mapping[int, Mapping[str, int]]) -> None:
    """Take in passages that are not indexed, as ord -> term -> tf."""
    lists: defaultdict[str, list[int]] = defaultdict(list)
    for ord_ in sorted(documents):
        for term, tf in documents[ord_].items():
            lists[term].append(ord_ << 8 | min(tf, MOST_TF))
    ids = _term_ids(connection, owner_id, list(lists))
    forward = [
        ((owner_id << 32) | ord_, np.array([ids[term] for term in terms], _STORED).tobytes())
        for ord_, terms in documents.items()
    ]
    connection.exec_driver_sql("INSERT INTO forward (k, terms) VALUES (?, ?)", forward)
    if lists:
        _insert(connection, {ids[term]: np.array(postings, _STORED) for term, postings in lists.items()})


def remove_postings(connection: Connection, owner_id: int, ords: Iterable[int]) -> None:
    """Take passages out; a term that none is left of goes too."""
    keys = [(owner_id << 32) | ord_ for ord_ in ords]
    forward = connection.exec_driver_sql(
        "SELECT f.k, f.terms FROM json_each(?) AS j CROSS JOIN forward AS f ON f.k = j.value", (json.dumps(keys),)
    ).all()
    places = [
        (term << 32) | (key & 0xFFFFFFFF) for key, terms in forward for term in np.frombuffer(terms, _STORED).tolist()
    ]
    blocks, ords_of = _blocks_at(connection, places)
    kept: list[tuple[bytes, int]] = []
    emptied: list[int] = []
    for key, data in blocks.items():
        postings = np.frombuffer(data, _STORED)
        rest = postings[_others(postings >> 8, ords_of[key])]
        if len(rest):
            kept.append((rest.tobytes(), key))
        else:
            emptied.append(key)
    _run(connection, "UPDATE post SET data = ? WHERE k = ?", kept)
    _run(connection, "DELETE FROM post WHERE k = ?", [(key,) for key in emptied])
    _run(
        connection,
        "DELETE FROM term WHERE id = ?1 AND NOT EXISTS "
        "(SELECT 1 FROM post WHERE k BETWEEN ?1 << 32 AND (?1 << 32) | 4294967295)",
        [(term,) for term in {key >> 32 for key in emptied}],
    )
    _run(connection, "DELETE FROM forward WHERE k = ?", [(key,) for key in keys])


def clear_postings(connection: Connection) -> None:
    """Leave nothing, of no owner."""
    for table in ("post", "forward", "term"):
        connection.exec_driver_sql(f"DELETE FROM {table}")


def _term_ids(connection: Connection, owner_id: int, terms: Sequence[str]) -> dict[str, int]:
    """The numbers of the terms, new ones where need be."""
    listed = json.dumps(terms)
    find = "SELECT j.key, t.id FROM json_each(?) AS j CROSS JOIN term AS t ON t.owner = ? AND t.t = j.value"
    found = connection.exec_driver_sql(find, (listed, owner_id)).all()
    if len(found) < len(terms):
        connection.exec_driver_sql(
            "INSERT INTO term (owner, t) SELECT ?, value FROM json_each(?) WHERE true "
            "ON CONFLICT (owner, t) DO NOTHING",
            (owner_id, listed),
        )
        found = connection.exec_driver_sql(find, (listed, owner_id)).all()
    return {terms[position]: number for position, number in found}


def _insert(connection: Connection, lists: Mapping[int, Postings]) -> None:
    """Add ascending postings to the lists of their terms, most often at the end of the last block."""
    last_blocks = {
        term: (key, size, int.from_bytes(last, "little"))
        for term, key, size, last in connection.exec_driver_sql(
            "SELECT j.value, p.k, length(p.data), substr(p.data, -4) FROM json_each(?) AS j CROSS JOIN post AS p "
            "ON p.k = (SELECT max(k) FROM post WHERE k BETWEEN j.value << 32 AND (j.value << 32) | 4294967295)",
            (json.dumps(list(lists)),),
        ).all()
    }
    appended: list[tuple[bytes, int]] = []
    new: list[tuple[int, bytes]] = []
    for term, postings in lists.items():
        key, size, last = last_blocks.get(term, (0, 4 * BLOCK, 0))
        if last > postings[0]:
            merged = _take_overlap(connection, term, postings)
            blocks = np.array_split(merged, -(-len(merged) // BLOCK))
        else:
            room = BLOCK - size // 4
            if room:
                appended.append((postings[:room].tobytes(), key))
            blocks = [postings[start : start + BLOCK] for start in range(room, len(postings), BLOCK)]
        new += [((term << 32) | int(block[0] >> 8), block.tobytes()) for block in blocks]
    # Without the cast, || makes a text of two blobs.
    _run(connection, "UPDATE post SET data = CAST(data || ? AS BLOB) WHERE k = ?", appended)
    _run(connection, "INSERT INTO post (k, data) VALUES (?, ?)", new)


def _take_overlap(connection: Connection, term: int, postings: Postings) -> Postings:
    """Remove the blocks that new postings fall between or into; return their postings and the new ones, ascending."""
    first, last = int(postings[0] >> 8), int(postings[-1] >> 8)
    overlap = connection.exec_driver_sql(
        "SELECT k, data FROM post WHERE k BETWEEN "
        "coalesce((SELECT max(k) FROM post WHERE k BETWEEN ?1 << 32 AND (?1 << 32) | ?2), ?1 << 32) "
        "AND (?1 << 32) | ?3",
        (term, first, last),
    ).all()
    _run(connection, "DELETE FROM post WHERE k = ?", [(key,) for key, _ in overlap])
    return np.sort(np.concatenate([postings, *(np.frombuffer(data, _STORED) for _, data in overlap)]))


def _blocks_at(connection: Connection, places: Sequence[int]) -> tuple[dict[int, bytes], dict[int, list[int]]]:
    """The blocks in which postings stand, by key, and which ords stand there; a place is `term << 32 | ord`."""
    blocks: dict[int, bytes] = {}
    ords: defaultdict[int, list[int]] = defaultdict(list)
    found = connection.exec_driver_sql(
        "SELECT j.value, p.k, p.data FROM json_each(?) AS j CROSS JOIN post AS p "
        "ON p.k = (SELECT max(k) FROM post WHERE k BETWEEN (j.value >> 32) << 32 AND j.value)",
        (json.dumps(places),),
    )
    for place, key, data in found.all():
        blocks[key] = data
        ords[key].append(place & 0xFFFFFFFF)
    return blocks, ords


def _others(present: NDArray[Any], ords: Sequence[int]) -> NDArray[np.bool_]:
    """Which of the ords are not among the given ones; most often one is given, and `isin` is slow to begin."""
    others: NDArray[np.bool_] = present != ords[0] if len(ords) == 1 else ~np.isin(present, ords)
    return others


def _run(connection: Connection, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Execute a statement for each row; for no row, not at all."""
    if rows:
        connection.exec_driver_sql(statement, list(rows))
