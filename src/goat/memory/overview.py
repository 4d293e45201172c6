"""What GOAT knows about an owner, gathered for a person's eyes and without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final

from goat.ports.stores import Forgetting, Journal, PermanentStore, Transfer
from goat.records.episodes import Episode, Role
from goat.records.memory import Fact, IdentityText

PAGE: Final = 512


@dataclass(frozen=True, slots=True)
class Topic:
    """A stretch of talk on one topic: where, how many messages, from when to when, and its first message."""

    topic_id: str
    chat: str
    messages: int
    first: datetime
    last: datetime
    opening: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat: how many messages it holds and from when to when."""

    chat: str
    messages: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class FactStory:
    """A fact that holds and the values that its key had before, newest first."""

    fact: Fact
    before: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Digest:
    """All of it: identity texts (the last one holds if it has no end), facts, chats, topics newest first, and how many
    messages each speaker and each source brought; the person's own have no speaker's name."""

    owner: str
    messages: int
    identities: tuple[IdentityText, ...]
    facts: tuple[FactStory, ...]
    conversations: tuple[Conversation, ...]
    topics: tuple[Topic, ...]
    speakers: tuple[tuple[str, int], ...]
    sources: tuple[tuple[str, int], ...]


class Overview:
    """Reads the whole archive of one owner, a page at a time. Every method raises `BackendUnavailable`."""

    def __init__(self, journal: Journal, transfer: Transfer, permanent: PermanentStore, forgetting: Forgetting) -> None:
        self._journal = journal
        self._transfer = transfer
        self._permanent = permanent
        self._forgetting = forgetting

    async def recent(self, owner: str, limit: int, chat: str | None = None) -> list[Episode]:
        """The newest messages of one chat or of all, oldest first."""
        chats = await self._forgetting.chats(owner) if chat is None else [chat]
        found = [episode for name in chats for episode in await self._journal.recent(owner, name, limit)]
        return sorted(found, key=lambda episode: (episode.at, episode.id))[-limit:]

    async def facts(self, owner: str) -> tuple[FactStory, ...]:
        """The facts that hold, by key, each with what it was before."""
        held = (await self._permanent.everything(owner)).facts
        stories = []
        for _, values in groupby(held, key=lambda fact: fact.key):
            history = list(values)
            if history[-1].until is None:
                stories.append(FactStory(history[-1], tuple(reversed(history[:-1]))))
        return tuple(stories)

    async def topics(self, owner: str) -> list[Topic]:
        """The topics of all chats, newest first."""
        return list((await self.digest(owner)).topics)

    async def digest(self, owner: str) -> Digest:
        """Everything at a glance."""
        topics: dict[tuple[str, str], Topic] = {}
        chats: dict[str, Conversation] = {}
        speakers: Counter[str] = Counter()
        sources: Counter[str] = Counter()
        async for episode in self._episodes(owner):
            chats[episode.chat] = _longer(chats.get(episode.chat), episode)
            if episode.topic_id:
                place = (episode.chat, episode.topic_id)
                topics[place] = _further(topics.get(place), episode)
            speakers[_speaker(episode)] += 1
            sources[episode.source] += 1
        return Digest(
            owner=owner,
            messages=speakers.total(),
            identities=(await self._permanent.everything(owner)).identities,
            facts=await self.facts(owner),
            conversations=tuple(sorted(chats.values(), key=lambda one: one.last, reverse=True)),
            topics=tuple(sorted(topics.values(), key=lambda one: one.last, reverse=True)),
            speakers=tuple(speakers.most_common()),
            sources=tuple(sources.most_common()),
        )

    async def _episodes(self, owner: str) -> AsyncIterator[Episode]:
        last = 0
        while page := await self._transfer.scan(owner, last, PAGE):
            last = page[-1].episode_id
            for change in page:
                if change.episode is not None:
                    yield change.episode


def _longer(chat: Conversation | None, episode: Episode) -> Conversation:
    if chat is None:
        return Conversation(episode.chat, 1, episode.at, episode.at)
    first, last = min(chat.first, episode.at), max(chat.last, episode.at)
    return Conversation(chat.chat, chat.messages + 1, first, last)


def _further(topic: Topic | None, episode: Episode) -> Topic:
    if topic is None:
        return Topic(episode.topic_id, episode.chat, 1, episode.at, episode.at, episode.text)
    first, last = min(topic.first, episode.at), max(topic.last, episode.at)
    return Topic(topic.topic_id, topic.chat, topic.messages + 1, first, last, topic.opening)


def _speaker(episode: Episode) -> str:
    return episode.speaker or ("" if episode.role is Role.USER else "GOAT")
