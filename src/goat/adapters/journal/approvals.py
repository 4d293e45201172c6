"""The Approvals port over SQL."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, bindparam, insert, select, update

from goat.adapters.database import Database
from goat.adapters.journal.names import Names
from goat.adapters.journal.schema import approval, chat, owner
from goat.records.tools import Question, Verdict

_OPEN = insert(approval).returning(approval.c.id)
_CLOSE = (
    update(approval)
    .where(approval.c.id == bindparam("number"), approval.c.verdict.is_(None))
    .values(verdict=bindparam("how"), closed_at=bindparam("now"))
)
_GRANTED = (
    select(approval.c.id)
    .join(owner, owner.c.id == approval.c.owner_id)
    .where(
        owner.c.name == bindparam("owner"),
        approval.c.tool == bindparam("tool"),
        approval.c.once == 1,
        approval.c.verdict == Verdict.YES.value,
    )
    .limit(1)
)
_WAITING = (
    select(
        approval.c.id,
        owner.c.name.label("owner"),
        chat.c.name.label("chat"),
        approval.c.tool,
        approval.c.shown,
        approval.c.digest,
        approval.c.asked_at,
        approval.c.expires_at,
        approval.c.reason,
        approval.c.once,
    )
    .join(owner, owner.c.id == approval.c.owner_id)
    .join(chat, chat.c.id == approval.c.chat_id)
    .where(approval.c.verdict.is_(None))
    .order_by(approval.c.id)
)


class SqlApprovals:
    """Questions in the table `approval`; see the port `Approvals` for its promises."""

    def __init__(self, database: Database) -> None:
        self._db = database.for_port("Approvals")

    async def open(self, question: Question) -> Question:
        """Keep a question."""

        def add(connection: Connection) -> int:
            names = Names(connection)
            owner_id = names.owner(question.owner)
            row = {
                "owner_id": owner_id,
                "chat_id": names.chat(owner_id, question.chat),
                "tool": question.tool,
                "shown": question.shown,
                "digest": question.digest,
                "reason": question.reason,
                "once": int(question.once),
                "asked_at": question.asked_at,
                "expires_at": question.expires_at,
            }
            return int(connection.execute(_OPEN, row).scalar_one())

        return replace(question, id=await self._db.write(add))

    async def close(self, id: int, verdict: Verdict, at: datetime) -> bool:
        """Keep how it ended."""
        values = {"number": id, "how": verdict.value, "now": at}
        return await self._db.write(lambda connection: connection.execute(_CLOSE, values).rowcount > 0)

    async def granted(self, owner: str, tool: str) -> bool:
        """Whether later calls of the tool are covered."""
        values = {"owner": owner, "tool": tool}
        return await self._db.read(lambda connection: connection.execute(_GRANTED, values).first() is not None)

    async def waiting(self) -> list[Question]:
        """Questions without a verdict."""
        rows = await self._db.read(lambda connection: connection.execute(_WAITING).all())
        return [Question(**{**row._mapping, "once": bool(row.once)}) for row in rows]
