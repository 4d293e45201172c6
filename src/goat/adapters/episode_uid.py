"""What an episode is called outside its home."""

from __future__ import annotations

import hashlib


def own_uid(owner: str, uid: str) -> str:
    """The name of an owner's copy of an episode whose uid belongs to another owner's, the same every time."""
    return hashlib.sha256(f"{owner}\0{uid}".encode()).hexdigest()[:32]
