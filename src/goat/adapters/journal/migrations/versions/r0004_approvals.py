"""What was asked before a tool acted, and how it ended."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the table `approval`. There is no way down: the copy made before an upgrade is the way back."""
    op.create_table(
        "approval",
        _number("id", primary_key=True),
        _number("owner_id", sa.ForeignKey("owner.id")),
        _number("chat_id", sa.ForeignKey("chat.id")),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("tool", "shown", "digest", "reason")),
        _number("once"),
        _moment("asked_at"),
        _moment("expires_at"),
        sa.Column("verdict", sa.Text()),
        _moment("closed_at", nullable=True),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index("approval_tool", "approval", ["owner_id", "tool"])
    open_ones = sa.text("verdict IS NULL")
    op.create_index("approval_waiting", "approval", ["id"], sqlite_where=open_ones, postgresql_where=open_ones)


def _number(name: str, *constraints: sa.ForeignKey, **options: Any) -> sa.Column[int]:
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column(name, kind, *constraints, nullable=False, **options)


def _moment(name: str, nullable: bool = False) -> sa.Column[float]:
    kind: sa.types.TypeEngine[float] = sa.Double().with_variant(sa.REAL(), "sqlite")
    return sa.Column(name, kind, nullable=nullable)
