"""What Telegram makes of a text that a bot sends: cleaned, trimmed, measured, with its entities in order."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from goat.testing.bot_api.entities import SHOWN, TextEntity, in_order, settled, units, with_detected
from goat.testing.bot_api.errors import bad_request

TEXT: Final = 4096
"""UTF-16 units of a message."""

CAPTION: Final = 1024
"""UTF-16 units of a caption."""

_REMOVED: Final = re.compile("[\r\u2028-\u202e\u030a\u0333\u033f]")
_BLANKED: Final = re.compile("[\x00-\x09\x0b\x0c\x0e-\x1f]")
_REPEATED_MARK: Final = re.compile("[\u200e\u200f](?=[\u200e\u200f])")
_INVISIBLE: Final = re.compile(
    "[ \n\u00a0\u1680\u180e\u2000-\u200f\u202e\u202f\u205f\u2800\u3000\ufeff\ufffc\U000e0000-\U000e007f]*"
)


@dataclass(frozen=True, slots=True)
class FormattedText:
    """A text as it is shown: entities settled, at most as many as Telegram shows."""

    text: str = ""
    entities: tuple[TextEntity, ...] = ()


NOTHING: Final = FormattedText()


def message_text(text: str, entities: list[TextEntity], too_long: str = "message is too long") -> FormattedText:
    """The text of a message. Raises `ApiError` when it is empty, too long or wrongly formatted."""
    if not text:
        raise bad_request("message text is empty")
    shown = formatted(text, entities)
    if _INVISIBLE.fullmatch(shown.text):
        raise bad_request("text must be non-empty")
    if units(shown.text) > TEXT:
        raise bad_request(too_long)
    return shown


def caption_text(text: str, entities: list[TextEntity]) -> FormattedText:
    """The text below a picture or file, which may be empty."""
    shown = formatted(text, entities)
    if units(shown.text) > CAPTION:
        raise bad_request("message caption is too long")
    return shown


def formatted(text: str, entities: list[TextEntity]) -> FormattedText:
    """The text and its entities after Telegram's cleaning, whatever the length."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise bad_request("strings must be encoded in UTF-8")
    cleaned, moved = _cleaned(text, [one for one in in_order(entities) if one.length > 0])
    trimmed, kept = _trimmed(cleaned, settled(moved))
    return FormattedText(trimmed, tuple(with_detected(trimmed, kept)[:SHOWN]))


def _cleaned(text: str, entities: list[TextEntity]) -> tuple[str, list[TextEntity]]:
    """Control characters become blanks, some characters go; every entity must begin and end at a character."""
    result: list[str] = []
    new_offsets: dict[int, int] = {}
    old = new = 0
    for character in text:
        new_offsets[old] = new
        old += units(character)
        if not _REMOVED.match(character):
            result.append(" " if _BLANKED.match(character) else character)
            new += units(character)
    new_offsets[old] = new
    moved = []
    for one in entities:
        _check_range(text, one, new_offsets, old)
        begin = new_offsets[one.offset]
        moved.append(replace(one, offset=begin, length=new_offsets[one.end] - begin))
    return _REPEATED_MARK.sub("\u200c", "".join(result)), moved


def _check_range(text: str, one: TextEntity, known: dict[int, int], end: int) -> None:
    if one.offset > end or (one.offset == end and one.length):
        raise bad_request(f"entity begins after the end of the text at UTF-16 offset {one.offset}")
    if one.offset not in known:
        where = _byte_offset(text, one.offset + 1)
        raise bad_request(f"entity begins in a middle of a UTF-16 symbol at byte offset {where}")
    beginning = f"entity beginning at UTF-16 offset {one.offset}"
    if one.end > end:
        raise bad_request(f"{beginning} ends after the end of the text at UTF-16 offset {one.end}")
    if one.end not in known:
        where = _byte_offset(text, one.end + 1)
        raise bad_request(f"{beginning} ends in a middle of a UTF-16 symbol at byte offset {where}")


def _byte_offset(text: str, offset: int) -> int:
    return len(text.encode("utf-16-le")[: 2 * offset].decode("utf-16-le").encode())


def _trimmed(text: str, entities: list[TextEntity]) -> tuple[str, list[TextEntity]]:
    """Blanks and line ends go from both ends of a message, at the front only as far as no entity covers them."""
    text = text.rstrip(" \n")
    end = units(text)
    kept = [replace(one, length=min(one.end, end) - one.offset) for one in entities if one.offset < end]
    covered = min((one.offset for one in kept), default=end)
    blank = min(len(text) - len(text.lstrip(" \n")), covered)
    return text[blank:], [replace(one, offset=one.offset - blank) for one in kept]
