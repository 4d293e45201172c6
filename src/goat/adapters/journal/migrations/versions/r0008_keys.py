"""The keys by which what is said beside the answers is said once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Give `outbox` its keys; answers have none, and neither has what was said before.

    There is no way down: the copy made before an upgrade is the way back.
    """
    op.add_column("outbox", sa.Column("key", sa.Text()))
    op.create_index("outbox_said", "outbox", ["channel", "key"], unique=True, sqlite_where=sa.text('"key" IS NOT NULL'))
