"""What arrived through a front door, and who may use it."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create them. There is no way down: the copy made before an upgrade is the way back."""
    op.create_table(
        "inbox",
        _number("id", primary_key=True),
        _text("channel"),
        _number("number"),
        _text("body", nullable=True),
        _moment("arrived"),
        _number("tries"),
        _number("turn", nullable=True),
        _text("outcome", nullable=True),
        _moment("done_at", nullable=True),
        sa.UniqueConstraint("channel", "number"),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    waiting, done = sa.text("done_at IS NULL"), sa.text("done_at IS NOT NULL")
    op.create_index("inbox_waiting", "inbox", ["channel", "id"], sqlite_where=waiting, postgresql_where=waiting)
    op.create_index("inbox_done", "inbox", ["channel", "done_at"], sqlite_where=done, postgresql_where=done)
    op.create_table(
        "admission",
        _text("channel", primary_key=True),
        _number("number", primary_key=True),
        _text("role"),
        _number("owner_id", sa.ForeignKey("owner.id")),
        _text("name"),
        _moment("since"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "invitation",
        _number("id", primary_key=True),
        _text("channel"),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        _text("role"),
        _moment("expires"),
        _text("closed", nullable=True),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )


def _number(name: str, *constraints: sa.ForeignKey, nullable: bool = False, **options: Any) -> sa.Column[int]:
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column(name, kind, *constraints, nullable=nullable, **options)


def _text(name: str, nullable: bool = False, **options: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable, **options)


def _moment(name: str, nullable: bool = False) -> sa.Column[float]:
    kind: sa.types.TypeEngine[float] = sa.Double().with_variant(sa.REAL(), "sqlite")
    return sa.Column(name, kind, nullable=nullable)
