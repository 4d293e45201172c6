"""The Integrity port over SQL: what the tables of a home must hold to, and what mends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from goat.adapters.database import Database
from goat.records.check import Fault

_HEAD: Final = "(SELECT max(s) FROM (SELECT max(seq) AS s FROM episode UNION ALL SELECT max(seq) FROM tombstone))"
_NO_EPISODE: Final = (
    "NOT EXISTS (SELECT 1 FROM episode AS e WHERE e.id = recalled.episode_id AND e.owner_id = recalled.owner_id)"
)
_NO_PASSAGE: Final = "NOT EXISTS (SELECT 1 FROM passage AS p WHERE p.owner_id = emb.owner_id AND p.ord = emb.ord)"


@dataclass(frozen=True, slots=True)
class _Rule:
    """`wrong` counts what is wrong; `mend` puts it right. Both are single statements."""

    name: str
    what: str
    wrong: str
    mend: str = ""


_RULES: Final = (
    _Rule(
        "changes counter",
        "the number of the next change lies below one that was given out",
        f"SELECT count(*) FROM counter WHERE value < coalesce({_HEAD}, 0)",
        f"UPDATE counter SET value = {_HEAD} WHERE value < coalesce({_HEAD}, 0)",
    ),
    _Rule(
        "passage counter",
        "the next passage number of an owner was given out already",
        "SELECT count(*) FROM owner AS o WHERE next_ord <= (SELECT max(ord) FROM passage WHERE owner_id = o.id)",
        "UPDATE owner SET next_ord = (SELECT max(ord) + 1 FROM passage WHERE owner_id = owner.id) "
        "WHERE next_ord <= (SELECT max(ord) FROM passage WHERE owner_id = owner.id)",
    ),
    _Rule(
        "passages",
        "passages belong to no message",
        "SELECT count(*) FROM passage WHERE episode_id NOT IN (SELECT id FROM episode)",
        "DELETE FROM passage WHERE episode_id NOT IN (SELECT id FROM episode)",
    ),
    _Rule(
        "passage spans",
        "passages reach beyond the text of their message",
        "SELECT count(*) FROM passage AS p JOIN episode AS e ON e.id = p.episode_id "
        'WHERE p.start < 0 OR p."end" > length(e.text) OR p.start >= p."end"',
        'UPDATE passage SET start = 0, "end" = (SELECT length(text) FROM episode WHERE id = passage.episode_id) '
        "WHERE EXISTS (SELECT 1 FROM episode AS e WHERE e.id = passage.episode_id AND length(e.text) > 0 "
        'AND (passage.start < 0 OR passage."end" > length(e.text) OR passage.start >= passage."end"))',
    ),
    _Rule(
        "vectors",
        "vectors belong to no passage",
        f"SELECT count(*) FROM emb WHERE {_NO_PASSAGE}",
        f"DELETE FROM emb WHERE {_NO_PASSAGE}",
    ),
    _Rule(
        "outbox",
        "replies to be delivered carry no message",
        "SELECT count(*) FROM outbox WHERE episode_id NOT IN (SELECT id FROM episode)",
        "DELETE FROM outbox WHERE episode_id NOT IN (SELECT id FROM episode)",
    ),
    _Rule(
        "uses",
        "uses are counted of no message, or of another owner's",
        f"SELECT count(*) FROM recalled WHERE {_NO_EPISODE}",
        f"DELETE FROM recalled WHERE {_NO_EPISODE}",
    ),
    _Rule(
        "enrichment",
        "what waits to be enriched is no message",
        "SELECT count(*) FROM to_enrich WHERE episode_id NOT IN (SELECT id FROM episode)",
        "DELETE FROM to_enrich WHERE episode_id NOT IN (SELECT id FROM episode)",
    ),
    _Rule(
        "index cursors",
        "an index claims to hold changes that do not exist",
        f"SELECT count(*) FROM follower WHERE cursor > coalesce({_HEAD}, 0)",
        f"UPDATE follower SET cursor = 0 WHERE cursor > coalesce({_HEAD}, 0)",
    ),
    _Rule(
        "vector cursors",
        "the kept vectors claim to cover changes that do not exist",
        f"SELECT count(*) FROM emb_model WHERE cursor > coalesce({_HEAD}, 0)",
        f"UPDATE emb_model SET cursor = 0 WHERE cursor > coalesce({_HEAD}, 0)",
    ),
    _Rule(
        "fact times",
        "values of facts end before they begin",
        'SELECT count(*) FROM fact WHERE "until" < since',
        'UPDATE fact SET "until" = since WHERE "until" < since',
    ),
)


class SqlIntegrity:
    """See the port `Integrity`."""

    def __init__(self, database: Database) -> None:
        self._db = database.for_port("Integrity")

    async def faults(self) -> list[Fault]:
        """What is wrong in the tables."""
        return await self._db.read(_faults)

    async def mend(self, faults: list[Fault]) -> None:
        """Mend those that can be mended, in one transaction."""
        names = {fault.where for fault in faults}

        def mend(connection: Connection) -> None:
            # An orphan that is deleted may be what another row points to.
            connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
            for rule in _RULES:
                if rule.name in names and rule.mend:
                    connection.exec_driver_sql(rule.mend)

        await self._db.write(mend)


def _faults(connection: Connection) -> list[Fault]:
    found = []
    told = connection.exec_driver_sql("PRAGMA integrity_check(5)").scalars().all()
    if told != ["ok"]:
        remedy = "put the newest copy from the folder backups in its place, or import an export into a new home"
        found.append(Fault("database file", "; ".join(map(str, told)), len(told), mendable=False, remedy=remedy))
    for rule in _RULES:
        count = int(connection.exec_driver_sql(rule.wrong).scalar_one())
        if count:
            found.append(Fault(rule.name, rule.what, count))
    return found
