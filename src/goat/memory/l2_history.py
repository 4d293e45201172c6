"""L2, the conversation: the newest messages of a chat in the order of its exchanges.

The working store holds them; the journal is the truth. The list grows by a surplus before it is trimmed, so that the
beginning of the prompt stays the same for several turns; the chat's first message stays in front of it. A list that
does not end with the newest message that the journal knows is rebuilt from there, so losing the working store costs
time and no words. Where a person began anew, the conversation holds only what came after.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from goat.errors import BackendUnavailable
from goat.failpoints import reach
from goat.memory.keys import beginning_key, working_key
from goat.ports.stores import Journal, WorkingStore
from goat.records.episodes import Episode, Role
from goat.records.memory import HistoryMessage


def _dump(message: HistoryMessage) -> str:
    return json.dumps(
        {
            "id": message.episode_id,
            "role": message.role,
            "text": message.text,
            "at": message.at.timestamp(),
            "who": message.speaker,
        },
        ensure_ascii=False,
    )


def _load(body: str) -> HistoryMessage | None:
    """The stored message, None for anything that is not one."""
    try:
        data = json.loads(body)
        at = datetime.fromtimestamp(data["at"], UTC)
        who = str(data.get("who", ""))
        return HistoryMessage(int(data["id"]), Role(data["role"]), str(data["text"]), at, speaker=who)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, OSError):
        return None


def in_exchange_order(episodes: Sequence[Episode], before: int, after: int = 0) -> list[HistoryMessage]:
    """Messages with each answer after its question, for the exchanges that began between two episodes."""
    began: dict[str, int] = {}
    for episode in sorted(episodes, key=lambda e: e.id):
        began.setdefault(episode.exchange_id, episode.id)
    earlier = [episode for episode in episodes if after < began[episode.exchange_id] < before]
    ordered = sorted(earlier, key=lambda e: (began[e.exchange_id], e.id))
    return [HistoryMessage(e.id, e.role, e.text, e.at, speaker=e.speaker) for e in ordered]


def _since(messages: list[HistoryMessage], beginning: int) -> list[HistoryMessage]:
    """The messages from the first question behind the beginning on; a late answer to an earlier one is none."""
    for place, message in enumerate(messages):
        if message.role is Role.USER and message.episode_id > beginning:
            return messages[place:] if beginning else messages
    return [] if beginning else messages


class History:
    """Reads and extends the conversation of a chat: the newest `max_messages`, and up to `trim_surplus` more."""

    def __init__(self, store: WorkingStore, journal: Journal, max_messages: int, trim_surplus: int) -> None:
        self._store = store
        self._journal = journal
        self._max_messages = max_messages
        self._most = max_messages + trim_surplus

    async def read(self, owner: str, chat: str, before: int) -> list[HistoryMessage]:
        """The newest messages whose exchange began before episode `before`, oldest first, behind the chat's first one.

        Raises `BackendUnavailable` when neither the working store nor the journal can be read.
        """
        held, beginning = await asyncio.gather(self._held(owner, chat), self._beginning(owner, chat))
        held = _since(held, beginning)
        newest = await self._journal.recent(owner, chat, 1, before)
        known = {message.episode_id for message in held}
        if any(episode.id not in known for episode in newest if episode.id > beginning):
            held = await self._rebuild(owner, chat, before, beginning)
        return held if beginning else await self._behind_the_first(owner, chat, held)

    async def begin_anew(self, owner: str, chat: str) -> None:
        """Leave out of the conversation all that was said in it so far. Raises `BackendUnavailable`."""
        newest = await self._journal.recent(owner, chat, 1)
        await self._store.put(beginning_key(owner, chat), str(newest[-1].id if newest else 0))

    async def append(self, owner: str, chat: str, messages: Sequence[HistoryMessage]) -> None:
        """Add the messages of an exchange that ended. Raises `BackendUnavailable`."""
        key = working_key(owner, chat)
        length = await self._store.append(key, [_dump(m) for m in messages], self._most + len(messages))
        reach("history_appended")
        if length > self._most:
            await self._store.append(key, [], self._max_messages)
            reach("history_trimmed")

    async def _held(self, owner: str, chat: str) -> list[HistoryMessage]:
        try:
            bodies = await self._store.tail(working_key(owner, chat), self._most)
        except BackendUnavailable:
            return []  # the journal has every word of it
        loaded = [_load(body) for body in bodies]
        messages = [message for message in loaded if message is not None]
        return messages if len(messages) == len(bodies) else []

    async def _beginning(self, owner: str, chat: str) -> int:
        """The number of the newest message that does not belong to the conversation, 0 where all do."""
        try:
            stored = await self._store.get(beginning_key(owner, chat))
        except BackendUnavailable:
            return 0
        return int(stored.body) if stored is not None and stored.body.isdecimal() else 0

    async def _behind_the_first(self, owner: str, chat: str, messages: list[HistoryMessage]) -> list[HistoryMessage]:
        if len(messages) < self._max_messages:
            return messages  # nothing was trimmed yet
        first = await self._journal.first(owner, chat)
        if first is None or any(message.episode_id == first.id for message in messages):
            return messages
        pinned = HistoryMessage(first.id, first.role, first.text, first.at, speaker=first.speaker)
        return [pinned, replace(messages[0], after_gap=True), *messages[1:]]

    async def _rebuild(self, owner: str, chat: str, before: int, after: int) -> list[HistoryMessage]:
        newest = await self._journal.recent(owner, chat, self._max_messages + 1)
        messages = in_exchange_order(newest, before, after)
        try:
            await self._store.delete(working_key(owner, chat))
            await self.append(owner, chat, messages)
        except BackendUnavailable:
            pass  # read again from the journal next time
        return messages
