"""The Embeddings port over SQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, bindparam, delete, exists, insert, select, update

from goat.adapters.database import Database
from goat.adapters.journal.batches import batches
from goat.adapters.journal.names import Names
from goat.adapters.journal.schema import emb, emb_model, owner
from goat.records.search import Floats, VectorRow

_AT_REST = np.dtype("<f2")
_DROPPED_AT_ONCE = 5_000
"""Rows a transaction, so that a turn need not wait until a large model is gone."""

_MODEL_ID = select(emb_model.c.id).where(emb_model.c.name == bindparam("model"))
_NEW_MODEL = insert(emb_model).returning(emb_model.c.id)
_CURSOR = select(emb_model.c.cursor).where(emb_model.c.name == bindparam("model"))
_MOVE = update(emb_model).where(emb_model.c.id == bindparam("model_id")).values(cursor=bindparam("to"))
_GET = (
    select(emb.c.ord, emb.c.v)
    .join(owner, owner.c.id == emb.c.owner_id)
    .where(
        owner.c.name == bindparam("owner"),
        emb.c.model_id == _MODEL_ID.scalar_subquery(),
        emb.c.ord.in_(bindparam("ords", expanding=True)),
    )
)
_REPLACED = delete(emb).where(
    emb.c.owner_id == bindparam("owner_id"),
    emb.c.model_id == bindparam("model_id"),
    emb.c.ord.in_(bindparam("ords", expanding=True)),
)
# By way of the owners, since the key of `emb` begins with the owner.
_EVERY_OWNER = emb.c.owner_id.in_(select(owner.c.id))
_MODELS = (
    select(emb_model.c.name)
    .where(exists().where(_EVERY_OWNER, emb.c.model_id == emb_model.c.id))
    .order_by(emb_model.c.name)
)
_SOME_ROWS = (
    select(emb.c.owner_id, emb.c.ord)
    .where(_EVERY_OWNER, emb.c.model_id == bindparam("model_id"))
    .limit(_DROPPED_AT_ONCE)
)


class SqlEmbeddings:
    """Passage vectors in the table `emb`; see the port `Embeddings` for its promises."""

    def __init__(self, database: Database) -> None:
        self._db = database.for_port("Embeddings")

    async def cursor(self, model: str) -> int:
        """How far the vectors of a model have followed, 0 for an unknown model."""
        return await self._db.read(lambda connection: _cursor(connection, model))

    async def put(self, model: str, rows: Sequence[VectorRow], cursor: int) -> None:
        """Store vectors and move the cursor, in one transaction."""
        await self._db.write(lambda connection: _put(connection, model, rows, cursor))

    async def get(self, model: str, owner: str, ords: Sequence[int]) -> dict[int, Floats]:
        """The stored vectors of these passages."""
        return await self._db.read(lambda connection: _get(connection, model, owner, ords))

    async def remove(self, pairs: Sequence[tuple[str, int]]) -> None:
        """Take out vectors, of every model."""
        if pairs:
            await self._db.write(lambda connection: _remove(connection, pairs))

    async def models(self) -> list[str]:
        """The names of the models that have vectors here, sorted."""
        return await self._db.read(lambda connection: list(connection.execute(_MODELS).scalars()))

    async def drop(self, model: str) -> None:
        """Remove a model, a piece at a time; the cursor is back at 0 from the first piece on."""
        while await self._db.write(lambda connection: _drop_some(connection, model)):
            pass


def _cursor(connection: Connection, model: str) -> int:
    return int(connection.execute(_CURSOR, {"model": model}).scalar() or 0)


def _put(connection: Connection, model: str, rows: Sequence[VectorRow], cursor: int) -> None:
    model_id = connection.execute(_MODEL_ID, {"model": model}).scalar()
    if model_id is None:
        model_id = connection.execute(_NEW_MODEL, {"name": model, "cursor": cursor}).scalar_one()
    else:
        connection.execute(_MOVE, {"model_id": model_id, "to": cursor})
    names = Names(connection)
    by_owner: dict[int, dict[int, bytes]] = defaultdict(dict)
    for row in rows:
        by_owner[names.owner(row.owner)][int(row.ord)] = row.vector.astype(_AT_REST).tobytes()
    for owner_id, vectors in by_owner.items():
        for some in batches(list(vectors)):
            connection.execute(_REPLACED, {"owner_id": owner_id, "model_id": model_id, "ords": list(some)})
        connection.execute(
            insert(emb),
            [{"owner_id": owner_id, "model_id": model_id, "ord": number, "v": v} for number, v in vectors.items()],
        )


def _get(connection: Connection, model: str, owner: str, ords: Sequence[int]) -> dict[int, Floats]:
    found: dict[int, Floats] = {}
    for some in batches(ords):
        wanted = {"model": model, "owner": owner, "ords": [int(number) for number in some]}
        for row in connection.execute(_GET, wanted):
            found[row.ord] = np.frombuffer(row.v, dtype=_AT_REST).astype(np.float32)
    return found


def _remove(connection: Connection, pairs: Sequence[tuple[str, int]]) -> None:
    names = Names(connection)
    by_owner: dict[int, list[int]] = defaultdict(list)
    for name, number in pairs:
        by_owner[names.owner(name)].append(int(number))
    for owner_id, ords in by_owner.items():
        remove_vectors(connection, owner_id, ords)


def remove_vectors(connection: Connection, owner_id: int, ords: Sequence[int]) -> None:
    """Take out an owner's vectors, of every model."""
    for model_id in connection.execute(select(emb_model.c.id)).scalars().all():
        for some in batches(ords):
            connection.execute(_REPLACED, {"owner_id": owner_id, "model_id": model_id, "ords": list(some)})


def _drop_some(connection: Connection, model: str) -> bool:
    """Remove some rows of the model, and the model with the last of them; True when rows may be left."""
    model_id = connection.execute(_MODEL_ID, {"model": model}).scalar()
    if model_id is None:
        return False
    connection.execute(_MOVE, {"model_id": model_id, "to": 0})
    by_owner: dict[int, list[int]] = defaultdict(list)
    for row in connection.execute(_SOME_ROWS, {"model_id": model_id}):
        by_owner[row.owner_id].append(row.ord)
    for owner_id, ords in by_owner.items():
        for some in batches(ords):
            connection.execute(_REPLACED, {"owner_id": owner_id, "model_id": model_id, "ords": list(some)})
    if by_owner:
        return True
    connection.execute(delete(emb_model).where(emb_model.c.id == model_id))
    return False
