"""The UsageLog port in the home's SQL database."""

from __future__ import annotations

from datetime import date

from sqlalchemy import Connection, Integer, bindparam, cast, func, insert, select

from goat.adapters.database import Database
from goat.adapters.journal.names import Names
from goat.adapters.journal.schema import model_call, owner
from goat.records.usage import ModelCall, UsageDay

_SPENT = select(func.coalesce(func.sum(model_call.c.cost_usd), 0.0)).where(model_call.c.day == bindparam("day"))
_KEY = (model_call.c.day, owner.c.name, model_call.c.provider, model_call.c.model)
_DAYS = (
    select(
        *_KEY,
        func.count(),
        func.sum(model_call.c.prompt_tokens),
        func.sum(model_call.c.cached_tokens),
        func.sum(model_call.c.completion_tokens),
        func.coalesce(func.sum(model_call.c.cost_usd), 0.0),
        func.sum(cast(model_call.c.cost_usd.is_(None), Integer)),
        func.sum(model_call.c.estimated),
    )
    .join(owner, owner.c.id == model_call.c.owner_id)
    .where(model_call.c.day.between(bindparam("since"), bindparam("until")))
    .group_by(*_KEY)
    .order_by(*_KEY)
)
_DAYS_OF_OWNER = _DAYS.where(owner.c.name == bindparam("owner"))


class SqliteUsageLog:
    """Calls in the table `model_call`; see the port `UsageLog` for its promises."""

    def __init__(self, database: Database) -> None:
        self._db = database.for_port("UsageLog")

    async def record(self, call: ModelCall) -> None:
        """Keep a call."""

        def keep(connection: Connection) -> None:
            names = Names(connection)
            owner_id = names.owner(call.owner)
            row = {
                "owner_id": owner_id,
                "chat_id": names.chat(owner_id, call.chat),
                "exchange_id": call.exchange_id,
                "at": call.at,
                "day": call.day.isoformat(),
                "provider": call.provider,
                "model": call.model,
                "prompt_tokens": call.usage.prompt_tokens,
                "cached_tokens": call.usage.cached_tokens,
                "completion_tokens": call.usage.completion_tokens,
                "cost_usd": call.usage.cost_usd,
                "estimated": int(call.usage.estimated),
            }
            connection.execute(insert(model_call), row)

        await self._db.write(keep)

    async def spent(self, day: date) -> float:
        """What is known to have been spent on a day."""
        wanted = {"day": day.isoformat()}
        return float(await self._db.read(lambda connection: connection.execute(_SPENT, wanted).scalar_one()))

    async def days(self, since: date, until: date, owner: str | None = None) -> list[UsageDay]:
        """The sums per day, owner and model."""
        wanted = {"since": since.isoformat(), "until": until.isoformat()}
        query = _DAYS
        if owner is not None:
            query, wanted = _DAYS_OF_OWNER, {**wanted, "owner": owner}
        rows = await self._db.read(lambda connection: connection.execute(query, wanted).all())
        return [UsageDay(date.fromisoformat(day), *rest) for day, *rest in rows]
