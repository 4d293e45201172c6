"""The conversations of LoCoMo (Maharana et al., ACL 2024, arXiv 2402.17753): a file of samples, or one of them.

A sample's `conversation` holds lists `session_1`, `session_2`, … of turns, and beside each the time at which it began.
The turns of a session are taken to be a minute apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from goat.adapters.history_file import BadValue, HistoryFile, Reading
from goat.adapters.history_json import whole_objects
from goat.adapters.history_sniff import Shape
from goat.adapters.history_values import Json, as_object, clean, shortened, text_of
from goat.records.history import ArchivedFact, ArchivedIdentity, BadRecord, HistoryKind, HistoryRecord

_SESSION: Final = re.compile(r"session_([0-9]+)")
_DATE: Final = re.compile(r"([0-9]{1,2}):([0-9]{2}) (am|pm) on ([0-9]{1,2}) ([A-Za-z]+),? ([0-9]{4})", re.IGNORECASE)
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_TURN: Final = timedelta(minutes=1)


def recognises(shape: Shape) -> bool:
    """Whether the beginning of a file looks like samples of LoCoMo, which start with questions or a conversation."""
    at = "item." if shape.root == "array" else ""
    marks = ("conversation.speaker_a", "conversation.session_1", "qa.item.evidence")
    return not shape.keys.isdisjoint(f"{at}{mark}" for mark in marks)


class LocomoHistory:
    """A `HistorySource` over samples of LoCoMo.

    A chat is a sample, `locomo:<sample id>`; a key ends in the turn's `dia_id`. Times have no zone and are read as UTC.
    What a turn's picture shows stands behind its text as ` [image: caption]`.
    """

    format = "LoCoMo sample"

    def __init__(self, file: HistoryFile) -> None:
        self._file = file

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return self._file.size

    def read(self, on_bad: Callable[[BadRecord], None] | None = None) -> Iterator[HistoryRecord]:
        """As the port says; a record is a turn, or a sample or session that has none."""
        reading = Reading(self._file.path, on_bad)
        with reading.until_broken(), self._file.open() as raw:
            for place, sample in enumerate(whole_objects(self._file, raw, reading), 1):
                yield from _turns(sample, place, reading)

    def values(self, _on_bad: Callable[[BadRecord], None] | None, /) -> Iterator[ArchivedFact | ArchivedIdentity]:
        """There are none in this format."""
        return iter(())


def session_moment(text: object) -> datetime:
    """The time of a session, as in `1:56 pm on 8 May, 2023`, in UTC. Raises `BadValue`."""
    match = _DATE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is not None:
        hour, minute, half, day, month, year = match.groups()
        try:
            clock = int(hour) % 12 + (12 if half.lower() == "pm" else 0)
            return datetime(int(year), _MONTHS.index(month.lower()) + 1, int(day), clock, int(minute), tzinfo=UTC)
        except ValueError:
            pass
    raise BadValue(f"its time {shortened(text)} is not like '1:56 pm on 8 May, 2023'")


def _turns(sample: object, place: int, reading: Reading) -> Iterator[HistoryRecord]:
    try:
        sample = as_object(sample, "it")
        talk = as_object(sample.get("conversation"), "its conversation")
    except BadValue as fault:
        reading.next()
        reading.bad(f"sample {place}: {fault}")
        return
    name = text_of(sample.get("sample_id")) or str(place)
    title = " and ".join(filter(None, (text_of(talk.get("speaker_a")), text_of(talk.get("speaker_b")))))
    numbers = (int(match.group(1)) for match in map(_SESSION.fullmatch, talk) if match)
    for number in sorted(numbers):
        yield from _session(talk, number, f"locomo:{name}", title, reading)


def _session(talk: Json, number: int, chat: str, title: str, reading: Reading) -> Iterator[HistoryRecord]:
    turns = talk[f"session_{number}"]
    where = f"session {number} of {chat.removeprefix('locomo:')}"
    try:
        if not isinstance(turns, list):
            raise BadValue(f"it is not a list but {shortened(turns)}")
        start = session_moment(talk.get(f"session_{number}_date_time"))
    except BadValue as fault:
        reading.next()
        reading.bad(f"{where}: {fault}")
        return
    for turn, at in ((turn, start + place * _TURN) for place, turn in enumerate(turns)):
        reading.next()
        try:
            yield _record(turn, at, chat, title, reading)
        except BadValue as fault:
            reading.bad(f"turn {reading.number} in {where}: {fault}")


def _record(turn: Any, at: datetime, chat: str, title: str, reading: Reading) -> HistoryRecord:
    turn = as_object(turn, "it")
    name, speaker = text_of(turn.get("dia_id")), text_of(turn.get("speaker"))
    if not name or not speaker:
        raise BadValue("it has no dia_id or no speaker")
    caption = text_of(turn.get("blip_caption")).strip()
    media = f"[image: {caption}]" if caption else ""
    words = text_of(turn.get("text"))
    return HistoryRecord(
        source="locomo",
        key=clean(f"{chat}/{name}"),
        chat=chat,
        chat_title=title,
        sender_id=speaker,
        sender_name=speaker,
        text=f"{words} {media}".strip() if media else words,
        at=at,
        number=reading.number,
        position=reading.position,
        kind=HistoryKind.MESSAGE if words.strip() else HistoryKind.MEDIA,
        media=media,
    )
