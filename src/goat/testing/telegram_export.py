"""Makes a Telegram Desktop export of any size with everything that real ones hold, the same for the same seed.

From a shell: `python -m goat.testing.telegram_export result.json --messages 20000 --seed 7 --archive`
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias

Json: TypeAlias = dict[str, Any]

ME: Final = 700_100
"""The user id of the exporting person."""

PLANT_EVERY: Final = 500
"""Each message with this many before it holds a fact that stands nowhere else."""

_START: Final = 1_460_000_000
_TOPICS: Final = ("Garden", "Trips", "מתכונים")
_PEOPLE: Final = {ME: "Dana Ionescu", 700_101: "Ana Pop", 700_102: "علي حسن", 700_103: "Zoë 🐐", 700_104: None}
_WORDS: Final = (
    "the we you maybe tomorrow train kitchen garden doctor birthday ticket money rain coffee hotel passport school "
    "mâine poate copiii bunica mașina țară știi întâlnire pâine vacanță când unde munte "
    "завтра может поезд кухня врач погода деньги "
    "שלום מחר אולי רכבת مرحبا غدا ربما القطار 明日 電車 台所 "
    "👍 🎉 👨‍👩‍👧‍👦 ❤️ 🐐"
)


@dataclass(frozen=True, slots=True)
class Planted:
    """A fact that one message holds: its words, the word to ask with, and the message's key on import."""

    text: str
    ask: str
    key: str


@dataclass(frozen=True, slots=True)
class ExportFacts:
    """What was written. `records` are the messages that an import takes in; the rest say nothing (`unsupported`)."""

    messages: int
    records: int
    chats: int
    oddities: Mapping[str, int]
    planted: tuple[Planted, ...]


@dataclass(frozen=True, slots=True)
class _Chat:
    id: int
    type: str
    name: str | None
    senders: tuple[int, ...]
    topics: tuple[str, ...] = ()

    @property
    def peer(self) -> str:
        return f"{'channel' if self.type.endswith('supergroup') else 'user'}{self.id}"


_PERSONAL: Final = _Chat(700_101, "personal_chat", "Ana Pop", (ME, 700_101))
_CHATS: Final = (
    _PERSONAL,
    _Chat(1_500_900, "private_supergroup", "Family 🏡", tuple(_PEOPLE), _TOPICS),
    _Chat(700_104, "personal_chat", None, (ME, 700_104)),
    _Chat(ME, "saved_messages", None, (ME,)),
)


class _Maker:
    """Writes messages; `odd` counts what they hold."""

    def __init__(self, seed: int, old_schema: bool) -> None:
        self.random = random.Random(seed)
        self._words = _WORDS.split()
        self.odd: Counter[str] = Counter()
        self.planted: list[Planted] = []
        self.written = 0
        self._old = old_schema
        self._time = _START

    def messages(self, chat: _Chat, count: int) -> Iterator[Json]:
        """`count` messages of one chat, oldest first."""
        roots: list[int] = []
        for place in range(count):
            number = place * 2 + 1  # real ids have gaps
            self._time += self.random.randrange(2, 5000)
            self.written += 1
            if place < len(chat.topics):
                roots.append(number)
                yield self._service(chat, number, {"action": "topic_created", "title": chat.topics[place]})
            elif self.written % PLANT_EVERY == 0:
                yield self._planted(chat, number)
            else:
                yield self._any(chat, number, roots)

    def _any(self, chat: _Chat, number: int, roots: list[int]) -> Json:
        name, make = self.random.choices(_KINDS, cum_weights=_CUMULATED)[0]
        self.odd[name] += 1
        if name == "unsupported":
            return {"id": number, "type": "unsupported"}
        if name == "service":
            return self._service(chat, number, dict(self.random.choice(_EVENTS)))
        message = self._message(chat, number, self.text())
        make(self, message)
        if self.random.random() < 0.2 and number > 20:
            self.odd["reply"] += 1
            message["reply_to_message_id"] = number - 2 * self.random.randrange(1, 9)
        elif roots and self.random.random() < 0.6:
            self.odd["topic"] += 1
            message["reply_to_message_id"] = self.random.choice(roots)
        return message

    def _planted(self, chat: _Chat, number: int) -> Json:
        ask = f"locker {self.random.randrange(10**9, 10**10):x}"
        text = f"The code of {ask} is {self.random.randrange(1000, 10000)}."
        self.planted.append(Planted(text, ask, f"telegram:{chat.peer}/{number}"))
        return self._message(chat, number, text)

    def text(self) -> str:
        """A few words of several scripts."""
        return " ".join(self.random.choices(self._words, k=self.random.randrange(2, 22)))

    def _stamp(self, field: str, seconds: int) -> Json:
        stamp = {field: datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")}
        return stamp if self._old else {**stamp, f"{field}_unixtime": str(seconds)}

    def _from(self, chat: _Chat, role: str) -> Json:
        sender = self.random.choice(chat.senders)
        if _PEOPLE[sender] is None:
            self.odd["deleted account"] += 1
        return {role: _PEOPLE[sender], f"{role}_id": sender if self._old else f"user{sender}"}

    def _message(self, chat: _Chat, number: int, text: str) -> Json:
        message: Json = {"id": number, "type": "message", **self._stamp("date", self._time)}
        if self._old:
            message["edited"] = "1970-01-01T02:00:00"
        return {**message, **self._from(chat, "from"), "text": text}

    def _service(self, chat: _Chat, number: int, event: Json) -> Json:
        head = {"id": number, "type": "service", **self._stamp("date", self._time), **self._from(chat, "actor")}
        return {**head, **event, "text": ""}

    def entities(self, message: Json) -> None:
        """Words in several pieces, some of them marked."""
        message["text"] = [
            self.text() + " ",
            {"type": "bold", "text": "very"},
            " ",
            {"type": "text_link", "text": "here", "href": "https://example.org/a_b"},
            " ",
            {"type": "mention", "text": "@dana"},
        ]

    def edited(self, message: Json) -> None:
        """A change of a minute later."""
        message.update(self._stamp("edited", self._time + 60))

    def forwarded(self, message: Json) -> None:
        """Somebody else's words, whose account may be gone."""
        message["forwarded_from"] = self.random.choice(["News of the day", None])

    def captioned(self, message: Json) -> None:
        """A photo with words."""
        message["photo"] = "photos/photo_1@01-01-2020_10-00-00.jpg"

    def wordless(self, message: Json) -> None:
        """Media without words."""
        message.update(self.random.choice(_MEDIA))
        message["text"] = ""

    def long(self, message: Json) -> None:
        """As much as a message may hold, in UTF-16 units."""
        message["text"] = ("👍" + self.text() + "\n") * 400
        message["text"] = message["text"].encode("utf-16-le")[: 2 * 4096].decode("utf-16-le", "ignore")

    def control(self, message: Json) -> None:
        """A control character, which the exporter escapes in a way that JSON does not know."""
        message["text"] = f"first\x0bsecond \\x41 {self.text()}"

    def plain(self, message: Json) -> None:
        """Nothing special."""

    def unsaid(self, message: Json) -> None:
        """Made elsewhere."""


_KINDS: Final[tuple[tuple[str, Callable[[_Maker, Json], None]], ...]] = (
    ("plain", _Maker.plain),
    ("entities", _Maker.entities),
    ("media", _Maker.wordless),
    ("caption", _Maker.captioned),
    ("edited", _Maker.edited),
    ("forwarded", _Maker.forwarded),
    ("service", _Maker.unsaid),
    ("long", _Maker.long),
    ("control character", _Maker.control),
    ("unsupported", _Maker.unsaid),
)
_CUMULATED: Final = tuple(accumulate((1000, 120, 120, 40, 40, 30, 30, 2, 4, 4)))

_EVENTS: Final[tuple[Json, ...]] = (
    {"action": "invite_members", "members": ["Ana Pop", None]},
    {"action": "phone_call", "duration_seconds": 62, "discard_reason": "hangup"},
    {"action": "pin_message", "message_id": 1},
    {"action": "edit_group_title", "title": "Family 🏡"},
    {"information_text": "a bot's own event"},
)
_ABSENT: Final = "(File not included. Change data exporting settings to download.)"
_MEDIA: Final[tuple[Json, ...]] = (
    {"photo": _ABSENT, "width": 1280, "height": 720},
    {"file": _ABSENT, "media_type": "voice_message", "mime_type": "audio/ogg", "duration_seconds": 12},
    {"file": "stickers/sticker.webp", "media_type": "sticker", "sticker_emoji": "🐐"},
    {"file": "video_files/v.mp4", "media_type": "video_file", "duration_seconds": 3723},
    {"file": "files/bilanț 2020.pdf", "mime_type": "application/pdf"},
    {
        "location_information": {"latitude": 44.43, "longitude": 26.1},
        "place_name": "Cinema",
        "address": "Strada Mare 1",
    },
    {"contact_information": {"first_name": "Zoë", "last_name": "", "phone_number": "+40 700 000 000"}},
    {
        "poll": {
            "question": "When?",
            "closed": False,
            "total_voters": 2,
            "answers": [{"text": "Now"}, {"text": "Later"}],
        }
    },
)


def write_telegram_export(
    path: Path, messages: int, *, seed: int = 0, archive: bool = False, old_schema: bool = False
) -> ExportFacts:
    """Write an export with this many messages to `path`: one personal chat, or with `archive` four chats of four kinds.

    `old_schema` leaves out what exports before 2021 did not have: `date_unixtime`, and kinds of sender ids.
    """
    maker = _Maker(seed, old_schema)
    with path.open("w", encoding="utf-8") as out:
        if archive:
            _write_archive(out, maker, messages)
        else:
            _write_chat(out, maker, _PERSONAL, messages)
    chats = len(_CHATS) if archive else 1
    records = messages - maker.odd["unsupported"]
    return ExportFacts(messages, records, chats, dict(maker.odd), tuple(maker.planted))


def _write_archive(out: TextIO, maker: _Maker, messages: int) -> None:
    person = json.dumps(
        {"user_id": ME, "first_name": "Dana", "last_name": "Ionescu", "phone_number": "+40 700 000 001"}
    )
    out.write(f'{{\n "about": "Here is the data you requested.",\n "personal_information": {person},\n')
    out.write(' "chats": {\n  "about": "This page lists all chats.",\n  "list": [\n')
    shares = (messages - 3 * (messages // 4), *(messages // 4 for _ in _CHATS[1:]))
    for place, (chat, share) in enumerate(zip(_CHATS, shares, strict=True)):
        out.write(",\n" if place else "")
        _write_chat(out, maker, chat, share)
    out.write("\n  ]\n }\n}\n")


def _write_chat(out: TextIO, maker: _Maker, chat: _Chat, messages: int) -> None:
    head: Json = {"name": chat.name, "type": chat.type, "id": chat.id}
    if chat.type == "saved_messages":
        del head["name"]
    out.write(json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}") + ',\n "messages": [')
    for place, message in enumerate(maker.messages(chat, messages)):
        out.write(",\n" if place else "\n")
        out.write(json.dumps(message, ensure_ascii=False, indent=1).replace("\\u000b", "\\x0B"))
    out.write("\n ]\n}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="goat.testing.telegram_export", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--archive", action="store_true")
    parser.add_argument("--old-schema", action="store_true")
    args = parser.parse_args()
    facts = write_telegram_export(
        args.path, args.messages, seed=args.seed, archive=args.archive, old_schema=args.old_schema
    )
    sys.stdout.write(f"{facts.messages} messages in {facts.chats} chats, {facts.records} records: {facts.oddities}\n")


if __name__ == "__main__":
    main()
