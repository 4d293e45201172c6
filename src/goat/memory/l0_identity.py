"""L0, the identity: the owner's own text where one is set, the configured one otherwise."""

from __future__ import annotations

from datetime import datetime

from goat.ports.stores import PermanentStore
from goat.records.memory import IdentityText
from goat.retrieval.clean import clean


class Identity:
    """Who GOAT is for an owner."""

    def __init__(self, store: PermanentStore, base_prompt: str) -> None:
        self._store = store
        self.base_prompt = base_prompt

    async def read(self, owner: str) -> str:
        """The identity text. Raises `BackendUnavailable`; the caller falls back to `base_prompt`."""
        text = await self._store.identity(owner)
        return text if text and text.strip() else self.base_prompt

    async def set(self, owner: str, text: str, at: datetime) -> str | None:
        """Set the text, which counts from the next turn on; an empty one returns to the configured one.

        The text before, None where the configured one held. It stays in the history. Raises `BackendUnavailable`.
        """
        before = await self._store.identity(owner)
        await self._store.put_identity(owner, clean(text)[0].strip() or None, at)
        return before

    async def history(self, owner: str) -> tuple[IdentityText, ...]:
        """Every text that was set, oldest first. Raises `BackendUnavailable`."""
        return (await self._store.everything(owner)).identities
