"""JSON lines: what our own export writes, and what a person can write by hand.

The first line may be a header, `{"format": "goat-history", "version": 1}`; without one the lines are read as version
1. Every other line is an object. It needs `text` and `at` (ISO 8601, or seconds since 1970); the rest is optional:

    {"type": "episode", "text": "Hello", "at": "2024-05-08T13:56:00+00:00", "chat": "trip", "speaker": "Ana",
     "role": "user", "uid": "…", "exchange_id": "…", "topic_id": "…", "tags": [], "source": "…", "key": "…",
     "meta": {}, "uses": 3, "last_used": "…", "reply_to": "…", "edited": false, "chat_title": "…", "sender_id": "…"}

A line without a speaker holds the words of the one whose memory it becomes, or of their assistant. Who that is, is
decided by the one who imports it; `owner` says whose it was, in an export of several people. `"indexed": false` marks
words that no search is to find. The header lists under `types` which other lines there are beside episodes:

    {"type": "fact", "key": "city", "value": "Iași", "since": "…", "until": "…", "source_uid": "…"}
    {"type": "identity", "text": "You are …", "since": "…", "until": "…"}
"""

from __future__ import annotations

import codecs
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from typing import IO, Any, Final, TextIO

from goat.adapters.history_file import CHUNK, BadValue, HistoryFile, Reading, in_bytes, unreadable
from goat.adapters.history_sniff import Shape
from goat.adapters.history_values import (
    Json,
    as_object,
    clean,
    iso_moment,
    shortened,
    text_of,
    unix_moment,
    whole_number,
)
from goat.errors import HistoryError
from goat.records.episodes import Episode, Role, Use
from goat.records.history import ArchivedEpisode, ArchivedFact, ArchivedIdentity, BadRecord, HistoryRecord

FORMAT: Final = "goat-history"
VERSION: Final = 1
EPISODE: Final = "episode"
FACT: Final = "fact"
IDENTITY: Final = "identity"


def recognises(shape: Shape) -> bool:
    """Whether the beginning of a file looks like JSON lines that can be read here."""
    return shape.root == "map" and not shape.keys.isdisjoint(("format", "text"))


def header_line(types: tuple[str, ...] = (EPISODE,), **facts: str) -> str:
    """The first line of an export, with its newline; `facts` are further fields for the reader's eyes."""
    return _line({"format": FORMAT, "version": VERSION, "types": list(types), **facts})


def episode_line(episode: Episode, indexed: bool = True, owner: str = "", use: Use | None = None) -> str:
    """The line of one episode, with its newline. Read back, the record's `archived` holds everything but the owner,
    and the owner too where it is given."""
    fields: Json = {
        "type": EPISODE,
        "owner": owner,
        "uid": episode.uid,
        "chat": episode.chat,
        "role": episode.role.value,
        "speaker": episode.speaker,
        "text": episode.text,
        "at": episode.at.astimezone(UTC).isoformat(),
        "exchange_id": episode.exchange_id,
        "topic_id": episode.topic_id,
        "tags": list(episode.tags),
        "source": episode.source,
        "key": episode.key,
        "meta": dict(episode.meta),
        "uses": use.count if use else 0,
        "last_used": use.last.astimezone(UTC).isoformat() if use else "",
    }
    said = {name: value for name, value in fields.items() if value or name in ("text", "chat")}
    return _line(said if indexed else {**said, "indexed": False})


def value_line(value: ArchivedFact | ArchivedIdentity) -> str:
    """The line of a fact or an identity text, with its newline."""
    if isinstance(value, ArchivedFact):
        fields: Json = {"type": FACT, "owner": value.owner, "key": value.key, "value": value.value}
    else:
        fields = {"type": IDENTITY, "owner": value.owner, "text": value.text}
    fields["since"] = value.since.astimezone(UTC).isoformat()
    if value.until is not None:
        fields["until"] = value.until.astimezone(UTC).isoformat()
    if isinstance(value, ArchivedFact):
        fields["source_uid"] = value.source_uid
    return _line({name: one for name, one in fields.items() if one or name in ("key", "value", "text")})


def _line(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"


class JsonLinesWriter:
    """A `HistoryWriter` to an open text file."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def begin(self, about: Mapping[str, str]) -> None:
        """Write the header."""
        self._out.write(header_line((EPISODE, FACT, IDENTITY), **about))

    def episode(self, episode: Episode, indexed: bool, owner: str, use: Use | None = None) -> None:
        """Write the line of an episode."""
        self._out.write(episode_line(episode, indexed, owner, use))

    def value(self, value: ArchivedFact | ArchivedIdentity) -> None:
        """Write the line of a fact or an identity text."""
        self._out.write(value_line(value))


class JsonLinesHistory:
    """A `HistorySource` over JSON lines. `zone` is that of times without an offset.

    A record's key is `goat:<uid>`, or a digest of chat, speaker, time and text for a line without a uid. Its number is
    the number of its line.
    """

    format = "JSON lines"

    def __init__(self, file: HistoryFile, zone: tzinfo = UTC) -> None:
        self._file = file
        self._zone = zone

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return self._file.size

    def read(self, on_bad: Callable[[BadRecord], None] | None = None) -> Iterator[HistoryRecord]:
        """As the port says. Raises `HistoryError` for a header of another version in any case."""
        reading = Reading(self._file.path, on_bad)
        for kind, fields in self._objects(reading):
            if kind == EPISODE:
                try:
                    record = self._record(fields, reading)
                except BadValue as fault:
                    reading.bad(f"line {reading.number}: {fault}")
                else:
                    yield record

    def values(self, on_bad: Callable[[BadRecord], None] | None, /) -> Iterator[ArchivedFact | ArchivedIdentity]:
        """The lines of the types `fact` and `identity`. A line that cannot be read at all is told by `read` only."""
        reading = Reading(self._file.path, lambda _: None)
        for kind, fields in self._objects(reading):
            if kind in _VALUES:
                try:
                    value = _VALUES[kind](fields, self._zone)
                except BadValue as fault:
                    told = Reading(self._file.path, on_bad)
                    told.number, told.position = reading.number, reading.position
                    told.bad(f"line {reading.number}: {fault}")
                else:
                    yield value

    def _objects(self, reading: Reading) -> Iterator[tuple[str, Json]]:
        """The objects of the lines with their types, headers left out."""
        types = frozenset((EPISODE,))
        with self._file.open() as raw:
            for line in self._lines(raw, reading):
                try:
                    fields = _parsed(line)
                    is_header = "format" in fields and "text" not in fields
                    types = self._header(fields) if is_header else types
                    kind = "" if is_header else _type_of(fields, types)
                except BadValue as fault:
                    reading.bad(f"line {reading.number}: {fault}")
                    continue
                if kind:
                    yield kind, fields

    def _lines(self, raw: IO[bytes], reading: Reading) -> Iterator[bytes]:
        """The lines that are not blank. One beyond the limit is reported, and passed over without being held."""
        limit = self._file.limits.record_bytes
        while line := self._read(raw, limit + 1, reading):
            reading.next()
            if len(line) > limit:
                reading.bad(f"line {reading.number}: it is longer than {in_bytes(limit)}")
                while line and not line.endswith(b"\n"):
                    line = self._read(raw, CHUNK, reading)
            elif line.strip():
                yield line

    def _read(self, raw: IO[bytes], limit: int, reading: Reading) -> bytes:
        try:
            line = raw.readline(limit)
        except OSError as problem:
            raise unreadable(self._file.path, problem) from problem
        first = reading.position == 0
        reading.position += len(line)
        return line.removeprefix(codecs.BOM_UTF8) if first else line

    def _header(self, fields: Json) -> frozenset[str]:
        """The types of line that the file holds."""
        version = fields.get("version")
        if fields["format"] != FORMAT or not isinstance(version, int):
            problem = f"its header names the format {shortened(fields['format'])}, version {shortened(version)}"
            raise HistoryError(self._file.path, None, problem, f"The header of JSON lines is {header_line().strip()}")
        if version > VERSION:
            raise HistoryError(
                self._file.path, None, f"a newer GOAT wrote it (version {version})", "Update GOAT first."
            )
        types = fields.get("types")
        return frozenset(name for name in types if isinstance(name, str)) if types else frozenset((EPISODE,))

    def _record(self, fields: Json, reading: Reading) -> HistoryRecord:
        text, speaker = _string(fields, "text"), text_of(fields.get("speaker"))
        chat = text_of(fields.get("chat", "history"))
        moment = _moment(fields.get("at"), self._zone)
        role, uid = _role(fields), text_of(fields.get("uid"))
        archived = _archived(fields, uid, role, self._zone) if uid and role is not None else None
        return HistoryRecord(
            source="goat",
            key=f"goat:{uid or _digest(chat, speaker, moment.isoformat(), text)}",
            chat=chat,
            chat_title=text_of(fields.get("chat_title")),
            sender_id=text_of(fields.get("sender_id")) or speaker,
            sender_name=speaker,
            text=text,
            at=moment,
            number=reading.number,
            position=reading.position,
            reply_to=text_of(fields.get("reply_to")) or None,
            edited=fields.get("edited") is True,
            role=role or Role.USER,
            own=_own(role, speaker if archived is None else ""),
            archived=archived,
        )


def _parsed(line: bytes) -> Json:
    try:
        return as_object(json.loads(line.decode("utf-8")), "it")
    except BadValue:
        raise
    except (ValueError, RecursionError) as problem:
        raise BadValue(f"it is not JSON ({problem})") from problem


def _type_of(fields: Json, types: frozenset[str]) -> str:
    name = fields.get("type", EPISODE)
    if isinstance(name, str) and name in types:
        return name
    raise BadValue(f"its type {shortened(name)} is none of {', '.join(sorted(types))}")


def _role(fields: Json) -> Role | None:
    name = fields.get("role")
    if name is None:
        return None
    try:
        return Role(name)
    except ValueError:
        raise BadValue(f"its role {shortened(name)} is none of {', '.join(Role)}") from None


def _own(role: Role | None, speaker: str) -> bool | None:
    """A user's line with a speaker does not say whether that speaker is the owner."""
    if role is None or (role is Role.USER and speaker):
        return None
    return role is Role.USER


def _archived(fields: Json, uid: str, role: Role, zone: tzinfo) -> ArchivedEpisode:
    tags, meta = fields.get("tags", []), fields.get("meta", {})
    if not isinstance(tags, list) or not isinstance(meta, dict):
        raise BadValue("its tags are no list, or its meta is no object")
    return ArchivedEpisode(
        uid=uid,
        role=role,
        exchange_id=text_of(fields.get("exchange_id")),
        topic_id=text_of(fields.get("topic_id")),
        tags=tuple(text_of(tag) for tag in tags),
        source=text_of(fields.get("source")) or "terminal",
        key=text_of(fields.get("key")) or None,
        meta={name: text_of(value) for name, value in meta.items()},
        owner=text_of(fields.get("owner")),
        indexed=fields.get("indexed") is not False,
        use=_use(fields, zone),
    )


def _use(fields: Json, zone: tzinfo) -> Use | None:
    count = whole_number(fields.get("uses", 0))
    if count is None or count < 0:
        raise BadValue(f"its uses are {shortened(fields['uses'])}")
    return Use(count, _moment(fields.get("last_used"), zone)) if count else None


def _fact(fields: Json, zone: tzinfo) -> ArchivedFact:
    key = _string(fields, "key")
    if not key:
        raise BadValue("its key is empty")
    return ArchivedFact(
        key=key,
        value=_string(fields, "value"),
        since=_moment(fields.get("since"), zone),
        until=_end(fields, zone),
        source_uid=text_of(fields.get("source_uid")),
        owner=text_of(fields.get("owner")),
    )


def _identity(fields: Json, zone: tzinfo) -> ArchivedIdentity:
    since = _moment(fields.get("since"), zone)
    return ArchivedIdentity(_string(fields, "text"), since, _end(fields, zone), text_of(fields.get("owner")))


_VALUES: Final[Mapping[str, Callable[[Json, tzinfo], ArchivedFact | ArchivedIdentity]]] = {
    FACT: _fact,
    IDENTITY: _identity,
}


def _string(fields: Json, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise BadValue(f"its {name} is {shortened(value)}")
    return clean(value)


def _moment(value: object, zone: tzinfo) -> datetime:
    return iso_moment(value, zone) if isinstance(value, str) else unix_moment(value)


def _end(fields: Json, zone: tzinfo) -> datetime | None:
    return None if fields.get("until") is None else _moment(fields["until"], zone)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
