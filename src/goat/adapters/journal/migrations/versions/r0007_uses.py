"""How often and when an episode was last used, and what it is about."""

from __future__ import annotations

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create them. There is no way down: the copy made before an upgrade is the way back."""
