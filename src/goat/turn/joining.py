"""What a person says while their turn runs: it joins the turn between two calls of the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from goat.memory.facade import MemoryLayers, Received
from goat.records.episodes import Episode, Incoming, Role, as_said

More = Callable[[], Awaitable[Sequence[Incoming]]]
"""Gives what was said since it was last asked."""


AGAIN = (
    "[The program was stopped while it worked on this and begins anew. Tools may have acted already: look before you "
    "repeat what must not happen twice.]"
)


class Joining:
    """The messages that joined a turn; each stands in the journal before the model reads it.

    They belong to the exchange of the turn's question. So when a turn is run again, those that had joined it are with
    it from the start, and their redelivery finds the turn's answer.
    """

    def __init__(self, memory: MemoryLayers, received: Received, more: More | None) -> None:
        self._memory = memory
        self._received = received
        self._more = more
        self._looked_back = False
        self.episodes: list[Episode] = []

    async def take(self) -> list[str]:
        """The texts of those that join now; in a turn that is run again behind a word on that.

        Raises `BackendUnavailable`.
        """
        again = self._received.duplicate and not self._looked_back
        new = await self._joined_before() if again else []
        self._looked_back = True
        for incoming in await self._more() if self._more is not None else ():
            received = await self._memory.receive(incoming, self._received.episode.exchange_id)
            new.append(received.episode)
        known = {self._received.episode.id, *(episode.id for episode in self.episodes)}
        fresh = {episode.id: episode for episode in new if episode.id not in known}
        self.episodes += fresh.values()
        texts = [as_said(episode.speaker, episode.text) for episode in fresh.values()]
        return [AGAIN, *texts] if again else texts

    async def _joined_before(self) -> list[Episode]:
        """Those of an earlier run of this turn that came to no answer."""
        question = self._received.episode
        exchange = await self._memory.exchange(question)
        return [one for one in exchange if one.role is Role.USER and one.id > question.id]
