"""The only door to memory. Each layer may be away; its loss is returned and the turn goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from uuid import uuid4

from goat.errors import MessageRefused
from goat.memory.archive import Archive
from goat.memory.cache import Cache, cache_key
from goat.memory.enrich import enriched
from goat.memory.l0_identity import Identity
from goat.memory.l1_facts import Facts
from goat.memory.l2_history import History
from goat.memory.layer import Layer, layer
from goat.memory.thread_store import ThreadStore
from goat.ports.models import Embedder
from goat.ports.stores import Journal
from goat.records.episodes import Appended, Episode, Incoming, NewEpisode, NewOutgoing, Role
from goat.records.memory import Activation, Fact, Held, HistoryMessage
from goat.records.models import Reply
from goat.records.search import EVERYWHERE, Floats, Lost, Recall, Recalled, Where
from goat.retrieval.clean import clean
from goat.retrieval.passages import split_passages
from goat.retrieval.pipeline import SEARCH, Recipe, Retriever
from goat.retrieval.query import Query, read_query

FULL_ARCHIVE = "l2_full_archive"
"""The tag of what the turn archives by itself."""

RECENCY_SHARE = 0.3
"""How much of a held result's order is its age; the rest is its relevance."""


@dataclass(frozen=True, slots=True)
class Received:
    """A message that stands in the journal. `altered` says that characters no store can hold were replaced in it."""

    episode: Episode
    duplicate: bool
    altered: bool


@dataclass(frozen=True, slots=True)
class PromptLayers:
    """L0, L1 and L2 of a turn, and what of them was lost."""

    identity: str
    facts: tuple[Fact, ...]
    history: tuple[HistoryMessage, ...]
    lost: tuple[Lost, ...]


class MemoryLayers:
    """What a turn, a command or a tool may ask of memory."""

    def __init__(
        self,
        journal: Journal,
        archive: Archive,
        history: History,
        facts: Facts,
        identity: Identity,
        threads: ThreadStore,
        retriever: Retriever,
        embedder: Embedder,
        zone: tzinfo,
    ) -> None:
        self._journal = journal
        self._searches: Cache[Recall] = Cache()
        self.archive = archive
        self._history = history
        self._facts = facts
        self._identity = identity
        self._threads = threads
        self._retriever = retriever
        self._embedder = embedder
        self._zone = zone

    async def receive(self, incoming: Incoming) -> Received:
        """Commit a person's message before anything else is done with it.

        Raises `BackendUnavailable` when the journal cannot take it: the front door then refuses it visibly, and
        `MessageRefused` for the redelivery of a message that was forgotten.
        """
        text, altered = clean(incoming.text)
        episode = NewEpisode(
            owner=incoming.owner,
            chat=incoming.chat,
            role=Role.USER,
            text=text,
            at=incoming.at,
            exchange_id=uuid4().hex,
            speaker=incoming.speaker,
            tags=(FULL_ARCHIVE,),
            source=incoming.source,
            key=incoming.key,
            passages=split_passages(text),
            meta=enriched(text),
        )
        (appended,) = await self.archive.append([episode])
        if appended.forgotten:
            raise MessageRefused("This message was forgotten. Send it as a new one if it is to be kept again.")
        return Received(appended.episode, appended.duplicate, altered)

    async def answer(self, question: Episode, topic_id: str, reply: Reply, at: datetime) -> Appended:
        """Commit the reply, its delivery to where the question came from, and the exchange's topic, all together.

        Raises `BackendUnavailable`.
        """
        text, _ = clean(reply.text)
        episode = NewEpisode(
            owner=question.owner,
            chat=question.chat,
            role=Role.ASSISTANT,
            text=text,
            at=at,
            exchange_id=question.exchange_id,
            topic_id=topic_id,
            tags=(FULL_ARCHIVE,),
            source=question.source,
            passages=() if reply.quotes_only else split_passages(text),
            meta=enriched(text),
        )
        outgoing = NewOutgoing(question.owner, question.chat, question.source, text)
        (appended,) = await self.archive.append([episode], [outgoing], {question.exchange_id: topic_id})
        self.archive.follow_meaning()
        return appended

    async def remember_exchange(self, question: Episode, answer: Episode, evidence: str = "") -> Layer[None]:
        """Extend L2 by an exchange that ended; `evidence` are lines on its tool calls, which only L2 holds."""
        said = f"{evidence}\n\n{answer.text}" if evidence else answer.text
        messages = [
            HistoryMessage(question.id, question.role, question.text, question.at),
            HistoryMessage(answer.id, answer.role, said, answer.at),
        ]
        return await layer("L2", self._history.append(question.owner, question.chat, messages), None)

    async def prompt_layers(self, owner: str, chat: str, before: int) -> PromptLayers:
        """L0, L1 and L2 at once; `before` is the episode id of the message that is being answered."""
        identity, facts, history = await asyncio.gather(
            layer("L0", self._identity.read(owner), self._identity.base_prompt),
            layer("L1", self._facts.read(owner), list[Fact]()),
            layer("L2", self._history.read(owner, chat, before), list[HistoryMessage]()),
        )
        lost = tuple(found.lost for found in (identity, facts, history) if found.lost)
        return PromptLayers(identity.value, tuple(facts.value), tuple(history.value), lost)

    async def thread(self, owner: str, chat: str) -> Layer[Activation]:
        """The chat's thread, an empty one where it is new or cannot be read."""
        return await layer("L2.5", self._threads.load(owner, chat), Activation())

    async def change_thread(
        self, owner: str, chat: str, rule: Callable[[Activation], Activation | None]
    ) -> Layer[bool]:
        """Apply a rule to the newest state of the thread; False when the rule declined or the store is away."""
        return await layer("L2.5", self._threads.change(owner, chat, rule), False)

    async def embed(self, text: str) -> Layer[Floats | None]:
        """The vector of a message, None when it cannot be had."""
        return await layer("embedder", self._embedder.embed_query(text), None)

    def query(self, owner: str, text: str, at: datetime, vector: Floats | None = None) -> Query:
        """A text made ready for `recall`: its terms, the times that it names, the keys in it."""
        return read_query(owner, text, at, self._zone, vector)

    async def search(self, owner: str, text: str, at: datetime, limit: int, where: Where = EVERYWHERE) -> Recall:
        """Search the owner's whole archive on demand, without a cutoff.

        The same search is answered again for a few minutes, until something of the owner's is written or forgotten.
        """
        filters = (where.chat, where.topic_id, where.after, where.before, where.up_to, limit)
        key = cache_key("search", owner, text, *filters, self.archive.version(owner))
        held = self._searches.get(key, at)
        if held is not None:
            return held
        vector = await self.embed(text)
        query = replace(self.query(owner, text, at, vector.value), where=where)
        found = await self.recall(query, replace(SEARCH, limit=limit))
        if not (found.lost or vector.lost):
            self._searches.put(key, found, at)
        return found

    async def recall(
        self, query: Query, recipe: Recipe, least_relevance: float = 0.0, within: float | None = None
    ) -> Recall:
        """Search L3. Groups that were lost stand in the result."""
        return await self._retriever.run(query, recipe, least_relevance, within)

    async def held(self, owner: str, held: Sequence[Held], now: datetime, window_days: float) -> Layer[list[Recalled]]:
        """The episodes that a thread holds, ordered by relevance and age; forgotten ones are gone."""
        found = await layer("L3", self._journal.episodes(owner, [one.episode_id for one in held]), list[Episode]())
        relevance = {one.episode_id: one.relevance for one in held}
        results = [_rescored(episode, relevance[episode.id], now, window_days) for episode in found.value]
        results.sort(key=lambda result: -result.score)
        return Layer(results, found.lost)

    async def exchange(self, question: Episode) -> list[Episode]:
        """All messages of a question's exchange, oldest first. Raises `BackendUnavailable`."""
        return await self._journal.exchange(question.owner, [question.exchange_id])

    async def partners(self, owner: str, results: Sequence[Recalled]) -> Mapping[int, tuple[Episode, ...]]:
        """The other messages of each result's exchange, by the result's episode id."""
        exchanges = [result.episode.exchange_id for result in results]
        found = await layer("L3", self._journal.exchange(owner, exchanges), list[Episode]())
        shown = {result.episode.id for result in results}
        return {
            result.episode.id: tuple(
                e for e in found.value if e.exchange_id == result.episode.exchange_id and e.id not in shown
            )
            for result in results
        }


def _rescored(episode: Episode, relevance: float, now: datetime, window_days: float) -> Recalled:
    age_days = max((now - episode.at).total_seconds(), 0.0) / 86400
    recency = max(0.0, 1.0 - age_days / window_days)
    score = (1 - RECENCY_SHARE) * relevance + RECENCY_SHARE * recency
    return Recalled(episode, relevance, score, {"relevance": relevance, "recency": recency}, ("held",))
