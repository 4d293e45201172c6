"""What the model calls used and cost: one row for each, with nothing of what was said."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the table `model_call`."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    real: sa.types.TypeEngine[float] = sa.Double().with_variant(sa.REAL(), "sqlite")
    op.create_table(
        "model_call",
        sa.Column("id", number, primary_key=True, nullable=False),
        sa.Column("owner_id", number, sa.ForeignKey("owner.id"), nullable=False),
        sa.Column("chat_id", number, sa.ForeignKey("chat.id"), nullable=False),
        sa.Column("exchange_id", sa.Text(), nullable=False),
        sa.Column("at", real, nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_tokens", number, nullable=False),
        sa.Column("cached_tokens", number, nullable=False),
        sa.Column("completion_tokens", number, nullable=False),
        sa.Column("cost_usd", real, nullable=True),
        sa.Column("estimated", number, nullable=False),
        sqlite_strict=True,
    )
    op.create_index("model_call_day", "model_call", ["day"])
    op.create_index("model_call_exchange", "model_call", ["owner_id", "exchange_id"])
