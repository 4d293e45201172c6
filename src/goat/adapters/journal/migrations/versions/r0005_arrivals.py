"""What arrived through a front door, and who may use it."""

from __future__ import annotations

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create them. There is no way down: the copy made before an upgrade is the way back."""
