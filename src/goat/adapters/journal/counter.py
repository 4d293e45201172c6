"""The numbers of the changes: each is given out once, in the transaction of its change."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, update

from goat.adapters.journal.schema import counter

_TAKE = update(counter).values(value=counter.c.value + bindparam("count")).returning(counter.c.value)


def take_seqs(connection: Connection, count: int) -> int:
    """The first of the next `count` numbers."""
    return int(connection.execute(_TAKE, {"count": count}).scalar_one()) - count + 1
