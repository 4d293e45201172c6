"""Keys of the working store: the sources' names, with the owner in each."""

from __future__ import annotations

from urllib.parse import quote


def working_key(owner: str, chat: str) -> str:
    """The list of a chat's conversation (L2)."""
    return f"goat2:working:{_part(owner)}:{_part(chat)}"


def activation_key(owner: str, chat: str) -> str:
    """The state of a chat's thread (L2.5)."""
    return f"activation:{_part(owner)}:{_part(chat)}"


def beginning_key(owner: str, chat: str) -> str:
    """The number of the message after which a chat's conversation begins anew."""
    return f"beginning:{_part(owner)}:{_part(chat)}"


def _part(name: str) -> str:
    """A name without the separator, so that no two pairs of names share a key."""
    return quote(name, safe="")
