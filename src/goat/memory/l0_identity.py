"""L0, the identity: the owner's own text where one is set, the configured one otherwise."""

from __future__ import annotations

from goat.ports.stores import PermanentStore


class Identity:
    """Who GOAT is for an owner."""

    def __init__(self, store: PermanentStore, base_prompt: str) -> None:
        self._store = store
        self.base_prompt = base_prompt

    async def read(self, owner: str) -> str:
        """The identity text. Raises `BackendUnavailable`; the caller falls back to `base_prompt`."""
        text = await self._store.identity(owner)
        return text if text and text.strip() else self.base_prompt
