"""Formatting of a message: which entities there are, how Telegram puts them in order, and what it finds by itself.

Offsets and lengths count UTF-16 code units. The order that Telegram keeps: quotes, links, code and mentions stand whole
and never overlap one another, except that a quote may hold the others; bold, italic, underline, strikethrough and
spoiler are cut where one of those begins or ends and where another of their own kind begins; code holds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from goat.testing.bot_api.errors import bad_request

SHOWN: Final = 100
"""Entities of one message after which Telegram shows plain text."""

STYLES: Final = ("bold", "italic", "underline", "strikethrough", "spoiler")
QUOTES: Final = ("blockquote", "expandable_blockquote")
CODE: Final = ("code", "pre")
LINKS: Final = ("text_link", "text_mention", "custom_emoji")
DETECTED: Final = ("url", "email", "mention", "hashtag", "bot_command")

_KNOWN: Final = {*STYLES, *QUOTES, *CODE, *LINKS, *DETECTED, "cashtag", "phone_number"}
_RANK: Final = {name: rank for rank, name in enumerate([*QUOTES, "pre", "code", *LINKS, *DETECTED, *STYLES])}
_FINDS: Final = re.compile(
    r"(?P<url>https?://[^\s<>\"]*[^\s<>\".,;:!?)\]'*_]"
    r"|(?<![\w@/.-])(?:[\w-]+\.)+(?:com|org|net|io|dev|ai|ro|de|py|sh|md|rs|pl|zip|mov|so|cc|tf)\b(?:/[^\s<>\"]*[\w/])?)"
    r"|(?P<email>(?<![\w.])[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<mention>(?<![\w@/])@[A-Za-z]\w{3,31}\b)"
    r"|(?P<hashtag>(?<![\w#])\#\w*[^\W\d]\w*)"
    r"|(?P<bot_command>(?<![\w/@<>])/[A-Za-z0-9_]{1,32}(?:@[A-Za-z]\w{3,31})?(?![\w/]))"
)


@dataclass(frozen=True, slots=True)
class TextEntity:
    """One range of a text and what it is."""

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None
    user: int | None = None

    @property
    def end(self) -> int:
        """The first unit behind it."""
        return self.offset + self.length

    def as_json(self) -> dict[str, Any]:
        """As the Bot API writes it, a mentioned user with the id alone."""
        body: dict[str, Any] = {"type": self.type, "offset": self.offset, "length": self.length}
        if self.url is not None:
            body["url"] = self.url
        if self.language:
            body["language"] = self.language
        if self.user is not None:
            body["user"] = {"id": self.user, "is_bot": False, "first_name": str(self.user)}
        return body


def read_entities(raw: object) -> list[TextEntity]:
    """The entities of a call's parameter. Raises `ApiError` where Telegram refuses them."""
    if not isinstance(raw, list) or not all(isinstance(one, dict) for one in raw):
        raise bad_request("can't parse entities JSON object")
    return [_read(one) for one in raw]


def _read(raw: dict[str, Any]) -> TextEntity:
    kind, offset, length = raw.get("type"), raw.get("offset"), raw.get("length")
    if kind not in _KNOWN:
        raise bad_request("can't parse MessageEntity: Unsupported type specified")
    for name, number in (("offset", offset), ("length", length)):
        if not isinstance(number, int):
            raise bad_request(f"can't parse MessageEntity: Can't find field \"{name}\"")
        if not 0 <= number <= 1_000_000:
            raise bad_request(f"receive an entity with incorrect {name} {number}")
    assert isinstance(kind, str)
    assert isinstance(offset, int)
    assert isinstance(length, int)
    url = raw.get("url")
    if kind == "text_link":
        check_link(url)
    mentioned = raw["user"]["id"] if kind == "text_mention" else None
    return TextEntity(kind, offset, length, url, raw.get("language") or None, mentioned)


def check_link(url: object) -> None:
    """Refuse an address that Telegram would not link to."""
    if not isinstance(url, str) or not url:
        raise bad_request("can't parse MessageEntity: Can't find field \"url\"")
    if re.match(r"(tg|ton)://\S", url, re.IGNORECASE):
        return
    host = re.match(r"(?:https?://)?(?:[^\s/?#@]*@)?(\[[0-9a-f:.]+\]|[^\s/?#:\[\]]+)(?::\d+)?(?=[/?#]|$)", url, re.I)
    reachable = host is not None and ("." in host[1].strip(".") or host[1].startswith("["))
    if not reachable or re.search(r"\s", url):
        raise bad_request(f"entity URL '{url}' is invalid: Wrong HTTP URL")


def in_order(entities: Iterable[TextEntity]) -> list[TextEntity]:
    """By offset; of those that begin together the longer first."""
    return sorted(entities, key=lambda one: (one.offset, -one.length, _RANK.get(one.type, len(_RANK))))


def settled(entities: Iterable[TextEntity]) -> list[TextEntity]:
    """The entities as Telegram keeps them; what contradicts an earlier one is gone."""
    given = in_order(one for one in entities if one.length > 0)
    quotes = _apart(one for one in given if one.type in QUOTES)
    whole = _apart(one for one in given if one.type not in QUOTES and one.type not in STYLES)
    whole = [one for one in whole if all(_beside_or_inside(one, quote) for quote in quotes)]
    frames = [*quotes, *whole]
    return in_order([*frames, *_styles((one for one in given if one.type in STYLES), frames)])


def _apart(entities: Iterable[TextEntity]) -> list[TextEntity]:
    kept: list[TextEntity] = []
    for one in entities:
        if not kept or one.offset >= kept[-1].end:
            kept.append(one)
    return kept


def _beside_or_inside(one: TextEntity, quote: TextEntity) -> bool:
    beside = one.end <= quote.offset or one.offset >= quote.end
    return beside or (quote.offset <= one.offset and one.end <= quote.end)


def _styles(styles: Iterable[TextEntity], frames: list[TextEntity]) -> list[TextEntity]:
    """The styles, joined where they touch, cut at the edges of the frames and at each other's beginnings."""
    joined: dict[str, list[TextEntity]] = {}
    for one in styles:
        runs = joined.setdefault(one.type, [])
        if runs and one.offset <= runs[-1].end:
            runs[-1] = replace(runs[-1], length=max(runs[-1].end, one.end) - runs[-1].offset)
        else:
            runs.append(TextEntity(one.type, one.offset, one.length))
    edges = {edge for frame in frames for edge in (frame.offset, frame.end)}
    pieces = [piece for runs in joined.values() for run in runs for piece in _cut(run, edges)]
    code = [frame for frame in frames if frame.type in CODE]
    pieces = [piece for piece in pieces if not any(frame.offset <= piece.offset < frame.end for frame in code)]
    beginnings = {piece.offset for piece in pieces}
    return [part for piece in pieces for part in _cut(piece, beginnings)]


def _cut(one: TextEntity, edges: set[int]) -> Iterator[TextEntity]:
    inner = sorted(edge for edge in edges if one.offset < edge < one.end)
    for begin, end in zip([one.offset, *inner], [*inner, one.end], strict=True):
        yield TextEntity(one.type, begin, end - begin)


def with_detected(text: str, entities: list[TextEntity]) -> list[TextEntity]:
    """The settled entities with those that Telegram finds by itself, where no link or code stands already."""
    taken = [one for one in entities if one.type not in STYLES and one.type not in QUOTES]
    found = [one for one in detected(text) if all(one.end <= old.offset or one.offset >= old.end for old in taken)]
    return settled([*entities, *found]) if found else entities


def detected(text: str) -> Iterator[TextEntity]:
    """Addresses, mentions, hashtags and commands, as far as tests need them (Telegram knows every domain there is)."""
    for found in _FINDS.finditer(text):
        kind = found.lastgroup
        assert kind is not None
        yield TextEntity(kind, units(text[: found.start()]), units(found[0]))


def units(text: str) -> int:
    """The length in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
