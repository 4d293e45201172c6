"""What the ranking formula sees for each question, collected once to be weighed in many ways.

Beside the conversations of a LoCoMo file as they were told there are the same lines in random order, where neighbours
and sessions mean nothing, the set of many languages, and questions that belong to another conversation, which nothing
answers. A weight that leans on what only one kind of talk has shows at once.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from goat.app import App, assemble, open_app
from goat.bench import languages
from goat.bench.locomo import Outcome, archive_sample
from goat.bench.locomo_data import Question, Sample, Turn
from goat.ports.models import Embedder
from goat.records.search import Floats
from goat.records.turns import Notice
from goat.retrieval.pipeline import REFLEX, Retriever, Weighed
from goat.retrieval.query import Query
from goat.retrieval.weights import Weights
from goat.settings import ModelSettings, Settings

TOLD, SCATTERED, LANGUAGES, FOREIGN = "as told", "lines in random order", "many languages", "of another conversation"
ALONE, UNKNOWN = "one language alone", "one language or all, of nothing in it"
"""Kinds of samples."""

FOREIGN_QUESTIONS = 80
"""Questions of another conversation that each one is asked."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A question and what speaks for every candidate; `turns` and `sessions` have one name per candidate.

    `evidence` and `evidence_sessions` are empty where nothing answers the question.
    """

    kind: str
    sample: str
    question: Question
    weighed: Weighed
    turns: tuple[str, ...]
    sessions: tuple[str, ...]
    evidence_sessions: frozenset[str]

    @property
    def answerable(self) -> bool:
        """Whether the archive answers it: category 5 asks what was never said."""
        return self.kind not in (FOREIGN, UNKNOWN) and self.question.category != "5"


class RememberingEmbedder:
    """Embeds every text once: the kinds of samples hold the same lines."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._passages: dict[str, Floats] = {}
        self._queries: dict[str, Floats] = {}
        self.name = embedder.name
        self.dimensions = embedder.dimensions

    async def embed_query(self, text: str) -> Floats:
        """See `Embedder.embed_query`."""
        if text not in self._queries:
            self._queries[text] = await self._embedder.embed_query(text)
        return self._queries[text]

    async def embed_passages(self, texts: Sequence[str]) -> list[Floats]:
        """See `Embedder.embed_passages`."""
        new = [text for text in dict.fromkeys(texts) if text not in self._passages]
        self._passages.update(zip(new, await self._embedder.embed_passages(new), strict=True))
        return [self._passages[text] for text in texts]


def samples_of(told: Sequence[Sample], kinds: Sequence[str]) -> list[tuple[str, Sample]]:
    """The samples of these kinds, made from the conversations of a file."""
    made = {
        TOLD: lambda: list(told),
        SCATTERED: lambda: [scattered(sample) for sample in told],
        LANGUAGES: lambda: [many_languages()],
        ALONE: lambda: [alone(language, languages.read()[1]) for language in _languages()],
        UNKNOWN: lambda: [
            *(alone(language, languages.read_foreign()) for language in _languages()),
            _sample("together", languages.read()[0], languages.read_foreign()),
        ],
        FOREIGN: lambda: [foreign(here, there) for here, there in zip(told, [*told[1:], told[0]], strict=True)],
    }
    return [(kind, sample) for kind in kinds for sample in made[kind]()]


def scattered(sample: Sample) -> Sample:
    """The same lines in random order at the same times: every line stands among strangers."""
    lines = list(sample.turns)
    Random(sample.id).shuffle(lines)
    places = zip(lines, sample.turns, strict=True)
    turns = tuple(replace(line, at=place.at, session=place.session) for line, place in places)
    return replace(sample, turns=turns)


def foreign(here: Sample, there: Sample) -> Sample:
    """The questions of another conversation; nothing here answers them, even where names are alike."""
    asked = [replace(one, evidence=frozenset()) for one in there.questions if one.category != "5"]
    step = max(len(asked) // FOREIGN_QUESTIONS, 1)
    return replace(here, questions=tuple(asked[::step][:FOREIGN_QUESTIONS]))


def many_languages() -> Sample:
    """The set of many languages as one conversation."""
    return _sample(languages.OWNER, *languages.read())


def alone(language: str, questions: Sequence[languages.Question]) -> Sample:
    """The messages of one language as a conversation, and those of the questions that are asked in it, of it."""
    messages = [one for one in languages.read()[0] if one.language == language]
    return _sample(language, messages, [one for one in questions if one.language == one.about == language])


def _languages() -> list[str]:
    return list(dict.fromkeys(one.language for one in languages.read()[0]))


def _sample(name: str, messages: Sequence[languages.Message], questions: Sequence[languages.Question]) -> Sample:
    return Sample(
        id=name,
        turns=tuple(Turn(one.id, one.at.date().isoformat(), "", one.text, one.at) for one in messages),
        questions=tuple(Question(one.text, one.language, one.evidence) for one in questions),
    )


async def query_of(app: App, sample: Sample, question: Question) -> Query:
    """A question as a turn makes it ready."""
    vector = await app.backends.embedder.embed_query(question.text)
    entities = (await app.memory.entities(question.text)).value
    return app.memory.query(sample.id, question.text, sample.turns[-1].at, vector, entities)


async def walk(
    told: Sequence[Sample], kinds: Sequence[str], rows: Callable[[str], Sequence[Weights]], limit: int | None, say: Say
) -> AsyncIterator[tuple[str, tuple[Seen, ...]]]:
    """Ask every question of samples of these kinds, `limit` at most of each.

    Yields the embedding model's name and what is seen with each of the weights that `rows` gives for that name. What
    is collected depends on them only as far as the vector of a question does.
    """
    offline = Settings(model=ModelSettings(provider="offline"))
    with tempfile.TemporaryDirectory(prefix="goat-bench-") as folder:
        async with open_app(offline, Path(folder, "archive"), _quiet) as opened:
            embedder = RememberingEmbedder(opened.backends.embedder)
            app = assemble(offline, replace(opened.backends, embedder=embedder))
            retrievers = [_retriever(app, weights) for weights in rows(embedder.name)]
            for number, (kind, sample) in enumerate(samples := samples_of(told, kinds), start=1):
                say(f"{kind}: conversation {number} of {len(samples)}")
                owned = replace(sample, id=f"{sample.id} {kind}")
                names = await archive_sample(app, owned, Outcome())
                for question in sample.questions[:limit]:
                    query = await query_of(app, owned, question)
                    weighed = [await retriever.weigh(query, REFLEX) for retriever in retrievers]
                    yield embedder.name, tuple(_seen(kind, sample, question, one, names) for one in weighed)


def _retriever(app: App, weights: Weights) -> Retriever:
    backends, settings = app.backends, app.settings
    return Retriever(
        journal=backends.journal,
        lexical=backends.lexical,
        vectors=backends.vectors,
        reranker=backends.reranker,
        uses=backends.uses,
        weights=weights,
        gap_significance=settings.retrieval_budget.l3_gap_significance,
        shares=settings.prefetch,
    )


def _seen(kind: str, sample: Sample, question: Question, weighed: Weighed, names: dict[int, str]) -> Seen:
    turns = tuple(names[number] for number in weighed.near.episode_ids.tolist())
    session_of = sample.sessions
    return Seen(
        kind=kind,
        sample=sample.id,
        question=question,
        weighed=weighed,
        turns=turns,
        sessions=tuple(session_of[turn] for turn in turns),
        evidence_sessions=frozenset(session_of[turn] for turn in question.evidence),
    )


def _quiet(notice: Notice) -> None:
    """A bench shows figures only."""
