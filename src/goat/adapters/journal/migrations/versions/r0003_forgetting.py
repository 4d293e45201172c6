"""Forgetting: hashes of what was forgotten, and what of it is not finished."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create both tables. There is no way down: the copy made before an upgrade is the way back."""
    op.create_table(
        "forgotten",
        _number("owner_id", sa.ForeignKey("owner.id"), primary_key=True),
        sa.Column("mark", sa.Text(), nullable=False, primary_key=True),
        _number("episode_id"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "unfinished",
        _number("seq", sa.ForeignKey("tombstone.seq"), primary_key=True, autoincrement=False),
        _number("chat_id", sa.ForeignKey("chat.id")),
        sqlite_strict=True,
    )


def _number(name: str, *constraints: sa.ForeignKey, **options: Any) -> sa.Column[int]:
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column(name, kind, *constraints, nullable=False, **options)
