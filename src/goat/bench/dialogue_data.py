"""Dialogues as the bench plays them: what a person once said, and the messages that need it later.

Kinds of messages: `switch` asks about something else than the message before it, `warm` asks the same again in other
words, `drift` moves along the thread, `return` comes back to an earlier topic after days, `word` is one word in a chat
of its own.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path

from goat.bench.locomo_data import Question, Sample, read
from goat.retrieval.query import distinct_terms
from goat.testing.clock import START

KINDS = ("switch", "warm", "drift", "return", "word")
RETURN_DAYS = 3
AGAIN = "Once more, please: "
SHORTEST_WORD = 5


@dataclass(frozen=True, slots=True)
class Said:
    """Something that the person said, or heard from a speaker, before the dialogue."""

    speaker: str
    text: str
    at: datetime
    session: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A message of the dialogue, `days` after the one before it; `evidence` are the texts that answer it."""

    kind: str
    text: str
    evidence: tuple[str, ...]
    days: int = 0


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One person's dialogue."""

    name: str
    said: tuple[Said, ...]
    asked: tuple[Asked, ...]


def own_dialogues() -> list[Dialogue]:
    """The dialogues in English, Romanian and Japanese that ship with the bench."""
    lines = files("goat.bench").joinpath("data/dialogues.jsonl").read_text(encoding="utf-8").splitlines()
    rows: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for line in lines:
        row = json.loads(line)
        rows[row["dialogue"]].append(row)
    return [_own(name, of_it) for name, of_it in rows.items()]


def _own(name: str, rows: Sequence[dict[str, str]]) -> Dialogue:
    facts = [row for row in rows if row["kind"] == "said"]
    texts = {row["id"]: row["text"] for row in facts}
    said = [Said("", row["text"], START - timedelta(days=len(facts) - number)) for number, row in enumerate(facts)]
    asked = [
        Asked(row["kind"], row["text"], tuple(texts[one] for one in row["evidence"]), int(row["days"]))
        for row in rows
        if row["kind"] != "said"
    ]
    return Dialogue(name, tuple(said), tuple(asked))


def locomo_dialogues(path: Path, limit: int) -> list[Dialogue]:
    """Each conversation of a LoCoMo file as one person's archive, with `limit` groups of messages about it.

    Raises `BenchDataError`.
    """
    return [_dialogue(sample, limit) for sample in read(path)]


def _dialogue(sample: Sample, limit: int) -> Dialogue:
    said = tuple(Said(turn.speaker, turn.text, turn.at, turn.session) for turn in sample.turns)
    texts = {turn.id: turn.text for turn in sample.turns}
    answerable = [question for question in sample.questions if question.category != "5"]
    step = max(len(answerable) // limit, 1)
    chosen = answerable[::step][:limit]
    asked: list[Asked] = []
    for question in chosen:
        asked += _group(question, answerable, sample, texts)
    asked += [Asked("return", question.text, _evidence(question, texts), RETURN_DAYS) for question in chosen[::2]]
    return Dialogue(sample.id, said, tuple(asked))


def _group(
    question: Question, answerable: Sequence[Question], sample: Sample, texts: dict[str, str]
) -> Iterator[Asked]:
    evidence = _evidence(question, texts)
    yield Asked("switch", question.text, evidence)
    yield Asked("warm", AGAIN + question.text, evidence)
    sessions = {sample.sessions[turn] for turn in question.evidence}
    beside = next(
        (one for one in answerable if one != question and sessions >= {sample.sessions[turn] for turn in one.evidence}),
        None,
    )
    if beside is not None:
        yield Asked("drift", beside.text, _evidence(beside, texts))
    word = _rarest_word(evidence, sample)
    if word:
        yield Asked("word", f"{word}?", evidence[:1])


def _evidence(question: Question, texts: dict[str, str]) -> tuple[str, ...]:
    return tuple(texts[turn] for turn in sorted(question.evidence))


def _rarest_word(evidence: Sequence[str], sample: Sample) -> str:
    """The longest word of the first evidence that no other turn holds, empty when there is none."""
    known = Counter(term for turn in sample.turns for term in set(distinct_terms(turn.text)))
    words = [word.strip(".,!?;:\"'()") for text in evidence[:1] for word in text.split()]
    alone = [word for word in words if word.isalpha() and all(known[term] == 1 for term in distinct_terms(word))]
    return max((word for word in alone if len(word) >= SHORTEST_WORD), key=len, default="")
