"""The kinds of columns that the tables of a home are made of. Times are seconds since 1970 in UTC."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import REAL, BigInteger, Dialect, Double, Integer, MetaData, Text, TypeDecorator
from sqlalchemy.types import TypeEngine

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Number = BigInteger().with_variant(Integer(), "sqlite")


class Moment(TypeDecorator[datetime]):
    """An aware datetime as seconds since the epoch, to the microsecond; it comes back in UTC."""

    impl = Double
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(REAL() if dialect.name == "sqlite" else Double())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> float | None:
        return None if value is None else (value - EPOCH).total_seconds()

    def process_result_value(self, value: float | None, dialect: Dialect) -> datetime | None:
        return None if value is None else EPOCH + timedelta(seconds=value)


class JsonText(TypeDecorator[Any]):
    """A small structure as JSON text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return json.dumps(value, ensure_ascii=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


metadata = MetaData()

ROWID: Final[dict[str, Any]] = {"sqlite_strict": True}
CLUSTERED: Final[dict[str, Any]] = {"sqlite_strict": True, "sqlite_with_rowid": False}
