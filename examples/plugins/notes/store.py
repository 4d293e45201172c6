"""Notes by owner: what one person noted, no other can read."""


class Store:
    """Keeps notes in memory."""

    def __init__(self) -> None:
        self._notes: dict[str, list[str]] = {}

    def add(self, owner: str, text: str) -> int:
        """Keep a note; its number, from 1."""
        self._notes.setdefault(owner, []).append(text)
        return self.count(owner)

    def get(self, owner: str, number: int) -> str | None:
        """A note, None where there is none."""
        notes = self._notes.get(owner, [])
        return notes[number - 1] if 0 < number <= len(notes) else None

    def count(self, owner: str) -> int:
        """How many notes an owner has."""
        return len(self._notes.get(owner, []))

    def clear(self) -> None:
        """Forget everything."""
        self._notes.clear()
