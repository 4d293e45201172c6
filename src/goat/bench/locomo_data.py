"""The LoCoMo file (Maharana et al., ACL 2024) as the bench reads it: conversations, questions and their evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from goat.errors import GoatError

DIA_ID = re.compile(r"D\d+:\d+")


class BenchDataError(GoatError):
    """A data file that the bench cannot use."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        super().__init__(f"{path} cannot be used by this bench: {problem}. It wants a LoCoMo sample file.")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation; `text` carries the caption of its picture."""

    id: str
    session: str
    speaker: str
    text: str
    at: datetime

    @property
    def spoken(self) -> str:
        """The turn with its speaker."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the turns that answer it; `category` 5 has no answer in the conversation."""

    text: str
    category: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sample:
    """One conversation and its questions."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    @property
    def sessions(self) -> Mapping[str, str]:
        """The session that contains each turn, whatever the turn's name says."""
        return {turn.id: turn.session for turn in self.turns}


def read(path: Path) -> list[Sample]:
    """All samples of a file, questions without existing evidence left out. Raises `BenchDataError`."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return [_sample(sample) for sample in data]
    except OSError as failure:
        raise BenchDataError(path, failure.strerror or str(failure)) from failure
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise BenchDataError(path, f"{type(wrong).__name__}: {wrong}") from wrong


def _sample(sample: Mapping[str, Any]) -> Sample:
    turns = tuple(_turns(sample["conversation"]))
    known = {turn.id for turn in turns}
    questions = []
    for qa in sample["qa"]:
        named = DIA_ID.findall(json.dumps(qa.get("evidence")))  # a list, or several in one string
        evidence = frozenset(named) & known
        if evidence:
            questions.append(Question(str(qa["question"]), str(qa["category"]), evidence))
    return Sample(str(sample["sample_id"]), turns, tuple(questions))


def _turns(conversation: Mapping[str, Any]) -> Iterator[Turn]:
    numbers = sorted(int(key[8:]) for key in conversation if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        session = f"session_{number}"
        start = _moment(conversation[f"{session}_date_time"])
        for place, turn in enumerate(conversation[session]):
            caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            at = start + timedelta(minutes=place)
            yield Turn(turn["dia_id"], session, turn["speaker"], turn["text"] + caption, at)


def _moment(text: str) -> datetime:
    return datetime.strptime(text.replace(",", ""), "%I:%M %p on %d %B %Y").replace(tzinfo=UTC)
