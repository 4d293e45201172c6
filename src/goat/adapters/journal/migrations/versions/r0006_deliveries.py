"""How far each reply has been delivered, part by part."""

from __future__ import annotations

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create them. There is no way down: the copy made before an upgrade is the way back."""
