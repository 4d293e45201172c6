"""The archive: the journal first, and the indexes that follow it.

The lexical index follows at once, all that was committed meanwhile in one step; who asks for it waits until a search
finds what was archived. Embedding takes longer; it follows in the background, and a passage without a vector is found
by its words meanwhile. Each follower keeps a cursor, so a killed process goes on where its followers stood.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import tzinfo

from goat.background import Background
from goat.errors import BackendUnavailable
from goat.failpoints import reach
from goat.memory.enrich import Enricher
from goat.ports.models import Embedder
from goat.ports.run import Observer
from goat.ports.stores import Embeddings, Journal, LexicalIndex, VectorIndex
from goat.records.episodes import Appended, Change, Episode, NewEpisode, NewOutgoing, Passage, Role, as_said
from goat.records.search import Floats, LexicalDocument, VectorRow
from goat.records.turns import Notice
from goat.retrieval.query import whole_text_term
from goat.retrieval.terms import analyse, is_short_question
from goat.retrieval.times import told_days

BATCH = 256
"""Changes that a follower takes in one step of the lexical index."""

FOLLOW_SECONDS = 2.0
"""How long an append waits for the lexical index; one that hangs is not waited for again until it has moved."""

EMBED_BATCH = 16
"""Changes that are embedded between two commits: a killed process repeats at most these."""

Progress = Callable[[str, int, int], None]
"""Told the follower's name, the seq it stands at and the seq it goes to."""


Committed = Callable[[], None]
"""Told that the journal holds it."""


def _no_progress(_name: str, _at: int, _to: int) -> None:
    return


def spoken(episode: Episode, text: str) -> str:
    """A passage as it is indexed and embedded: with its speaker, so that a name in a question finds what they said."""
    return as_said(episode.speaker, text)


def lexical_document(episode: Episode, passage: Passage, zone: tzinfo) -> LexicalDocument:
    """The passage with its terms counted.

    Beside its words stand terms that do not count for its length: one for the whole message, and one for each day that
    it tells of, as the clocks of `zone` count days. A short question asks for days and tells of none.
    """
    text = episode.text[passage.span.start : passage.span.end]
    terms = Counter(analyse(spoken(episode, text)))
    length = terms.total()
    if passage.part == 0:
        terms[whole_text_term(episode.text)] = 1
    question = is_short_question(text)
    if not question:
        terms.update(dict.fromkeys(told_days(text, episode.at, zone), 1))
    return LexicalDocument(
        owner=passage.owner,
        ord=passage.ord,
        episode_id=episode.id,
        chat=episode.chat,
        at=episode.at,
        terms=terms,
        length=length,
        topic_id=episode.topic_id,
        speaker=episode.speaker,
        question=question,
        human=episode.role is Role.USER,
    )


class Archive:
    """Writes episodes and keeps both indexes behind the journal's head."""

    def __init__(
        self,
        journal: Journal,
        embeddings: Embeddings,
        lexical: LexicalIndex,
        vectors: VectorIndex,
        embedder: Embedder,
        background: Background,
        observer: Observer,
        enricher: Enricher,
        zone: tzinfo,
    ) -> None:
        self._journal = journal
        self._embeddings = embeddings
        self._lexical = lexical
        self._vectors = vectors
        self._embedder = embedder
        self._background = background
        self._observer = observer
        self._enricher = enricher
        self._zone = zone
        self._following = asyncio.Lock()
        self._next_words: asyncio.Task[None] | None = None
        self._embedding: asyncio.Task[None] | None = None
        self._behind = False
        self._hanging = False
        self._versions: Counter[str] = Counter()

    def version(self, owner: str) -> int:
        """A number that grows with everything that is written, embedded or forgotten of an owner's."""
        return self._versions[owner]

    def _changed(self, owners: Iterable[str]) -> None:
        self._versions.update(set(owners))

    async def append(
        self,
        episodes: Sequence[NewEpisode],
        outgoing: Sequence[NewOutgoing] = (),
        topics: Mapping[str, str] | None = None,
        on_committed: Committed | None = None,
        wait: bool = True,
    ) -> list[Appended]:
        """Commit to the journal, with the topics of exchanges that end here, then bring the word index along.

        `on_committed` is called between the two. Without `wait` the index follows in the background: for what need not
        be found before something else is appended. Raises `BackendUnavailable` only when the journal itself cannot be
        written; an index that is away catches up later. `follow_meaning` is the caller's to ask for, when the turn
        needs the embedder no more.
        """
        appended = await self._journal.append(episodes, outgoing, topics or {})
        reach("journal_committed")
        if on_committed is not None:
            on_committed()
        if not (self._hanging and self._following.locked()):
            following = self._follow_words_soon()
            if wait:
                done, _ = await asyncio.wait([following], timeout=FOLLOW_SECONDS)
                self._hanging = not done
        self._changed(new.owner for new in episodes)
        reach("words_followed")
        return appended

    def _follow_words_soon(self) -> asyncio.Task[None]:
        """The next step of the word index, which holds everything that is committed by now; all who ask share it."""
        if self._next_words is None or self._next_words.done():
            self._next_words = self._background.start("words", self._spare("the word index", self._follow_next()))
        return self._next_words

    async def _follow_next(self) -> None:
        async with self._following:
            self._next_words = None  # what is committed from here on may come too late for this step
            await self._follow_to_head(_no_progress, BATCH)

    async def follow_words(self, progress: Progress = _no_progress, batch: int = BATCH) -> None:
        """Bring the lexical index to the journal's head, `batch` changes in a step. Raises `BackendUnavailable`."""
        async with self._following:
            await self._follow_to_head(progress, batch)

    async def _follow_to_head(self, progress: Progress, batch: int) -> None:
        head = await self._journal.head()
        cursor = await self._lexical.cursor()
        if cursor > head:  # damage: it claims to hold changes that do not exist
            await self._lexical.clear()
            cursor = 0
        while cursor < head:
            changes = await self._journal.changes(cursor, batch)
            if not changes:
                return
            documents, removed = await asyncio.to_thread(_lexical_step, changes, self._zone)
            reach("words_step")
            cursor = changes[-1].seq
            await self._lexical.apply(documents, removed, cursor)
            self._changed(change.owner for change in changes)
            progress("words", cursor, head)

    async def catch_up_words(self) -> None:
        """Bring the lexical index to the journal's head; where it cannot be used, a notice is given."""
        await self._spare("the word index", self.follow_words())

    def follow_meaning(self) -> None:
        """Enrich and embed what was written without, in the background; one task does it, however often it is asked."""
        self._behind = True
        if self._embedding is None or self._embedding.done():
            self._embedding = self._background.start("embed", self._follow_meaning())

    def leave_meaning(self, seconds: float) -> None:
        """End the embedding in the background when it has not caught up in so many seconds; what was embedded is kept,
        and the next start goes on from there."""
        if self._embedding is not None and not self._embedding.done():
            asyncio.get_running_loop().call_later(seconds, self._embedding.cancel)

    async def _follow_meaning(self) -> None:
        while self._behind:
            self._behind = False
            await self._spare("enrichment", self.enrich())
            await self._spare("the meaning index", self.embed())

    async def enrich(self) -> None:
        """Note what there is to be noted about messages that were written without it. Raises `BackendUnavailable`."""
        while owners := await self._enricher.step():
            self._changed(owners)

    async def embed(self, progress: Progress = _no_progress) -> None:
        """Embed up to the journal's head and bring the vector index there. Raises `BackendUnavailable`."""
        await self.follow_vectors()
        model = self._embedder.name
        head = await self._journal.head()
        cursor = await self._embeddings.cursor(model)
        cursor = cursor if cursor <= head else 0
        while cursor < head:
            changes = await self._journal.changes(cursor, EMBED_BATCH)
            if not changes:
                return
            rows = await self._embed(changes)
            cursor = changes[-1].seq
            await self._embeddings.put(model, rows, cursor)
            await self._embeddings.remove(_removed(changes))  # one that was being embedded while it was forgotten
            reach("vectors_kept")
            await self.follow_vectors()
            self._changed(change.owner for change in changes)
            progress("meaning", cursor, head)

    async def let_go(self, passages: Sequence[tuple[str, int]]) -> None:
        """Take (owner, ord) pairs out of both indexes and their vectors out of the journal, wherever the followers
        stand. Raises `BackendUnavailable`."""
        await self.follow_words()
        await self._embeddings.remove(passages)
        await self._vectors.apply([], passages, await self._vectors.cursor())
        self._changed(owner for owner, _ in passages)

    async def follow_vectors(self, batch: int = BATCH) -> None:
        """Bring the vector index to where the kept vectors are, `batch` changes in a step.

        Raises `BackendUnavailable`.
        """
        model = self._embedder.name
        kept = await self._embeddings.cursor(model)
        cursor = await self._vectors.cursor()
        if cursor > kept:
            await self._vectors.clear()
            cursor = 0
        while cursor < kept:
            changes = [change for change in await self._journal.changes(cursor, batch) if change.seq <= kept]
            if not changes:
                return
            rows = await self._kept_rows(model, changes)
            cursor = changes[-1].seq
            await self._vectors.apply(rows, _removed(changes), cursor)

    async def rebuild(self, progress: Progress = _no_progress, resume: bool = False) -> None:
        """Build both indexes anew from the journal; with `resume`, go on where an interrupted rebuild stood."""
        if not resume:
            await self._lexical.clear()
            await self._vectors.clear()
        await self.follow_words(progress)
        reach("words_rebuilt")
        await self.embed(progress)
        for model in await self._embeddings.models():
            if model != self._embedder.name:
                await self._embeddings.drop(model)

    async def foreign_models(self) -> list[str]:
        """Models other than the present one whose vectors are kept."""
        return [model for model in await self._embeddings.models() if model != self._embedder.name]

    async def _embed(self, changes: Sequence[Change]) -> list[VectorRow]:
        spans = [(change.episode, passage) for change in changes if change.episode for passage in change.passages]
        texts = [spoken(episode, episode.text[p.span.start : p.span.end]) for episode, p in spans]
        vectors = await self._embedder.embed_passages(texts)
        return [_row(episode, p, vector) for (episode, p), vector in zip(spans, vectors, strict=True)]

    async def _kept_rows(self, model: str, changes: Sequence[Change]) -> list[VectorRow]:
        rows: list[VectorRow] = []
        for owner in {change.owner for change in changes if change.episode}:
            own = [c for c in changes if c.owner == owner and c.episode]
            vectors = await self._embeddings.get(model, owner, [p.ord for c in own for p in c.passages])
            rows += [
                _row(c.episode, p, vectors[p.ord]) for c in own if c.episode for p in c.passages if p.ord in vectors
            ]
        return rows

    async def _spare(self, what: str, work: Awaitable[None]) -> None:
        try:
            await work
        except BackendUnavailable as failure:
            self._observer.notice(Notice(what, str(failure)))


def _row(episode: Episode, passage: Passage, vector: Floats) -> VectorRow:
    return VectorRow(
        owner=episode.owner,
        ord=passage.ord,
        episode_id=episode.id,
        chat=episode.chat,
        at=episode.at,
        vector=vector,
        topic_id=episode.topic_id,
    )


def _removed(changes: Sequence[Change]) -> list[tuple[str, int]]:
    return [(change.owner, p.ord) for change in changes if change.episode is None for p in change.passages]


def _lexical_step(changes: Sequence[Change], zone: tzinfo) -> tuple[list[LexicalDocument], list[tuple[str, int]]]:
    documents = [lexical_document(c.episode, p, zone) for c in changes if c.episode for p in c.passages]
    return documents, _removed(changes)
