"""The only door to memory. Each layer may be away; its loss is returned and the turn goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from uuid import uuid4

import numpy as np

from goat.errors import MessageRefused
from goat.memory.archive import Archive, Committed
from goat.memory.cache import Cache, cache_key
from goat.memory.enrich import Enricher, Noted
from goat.memory.l0_identity import Identity
from goat.memory.l1_facts import Facts
from goat.memory.l2_history import History
from goat.memory.layer import Layer, layer
from goat.memory.thread_store import ThreadStore
from goat.memory.uses import UseCounts
from goat.ports.models import Embedder, EntityExtractor
from goat.ports.stores import Journal
from goat.records.entities import Entity
from goat.records.episodes import Appended, Episode, Incoming, NewEpisode, NewOutgoing, Passage, Role, Span, Use
from goat.records.memory import Activation, Fact, Held, HistoryMessage
from goat.records.models import Reply
from goat.records.search import EVERYWHERE, Floats, Lost, Recall, Recalled, Where
from goat.retrieval.asking import asked_in, together
from goat.retrieval.blend import DAY, blended
from goat.retrieval.clean import clean
from goat.retrieval.passages import split_passages
from goat.retrieval.pipeline import SEARCH, Recipe, Retriever
from goat.retrieval.query import Query, read_query, sought
from goat.settings.sections import PrefetchSettings

FULL_ARCHIVE = "l2_full_archive"
"""The tag of what the turn archives by itself."""


@dataclass(frozen=True, slots=True)
class Received:
    """A message that stands in the journal. `altered` says that characters no store can hold were replaced in it.

    `extra` is what its front door wants to find at the delivery of the answer; with `outside` the message holds words
    of others. `language` is what its front door says that the person reads, or else that of the message, empty where
    that does not show.
    """

    episode: Episode
    duplicate: bool
    altered: bool
    extra: Mapping[str, str] = field(default_factory=dict)
    outside: bool = False
    language: str = ""


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
        entities: EntityExtractor,
        enricher: Enricher,
        uses: UseCounts,
        shares: PrefetchSettings,
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
        self._entities = entities
        self._enricher = enricher
        self._uses = uses
        self._shares = shares
        self._zone = zone

    async def receive(self, incoming: Incoming, exchange_id: str = "") -> Received:
        """Commit a person's message before anything else is done with it; without an exchange it begins one.

        Its own turn does not look for it, so that goes on while the word index follows; the answer waits for both.
        Raises `BackendUnavailable` when the journal cannot take it: the front door then refuses it visibly, and
        `MessageRefused` for the redelivery of a message that was forgotten.
        """
        text, altered = clean(incoming.text)
        noted = await self._enricher.noted(text, incoming.at)
        episode = NewEpisode(
            owner=incoming.owner,
            chat=incoming.chat,
            role=Role.USER,
            text=text,
            at=incoming.at,
            exchange_id=exchange_id or uuid4().hex,
            speaker=incoming.speaker,
            tags=(FULL_ARCHIVE,),
            source=incoming.source,
            key=incoming.key,
            passages=split_passages(text),
            meta=noted.meta,
            to_enrich=not noted.complete,
        )
        (appended,) = await self.archive.append([episode], wait=False)
        if appended.forgotten:
            raise MessageRefused("This message was forgotten. Send it as a new one if it is to be kept again.")
        language = incoming.language or appended.episode.meta.get("language", "")
        return Received(appended.episode, appended.duplicate, altered, incoming.extra, incoming.outside, language)

    async def answer(
        self, received: Received, topic_id: str, reply: Reply, at: datetime, on_committed: Committed | None = None
    ) -> Appended:
        """Commit the reply, its delivery to where the question came from, and the exchange's topic, all together.

        `on_committed` is called as soon as that is done; afterwards a search finds what was said. Raises
        `BackendUnavailable`.
        """
        question = received.episode
        text, _ = clean(reply.text)
        noted = await self._enricher.noted(text, at)
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
            meta=noted.meta,
            to_enrich=not noted.complete,
        )
        outgoing = NewOutgoing(question.owner, question.chat, question.source, text, received.extra)
        topics = {question.exchange_id: topic_id}
        (appended,) = await self.archive.append([episode], [outgoing], topics, on_committed)
        self.archive.follow_meaning()
        return appended

    async def remember_exchange(self, asked: Sequence[Episode], answer: Episode, evidence: str = "") -> Layer[None]:
        """Extend L2 by an exchange that ended: what the person said in it, and the answer.

        `evidence` are lines on its tool calls, which only L2 holds.
        """
        said = f"{evidence}\n\n{answer.text}" if evidence else answer.text
        messages = [
            *(HistoryMessage(one.id, one.role, one.text, one.at, speaker=one.speaker) for one in asked),
            HistoryMessage(answer.id, answer.role, said, answer.at),
        ]
        return await layer("L2", self._history.append(answer.owner, answer.chat, messages), None)

    async def prompt_layers(self, owner: str, chat: str, before: int) -> PromptLayers:
        """L0, L1 and L2 at once; `before` is the episode id of the message that is being answered."""
        identity, facts, history = await asyncio.gather(
            layer("L0", self._identity.read(owner), self._identity.base_prompt),
            layer("L1", self._facts.read(owner), list[Fact]()),
            layer("L2", self._history.read(owner, chat, before), list[HistoryMessage]()),
        )
        lost = tuple(found.lost for found in (identity, facts, history) if found.lost)
        return PromptLayers(identity.value, tuple(facts.value), tuple(history.value), lost)

    async def begin_anew(self, owner: str, chat: str) -> None:
        """Begin a new conversation in a chat: nothing is forgotten, but the next message is the first of its thread.

        Raises `BackendUnavailable`.
        """
        await self._history.begin_anew(owner, chat)
        await self._threads.change(owner, chat, lambda old: Activation(archived_topics=old.archived_topics))

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
        return await layer("embedder", self._embedder.embed_query(sought(text)), None)

    async def noted(self, text: str, at: datetime) -> Noted:
        """What is to be noted about a message that is about to be written."""
        return await self._enricher.noted(text, at)

    async def entities(self, text: str) -> Layer[tuple[Entity, ...]]:
        """What a message names, nothing when it cannot be had."""
        nothing: list[tuple[Entity, ...]] = [()]
        found = await layer("entities", self._entities.extract([text]), nothing)
        return Layer(found.value[0], found.lost)

    def query(
        self,
        owner: str,
        text: str,
        at: datetime,
        vector: Floats | None = None,
        entities: Sequence[Entity] = (),
    ) -> Query:
        """A text made ready for `recall`: its terms, the times that it names, the keys in it, what it names."""
        return read_query(owner, text, at, self._zone, vector, entities)

    async def search(self, owner: str, text: str, at: datetime, limit: int, where: Where = EVERYWHERE) -> Recall:
        """Search the owner's whole archive on demand, without a cutoff.

        The same search is answered again for a few minutes, until something of the owner's is written or forgotten.
        """
        filters = (where.chat, where.topic_id, where.after, where.before, where.up_to, limit)
        key = cache_key("search", owner, text, *filters, self.archive.version(owner))
        held = self._searches.get(key, at)
        if held is not None:
            return held
        vector, entities = await asyncio.gather(self.embed(text), self.entities(text))
        query = replace(self.query(owner, text, at, vector.value, entities.value), where=where)
        found = await self.recall(query, replace(SEARCH, limit=limit))
        if not (found.lost or vector.lost or entities.lost):
            self._searches.put(key, found, at)
        return found

    async def recall(
        self, query: Query, recipe: Recipe, least_relevance: float = 0.0, within: float | None = None
    ) -> Recall:
        """Search L3, for a long message also by what it asks. Groups that were lost stand in the result."""
        whole = self._retriever.run(query, recipe, least_relevance, within)
        asked = asked_in(query.text)
        if not asked:
            return await whole
        found, also = await asyncio.gather(whole, self._asked(query, asked, recipe, least_relevance, within))
        return together(found, also, recipe.limit)

    async def _asked(
        self, query: Query, asked: str, recipe: Recipe, least_relevance: float, within: float | None
    ) -> Recall:
        """What a part of a query finds by itself; where it is late, the whole has to do."""
        part = read_query(query.owner, asked, query.at, self._zone)
        names = tuple(name for name in query.names if name in part.terms)
        try:
            async with asyncio.timeout(within):
                vector = (await self.embed(asked)).value
                thread = replace(query, text=asked, terms=part.terms, windows=part.windows, keys=part.keys)
                part = replace(thread, names=names, guesses=part.guesses, vector=vector)
                return await self._retriever.run(part, recipe, least_relevance, within)
        except TimeoutError:
            return Recall(asked, lost=(Lost("what it asks", "not done before the deadline"),))

    async def held(self, owner: str, held: Sequence[Held], now: datetime) -> Layer[list[Recalled]]:
        """The episodes that a thread holds, ordered by relevance, age and use; forgotten ones are gone."""
        ids = [one.episode_id for one in held]
        found, uses = await asyncio.gather(
            layer("L3", self._journal.episodes(owner, ids), list[Episode]()), self._uses.of(owner, ids)
        )
        results = _ordered(found.value, {one.episode_id: one for one in held}, uses.value, now, self._shares)
        return Layer(results, found.lost or uses.lost)

    def recalled(self, owner: str, results: Sequence[Recalled]) -> None:
        """Count that these results were shown to a model for an answer."""
        self._uses.note(owner, [result.episode.id for result in results])

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

    async def excerpts(self, owner: str, results: Sequence[Recalled]) -> Mapping[int, Span]:
        """The passage that each result was found by, with those beside it in its message, by the result's episode id.

        A result of which that is not known, or cannot be looked up, is left out.
        """
        near = {one.episode.id: range(one.ord - 1, one.ord + 2) for one in results if one.ord is not None}
        if not near:
            return {}
        ords = [number for beside in near.values() for number in beside]
        passages = (await layer("L3", self._journal.passages(owner, ords), dict[int, Passage]())).value
        own = {
            episode_id: [passages[at].span for at in beside if at in passages and passages[at].episode_id == episode_id]
            for episode_id, beside in near.items()
        }
        return {episode_id: Span(spans[0].start, spans[-1].end) for episode_id, spans in own.items() if spans}


def _ordered(
    episodes: Sequence[Episode],
    held: Mapping[int, Held],
    uses: Mapping[int, Use],
    now: datetime,
    shares: PrefetchSettings,
) -> list[Recalled]:
    """Held episodes by their blended score, best first; of equal ones the more relevant."""
    parts = blended(
        np.array([held[one.id].relevance for one in episodes], dtype=np.float32),
        np.array([(now - one.at).total_seconds() / DAY for one in episodes], dtype=np.float32),
        np.array([uses[one.id].count if one.id in uses else 0 for one in episodes], dtype=np.float32),
        shares,
    )
    results = []
    for place, episode in enumerate(episodes):
        shown = {name: float(values[place]) for name, values in parts.items()}
        one = held[episode.id]
        results.append(Recalled(episode, one.relevance, sum(shown.values()), shown, ("held",), one.ord))
    return sorted(results, key=lambda result: (-round(result.score, 4), -result.relevance))
