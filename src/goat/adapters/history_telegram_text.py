"""What a message of a Telegram export says in plain text: its words, its media, its event."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

from goat.adapters.history_values import Json, clean, duration, text_of, whole_number

_MEDIA_TYPES: Final = {
    "sticker": "sticker",
    "video_message": "video message",
    "voice_message": "voice message",
    "animation": "animation",
    "video_file": "video",
    "audio_file": "audio",
}
_DURATIONS: Final = ("duration_seconds", "duration", "period")
_SERVICE_DETAILS: Final = (
    "title",
    "new_title",
    "information_text",
    "discard_reason",
    "score",
    "emoticon",
    "reason_domain",
    "reason_app_name",
    "cost",
    "amount",
    "currency",
    "to",
    "distance",
    "text",
)


def words(item: Json) -> str:
    """The message's text. It is written as a string or as a list of strings and entities; a link under other words
    follows them in parentheses."""
    text = item.get("text")
    if text is None:
        text = item.get("text_entities")
    if not isinstance(text, list):
        return text_of(text)
    return "".join(_part(part) for part in text)


def _part(part: object) -> str:
    if not isinstance(part, dict):
        return text_of(part)
    text, link = text_of(part.get("text")), text_of(part.get("href"))
    return f"{text} ({link})" if part.get("type") == "text_link" and link and link != text else text


def media_line(item: Json) -> str:
    """The line that stands for what the message carries beside its words, such as `[voice message 0:12]`; empty when it
    carries nothing."""
    if item.get("media_type") or "file" in item:
        return _bracketed(*_file(item))
    for field, describe in _CARRIED.items():
        if field in item:
            return _bracketed(*describe(item))
    return ""


def service_line(item: Json) -> str:
    """An event of the chat as a line, such as `[invite members: Ana, Dan]`."""
    action = text_of(item.get("action")).replace("_", " ") or "service message"
    details = [_detail(item[name]) for name in _SERVICE_DETAILS if name in item]
    members = item.get("members")
    if isinstance(members, list):
        details.append(", ".join(text_of(member) or "Deleted Account" for member in members))
    length = next((duration(item[name]) for name in _DURATIONS if name in item), "")
    listed = ", ".join(detail for detail in details if detail)
    named = f"{action} {length}" if length else action
    return f"[{named}: {listed}]" if listed else f"[{named}]"


def _detail(value: object) -> str:
    number = whole_number(value) if not isinstance(value, str) else None
    return text_of(value) if number is None else str(number)


def _bracketed(kind: str, *details: str) -> str:
    listed = ", ".join(" ".join(detail.split()) for detail in details if detail.strip())
    return clean(f"[{kind}: {listed}]" if listed else f"[{kind}]")


def _file(item: Json) -> tuple[str, ...]:
    kind = _MEDIA_TYPES.get(text_of(item.get("media_type")), text_of(item.get("media_type")).replace("_", " "))
    length = next((duration(item[name]) for name in _DURATIONS if name in item), "")
    if kind == "sticker":
        emoji = text_of(item.get("sticker_emoji"))
        return (f"sticker {emoji}".strip(),)
    if kind == "audio":
        title = " - ".join(filter(None, (text_of(item.get("performer")), text_of(item.get("title")))))
        return (f"audio {length}".strip(), title)
    if kind:
        return (f"{kind} {length}".strip(),)
    return ("file", _file_name(item))


def _file_name(item: Json) -> str:
    """The name that the sender gave the file; a note of the exporter in parentheses is none."""
    name = text_of(item.get("file_name"))
    if not name:
        path = text_of(item.get("file"))
        name = "" if path.startswith("(") else PurePosixPath(PureWindowsPath(path).as_posix()).name
    return name


def _contact(item: Json) -> tuple[str, ...]:
    contact = item.get("contact_information")
    if not isinstance(contact, dict):
        return ("contact",)
    name = f"{text_of(contact.get('first_name'))} {text_of(contact.get('last_name'))}".strip()
    return ("contact", name, text_of(contact.get("phone_number")))


def _place(item: Json) -> tuple[str, ...]:
    point = item.get("location_information")
    where = f"{point.get('latitude')} {point.get('longitude')}" if isinstance(point, dict) else ""
    kind = "live location" if "live_location_period_seconds" in item else "location"
    return (kind, text_of(item.get("place_name")), text_of(item.get("address")), where)


def _poll(item: Json) -> tuple[str, ...]:
    poll = item.get("poll")
    if not isinstance(poll, dict):
        return ("poll",)
    answers = poll.get("answers")
    choices = [text_of(answer.get("text")) for answer in answers if isinstance(answer, dict)] if answers else []
    return ("poll", _plain(poll.get("question")), " | ".join(choices))


def _plain(value: object) -> str:
    return words({"text": value})


def _titled(kind: str, field: str) -> Callable[[Json], tuple[str, ...]]:
    def describe(item: Json) -> tuple[str, ...]:
        inner = item.get(field)
        return (kind, text_of(inner.get("title")) if isinstance(inner, dict) else text_of(inner))

    return describe


def _dice(item: Json) -> tuple[str, ...]:
    dice = item.get("dice")
    if not isinstance(dice, dict):
        return ("dice",)
    return (f"dice {text_of(dice.get('emoji'))} {_detail(dice.get('value'))}".strip(),)


_CARRIED: Final[dict[str, Callable[[Json], tuple[str, ...]]]] = {
    "photo": lambda _: ("photo",),
    "contact_information": _contact,
    "place_name": _place,
    "location_information": _place,
    "poll": _poll,
    "dice": _dice,
    "game_title": _titled("game", "game_title"),
    "invoice_information": _titled("invoice", "invoice_information"),
    "todo_list": _titled("checklist", "todo_list"),
    "giveaway_information": lambda _: ("giveaway",),
    "giveaway_results": lambda _: ("giveaway results",),
    "paid_stars_amount": lambda _: ("paid media",),
}
"""What a message may carry, by the field that shows it; the first that is there counts."""
