"""Owners and chats by name: the tables carry their numbers."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, insert, select

from goat.adapters.journal.schema import chat, owner

_OWNER = select(owner.c.id).where(owner.c.name == bindparam("owner"))
_NEW_OWNER = insert(owner).values(next_ord=0).returning(owner.c.id)
_CHAT = select(chat.c.id).where(chat.c.owner_id == bindparam("owner_id"), chat.c.name == bindparam("chat"))
_NEW_CHAT = insert(chat).returning(chat.c.id)


class Names:
    """Finds the number of an owner or chat, and gives out a new one where there is none, in one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._owners: dict[str, int] = {}
        self._chats: dict[tuple[int, str], int] = {}

    def owner(self, name: str) -> int:
        """The owner's number."""
        if name not in self._owners:
            self._owners[name] = self._find_or_add_owner(name)
        return self._owners[name]

    def chat(self, owner_id: int, name: str) -> int:
        """The number of a chat of that owner."""
        if (owner_id, name) not in self._chats:
            self._chats[owner_id, name] = self._find_or_add_chat(owner_id, name)
        return self._chats[owner_id, name]

    def _find_or_add_owner(self, name: str) -> int:
        found = self._connection.execute(_OWNER, {"owner": name}).scalar()
        if found is None:
            found = self._connection.execute(_NEW_OWNER, {"name": name}).scalar_one()
        return int(found)

    def _find_or_add_chat(self, owner_id: int, name: str) -> int:
        found = self._connection.execute(_CHAT, {"owner_id": owner_id, "chat": name}).scalar()
        if found is None:
            found = self._connection.execute(_NEW_CHAT, {"owner_id": owner_id, "name": name}).scalar_one()
        return int(found)
