"""The Admissions port over SQL."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from goat.adapters.database import Database
from goat.adapters.journal.names import Names
from goat.adapters.journal.schema import owner
from goat.adapters.journal.schema_doors import admission, invitation
from goat.records.arrivals import Admitted, Invitation, Role

_EVERYBODY = (
    select(
        admission.c.number,
        admission.c.role,
        owner.c.name.label("owner"),
        admission.c.name,
        admission.c.since,
    )
    .join(owner, owner.c.id == admission.c.owner_id)
    .where(admission.c.channel == bindparam("channel"))
    .order_by(admission.c.since, admission.c.number)
)
_DISMISS = delete(admission).where(
    admission.c.channel == bindparam("channel"), admission.c.number == bindparam("number")
)
_INVITE = insert(invitation).returning(invitation.c.id)
_OPEN = (
    select(
        invitation.c.salt,
        invitation.c.digest,
        invitation.c.role,
        invitation.c.expires,
        invitation.c.id,
    )
    .where(
        invitation.c.channel == bindparam("channel"),
        invitation.c.closed.is_(None),
        invitation.c.expires > bindparam("now", type_=invitation.c.expires.type),
    )
    .order_by(invitation.c.id)
)
_CLOSE = (
    update(invitation)
    .where(
        invitation.c.channel == bindparam("channel_is"),
        invitation.c.id == bindparam("id_is"),
        invitation.c.closed.is_(None),
    )
    .values(closed=bindparam("how"))
)


class SqlAdmissions:
    """The tables `admission` and `invitation`; see the port `Admissions` for its promises."""

    def __init__(self, database: Database) -> None:
        self._db = database.for_port("Admissions")

    async def everybody(self, channel: str) -> list[Admitted]:
        """Who was let in, in that order."""
        rows = await self._db.read(lambda connection: connection.execute(_EVERYBODY, {"channel": channel}).all())
        return [Admitted(row.number, Role(row.role), row.owner, row.name, row.since) for row in rows]

    async def admit(self, channel: str, admitted: Admitted) -> None:
        """Let somebody in."""
        await self._db.write(lambda connection: _admit(connection, channel, admitted))

    async def dismiss(self, channel: str, number: int) -> bool:
        """Take an entry away."""
        where = {"channel": channel, "number": number}
        return await self._db.write(lambda connection: connection.execute(_DISMISS, where).rowcount > 0)

    async def invite(self, channel: str, new: Invitation) -> Invitation:
        """Keep a code."""
        row = {
            "channel": channel,
            "salt": new.salt,
            "digest": new.digest,
            "role": new.role.value,
            "expires": new.expires,
        }
        number = await self._db.write(lambda connection: connection.execute(_INVITE, row).scalar_one())
        return Invitation(new.salt, new.digest, new.role, new.expires, int(number))

    async def invitations(self, channel: str, now: datetime) -> list[Invitation]:
        """The codes that can be used."""
        where = {"channel": channel, "now": now}
        rows = await self._db.read(lambda connection: connection.execute(_OPEN, where).all())
        return [Invitation(row.salt, row.digest, Role(row.role), row.expires, row.id) for row in rows]

    async def redeem(self, channel: str, id: int, admitted: Admitted) -> bool:
        """Use a code up and let somebody in."""

        def use(connection: Connection) -> bool:
            if not connection.execute(_CLOSE, _closing(channel, id, "used")).rowcount:
                return False
            _admit(connection, channel, admitted)
            return True

        return await self._db.write(use)

    async def withdraw(self, channel: str, id: int) -> None:
        """Make a code useless."""
        await self._db.write(lambda connection: connection.execute(_CLOSE, _closing(channel, id, "withdrawn")).rowcount)


def _closing(channel: str, id: int, how: str) -> dict[str, Any]:
    return {"channel_is": channel, "id_is": id, "how": how}


def _admit(connection: Connection, channel: str, admitted: Admitted) -> None:
    connection.execute(_DISMISS, {"channel": channel, "number": admitted.number})
    row = {
        "channel": channel,
        "number": admitted.number,
        "role": admitted.role.value,
        "owner_id": Names(connection).owner(admitted.owner),
        "name": admitted.name,
        "since": admitted.since,
    }
    connection.execute(insert(admission), row)
