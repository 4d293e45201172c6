"""The LoCoMo file (Maharana et al., ACL 2024) as the bench reads it: conversations, questions and their evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from goat.errors import GoatError
from goat.records.episodes import as_said

DIA_ID = re.compile(r"D\d+:\d+")


class BenchDataError(GoatError):
    """A data file that the bench cannot use: what is wrong at which place, and what would be right."""

    def __init__(self, path: Path, problem: str, remedy: str = "give it a LoCoMo sample file") -> None:
        self.path = path
        super().__init__(f"{path} cannot be used by this bench: {problem}; {remedy}.")


class _Unusable(Exception):
    """What makes a file useless, with the place in it and the remedy."""


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
        return as_said(self.speaker, self.text)


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the turns that answer it; `category` 5 has no answer in the conversation, "" is none."""

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
    """All samples of a file that have turns. What is empty is left out: turns without words and picture, sessions
    without turns, questions without words or without existing evidence. Raises `BenchDataError`."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        samples = [_sample(sample, place) for place, sample in enumerate(_list(data, "the file"), start=1)]
    except OSError as failure:
        raise BenchDataError(path, failure.strerror or str(failure)) from failure
    except ValueError as wrong:
        raise BenchDataError(path, f"it is no JSON ({wrong})") from wrong
    except _Unusable as wrong:
        raise BenchDataError(path, *wrong.args) from wrong
    if not any(sample.questions for sample in samples):
        raise BenchDataError(path, "it has no question whose evidence is a turn of its conversation")
    return [sample for sample in samples if sample.turns]


def _sample(sample: Any, place: int) -> Sample:
    name = str(_object(sample, f"sample {place}").get("sample_id") or place)
    turns = tuple(_turns(_object(sample.get("conversation"), f"the conversation of sample {name}"), name))
    known = {turn.id for turn in turns}
    questions = []
    for number, asked in enumerate(_list(sample.get("qa"), f"qa of sample {name}"), start=1):
        qa = _object(asked, f"question {number} of sample {name}")
        named = DIA_ID.findall(json.dumps(qa.get("evidence")))  # a list, or several in one string
        evidence = frozenset(named) & known
        text, category = _text(qa, "question"), qa.get("category")
        if evidence and text:
            questions.append(Question(text, "" if category is None else str(category), evidence))
    return Sample(name, turns, tuple(questions))


def _turns(conversation: Mapping[str, Any], sample: str) -> Iterator[Turn]:
    numbers = sorted(int(key[8:]) for key in conversation if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        session = f"session_{number}"
        where = f"{session} of sample {sample}"
        turns = _list(conversation[session], where)
        start = _moment(conversation.get(f"{session}_date_time"), where) if turns else None
        for place, told in enumerate(turns):
            turn = _object(told, f"turn {place + 1} in {where}")
            caption = _text(turn, "blip_caption")
            text = _text(turn, "text") + (f" [image: {caption}]" if caption else "")
            if start is None or not text:
                continue
            if not _text(turn, "dia_id"):
                raise _Unusable(f"turn {place + 1} in {where} has no dia_id", "name it as in 'D1:3'")
            yield Turn(turn["dia_id"], session, _text(turn, "speaker"), text, start + timedelta(minutes=place))


def _moment(text: Any, where: str) -> datetime:
    try:
        return datetime.strptime(text.replace(",", ""), "%I:%M %p on %d %B %Y").replace(tzinfo=UTC)
    except (ValueError, AttributeError):
        told = f"the date_time of {where} is {json.dumps(text, ensure_ascii=False)}"
        raise _Unusable(told, "write it as in '1:56 pm on 8 May, 2023'") from None


def _text(table: Mapping[str, Any], key: str) -> str:
    """The words under a key as they stand there; "" where there are none."""
    text = str(table.get(key) or "")
    return text if text.strip() else ""


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _Unusable(f"{what} is {'missing' if value is None else 'no JSON object'}")
    return value


def _list(value: Any, what: str) -> Sequence[Any]:
    """A list; [] where there is none."""
    if not isinstance(value, list | None):
        raise _Unusable(f"{what} is no JSON list")
    return value or []
