from __future__ import annotations

from typing import Any

import pytest

from goat.adapters.history_telegram_text import media_line, service_line, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        (["see ", {"type": "bold", "text": "this"}, "!"], "see this!"),
        ([{"type": "text_link", "text": "here", "href": "https://a.b/x_y"}], "here (https://a.b/x_y)"),
        ([{"type": "text_link", "text": "https://a.b", "href": "https://a.b"}], "https://a.b"),
        ([{"type": "pre", "text": "a = 1\n", "language": "python"}], "a = 1\n"),
        ([{"type": "custom_emoji", "text": "🐐", "document_id": "1"}, 5, None], "🐐"),
        (5, ""),
        ("\ud83d\x00", "\ufffd\ufffd"),
    ],
)
def test_words_come_out_as_they_were_read_on_screen(text: Any, expected: str) -> None:
    assert words({"text": text}) == expected


def test_a_schema_with_entities_only_is_read() -> None:
    assert words({"text_entities": [{"type": "plain", "text": "a "}, {"type": "bold", "text": "b"}]}) == "a b"


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"photo": "(File not included.)"}, "[photo]"),
        ({"file": "v.ogg", "media_type": "voice_message", "duration_seconds": 12}, "[voice message 0:12]"),
        ({"file": "v.mp4", "media_type": "video_message", "duration_seconds": "61"}, "[video message 1:01]"),
        ({"file": "v.mp4", "media_type": "video_file", "duration_seconds": 3723}, "[video 1:02:03]"),
        ({"file": "a.mp4", "media_type": "animation"}, "[animation]"),
        ({"file": "s.webp", "media_type": "sticker", "sticker_emoji": "🐐"}, "[sticker 🐐]"),
        (
            {"file": "a.mp3", "media_type": "audio_file", "performer": "Maria", "title": "Doina"},
            "[audio: Maria - Doina]",
        ),
        ({"file": "files/bilanț 1.pdf", "mime_type": "application/pdf"}, "[file: bilanț 1.pdf]"),
        ({"file": "files\\x.pdf", "file_name": "real.pdf"}, "[file: real.pdf]"),
        ({"file": "(File exceeds maximum size.)"}, "[file]"),
        ({"location_information": {"latitude": 44.4, "longitude": 26.1}}, "[location: 44.4 26.1]"),
        ({"location_information": None, "place_name": "Cinema"}, "[location: Cinema]"),
        ({"contact_information": {"first_name": "Zoë", "phone_number": "+40 7"}}, "[contact: Zoë, +40 7]"),
        (
            {"poll": {"question": "When?", "answers": [{"text": "Now"}, {"text": "Later"}]}},
            "[poll: When?, Now | Later]",
        ),
        ({"poll": {"question": [{"type": "plain", "text": "When?"}], "answers": None}}, "[poll: When?]"),
        ({"dice": {"emoji": "🎲", "value": 4}}, "[dice 🎲 4]"),
        ({"game_title": "Chess"}, "[game: Chess]"),
        ({"invoice_information": {"title": "Tea"}}, "[invoice: Tea]"),
        ({"something_of_next_year": {}}, ""),
    ],
)
def test_what_a_message_carries_is_one_line(fields: dict[str, Any], line: str) -> None:
    assert media_line(fields) == line


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"action": "phone_call", "duration_seconds": 62, "discard_reason": "hangup"}, "[phone call 1:02: hangup]"),
        ({"action": "invite_members", "members": ["Dan", None]}, "[invite members: Dan, Deleted Account]"),
        ({"action": "edit_group_title", "title": "Trip"}, "[edit group title: Trip]"),
        ({"action": "score_in_game", "score": 12}, "[score in game: 12]"),
        ({"information_text": "joined by magic"}, "[service message: joined by magic]"),
        ({}, "[service message]"),
    ],
)
def test_an_event_is_one_line(fields: dict[str, Any], line: str) -> None:
    assert service_line(fields) == line
