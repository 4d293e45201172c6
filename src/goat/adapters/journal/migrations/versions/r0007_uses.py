"""How often and when an episode was last recalled, and which episodes lack what is to be noted about them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create both tables; every episode that is there waits to be noted anew.

    There is no way down: the copy made before an upgrade is the way back.
    """
    clustered: dict[str, Any] = {"sqlite_strict": True, "sqlite_with_rowid": False}
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "recalled",
        sa.Column("owner_id", number, sa.ForeignKey("owner.id"), nullable=False),
        sa.Column("episode_id", number, sa.ForeignKey("episode.id"), nullable=False),
        sa.Column("count", number, nullable=False),
        sa.Column("last", sa.Double().with_variant(sa.REAL(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("owner_id", "episode_id"),
        **clustered,
    )
    op.create_table(
        "to_enrich",
        sa.Column("episode_id", number, sa.ForeignKey("episode.id"), nullable=False),
        sa.PrimaryKeyConstraint("episode_id"),
        sqlite_strict=True,
    )
    op.execute("INSERT INTO to_enrich (episode_id) SELECT id FROM episode")
