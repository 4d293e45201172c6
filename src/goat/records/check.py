"""What a check of a home finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not as it must be: where, what, and how often. One that cannot be mended says what to do."""

    where: str
    what: str
    count: int
    mendable: bool = True
    remedy: str = ""
