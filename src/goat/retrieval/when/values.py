"""The values that a rule gets, by name."""

from __future__ import annotations

from collections.abc import Sequence

from goat.retrieval.when.shapes import Value


class Values:
    """What the words of a pattern stand for. A name that the pattern lacks is None or the given default."""

    def __init__(self, names: Sequence[str], values: Sequence[Value]) -> None:
        self._values = dict(zip(names, values, strict=True))

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def number(self, name: str, default: int = 0) -> int:
        """An integer."""
        value = self._values.get(name, default)
        return value if isinstance(value, int) else default

    def text(self, name: str) -> str:
        """A text, "" where there is none."""
        value = self._values.get(name, "")
        return value if isinstance(value, str) else ""

    def numbers(self, name: str) -> tuple[int, ...]:
        """Several integers, none where there are none."""
        value = self._values.get(name, ())
        return value if isinstance(value, tuple) else ()
