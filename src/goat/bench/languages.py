"""`goat bench languages`: recall in ten languages at once, on a small set of own making.

Everyday messages of every language lie shuffled in one chat. Each question has one message as its evidence; half of
those with diacritics are asked without them, and some are asked in another language. BM25, the embedder and their
fusion are asked the same.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from goat.app import App, open_app
from goat.bench.bars import PlainBm25, order, reciprocal_rank_fusion
from goat.bench.report import Figure
from goat.bench.score import any_at
from goat.memory.facade import FULL_ARCHIVE
from goat.records.episodes import NewEpisode, Role
from goat.records.turns import Notice
from goat.retrieval.passages import split_passages
from goat.retrieval.pipeline import REFLEX
from goat.settings import Settings

OWNER = "languages"
K = 5
GOAL = 90.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the set; `language` is an ISO 639-1 code."""

    id: str
    language: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question in `language` on a message in the language `about`; `bare` says that its diacritics were dropped."""

    language: str
    about: str
    text: str
    evidence: frozenset[str]
    bare: bool

    @property
    def crosses(self) -> bool:
        """Whether it is asked in another language than its evidence."""
        return self.language != self.about


@dataclass(frozen=True, slots=True)
class Answer:
    """A question and the messages that each system found for it, best first."""

    question: Question
    ranked: Mapping[str, Sequence[str]]

    @property
    def found(self) -> float:
        """1.0 when GOAT has the evidence in its first five."""
        return self.found_by("GOAT")

    def found_by(self, system: str) -> float:
        """1.0 when the system has the evidence in its first five."""
        return any_at(self.ranked[system], self.question.evidence, K)


def read() -> tuple[list[Message], list[Question]]:
    """The messages of the set, oldest first, and its questions."""
    rows = _rows()
    messages = [
        Message(row["id"], row["language"], datetime.fromisoformat(row["at"]), row["text"])
        for row in rows
        if row["kind"] == "message"
    ]
    questions = [
        Question(row["language"], row["about"], row["text"], frozenset(row["evidence"]), row["bare"])
        for row in rows
        if row["kind"] == "question"
    ]
    return messages, questions


def read_foreign() -> list[Question]:
    """The questions of the set that no message of it answers, five in each language."""
    return [
        Question(row["language"], row["language"], row["text"], frozenset(), bare=False)
        for row in _rows()
        if row["kind"] == "foreign"
    ]


def _rows() -> list[dict[str, Any]]:
    text = files("goat.bench").joinpath("data/languages.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


async def ask_all(app: App, messages: Sequence[Message], questions: Sequence[Question]) -> list[Answer]:
    """Archive and embed the messages, then ask every question as the reflex does."""
    names = await _archive(app, messages)
    bm25, every = PlainBm25([message.text for message in messages]), np.arange(len(messages))
    answers = []
    for question in questions:
        vector = await app.backends.embedder.embed_query(question.text)
        entities = await app.memory.entities(question.text)
        query = app.memory.query(OWNER, question.text, messages[-1].at, vector, entities.value)
        recall = await app.memory.recall(query, REFLEX)
        lexical = order(bm25.scores(question.text))
        dense = order(await app.backends.vectors.score(OWNER, vector, every))  # a short message is one passage
        bars = {"BM25": lexical, "embedder": dense, "BM25 + embedder, RRF": reciprocal_rank_fusion([lexical, dense])}
        ranked = {bar: [messages[place].id for place in places] for bar, places in bars.items()}
        ranked["GOAT"] = [names[result.episode.id] for result in recall.results]
        answers.append(Answer(question, ranked))
    return answers


async def _archive(app: App, messages: Sequence[Message]) -> Mapping[int, str]:
    episodes = [
        NewEpisode(
            owner=OWNER,
            chat=OWNER,
            role=Role.USER,
            text=message.text,
            at=message.at,
            exchange_id=message.id,
            tags=(FULL_ARCHIVE,),
            source="bench",
            passages=split_passages(message.text),
        )
        for message in messages
    ]
    appended = await app.memory.archive.append(episodes)
    await app.memory.archive.embed()
    return {one.episode.id: message.id for one, message in zip(appended, messages, strict=True)}


def figures(answers: Sequence[Answer]) -> list[Figure]:
    """R@5 of every language asked in itself, of the questions across languages, without diacritics, and of all."""
    groups: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        asked = answer.question
        groups["asked in another language" if asked.crosses else asked.language].append(answer.found)
    groups["without their diacritics"] = [answer.found for answer in answers if answer.question.bare]
    shown = [_share(f"{name}, {len(found)} questions", found) for name, found in groups.items()]
    bars = [system for system in answers[0].ranked if system != "GOAT"]
    shown += [_share(f"all by {bar}", [answer.found_by(bar) for answer in answers]) for bar in bars]
    return [*shown, _share(f"all, {len(answers)} questions", [answer.found for answer in answers], GOAL)]


def _share(name: str, found: Sequence[float], goal: float | None = None) -> Figure:
    return Figure(f"R@{K} · {name}", 100 * sum(found) / max(len(found), 1), "%", goal, more_is_better=True)


def run(say: Say) -> list[Figure]:
    """Run the bench."""
    return asyncio.run(_run(say))


async def _run(say: Say) -> list[Figure]:
    messages, questions = read()
    with tempfile.TemporaryDirectory(prefix="goat-bench-") as folder:
        async with open_app(Settings(), Path(folder), _quiet) as app:
            say(f"asking {len(questions)} questions on {len(messages)} messages")
            return figures(await ask_all(app, messages, questions))


def _quiet(notice: Notice) -> None:
    """A bench shows figures only."""
