"""The fake Bot API treats texts and entities as Telegram does, and refuses them in its words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goat.testing.bot_api import ApiError, FormattedText, TextEntity, formatted, message_text
from goat.testing.bot_api.entities import check_link, read_entities, settled
from goat.testing.bot_api.markup import parsed

Short = tuple[str, int, int]
unhurried = settings(deadline=None)


def shown(text: str, *entities: Short) -> tuple[str, list[Short]]:
    """What is left of a text and its entities."""
    result = formatted(text, [TextEntity(*one) for one in entities])
    return result.text, [(one.type, one.offset, one.length) for one in result.entities]


@pytest.mark.parametrize(
    ("entities", "kept"),
    [
        ([("italic", 0, 2), ("bold", 1, 2)], [("italic", 0, 1), ("bold", 1, 2), ("italic", 1, 1)]),
        ([("italic", 0, 1), ("italic", 1, 1)], [("italic", 0, 2)]),
        ([("bold", 0, 3), ("code", 1, 1)], [("bold", 0, 1), ("code", 1, 1), ("bold", 2, 1)]),
        ([("code", 0, 3), ("bold", 1, 1)], [("code", 0, 3)]),
        ([("blockquote", 0, 3), ("pre", 1, 1)], [("blockquote", 0, 3), ("pre", 1, 1)]),
        ([("pre", 0, 3), ("blockquote", 1, 1)], [("blockquote", 1, 1)]),
        ([("blockquote", 0, 3), ("blockquote", 1, 1)], [("blockquote", 0, 3)]),
        ([("text_link", 0, 2), ("text_link", 1, 2)], [("text_link", 0, 2)]),
        ([("underline", 0, 2), ("spoiler", 0, 1)], [("underline", 0, 2), ("spoiler", 0, 1)]),
        ([("bold", 0, 0)], []),
    ],
)
def test_entities_are_kept_whole_cut_or_dropped_as_telegram_does(entities: list[Short], kept: list[Short]) -> None:
    assert shown("abc", *entities) == ("abc", kept)


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        ("  aba\n ", "aba"),
        ("a\rb\tc\x00d", "ab c d"),
        ("a\u2028b\u202ec", "abc"),
        ("\u200f\u200fa", "\u200c\u200fa"),
    ],
)
def test_texts_are_cleaned_and_trimmed(sent: str, seen: str) -> None:
    assert shown(sent) == (seen, [])


def test_trimming_stops_at_an_entity_in_front_and_shortens_the_last_one() -> None:
    assert shown(" \n  a  ", ("pre", 2, 5)) == ("  a", [("pre", 0, 3)])


@pytest.mark.parametrize(
    ("entity", "problem"),
    [
        (("bold", 1, 1), "entity begins in a middle of a UTF-16 symbol at byte offset 4"),
        (("bold", 0, 1), "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 4"),
        (("bold", 3, 6), "entity beginning at UTF-16 offset 3 ends after the end of the text at UTF-16 offset 9"),
        (("bold", 9, 1), "entity begins after the end of the text at UTF-16 offset 9"),
    ],
)
def test_an_entity_outside_the_text_or_inside_a_character_is_refused(entity: Short, problem: str) -> None:
    with pytest.raises(ApiError) as refused:
        shown("👉 caba", entity)
    assert refused.value.description == f"Bad Request: {problem}"


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({"type": "glow", "offset": 0, "length": 1}, "can't parse MessageEntity: Unsupported type specified"),
        ({"type": "bold", "offset": -1, "length": 1}, "receive an entity with incorrect offset -1"),
        ({"type": "bold", "offset": 0, "length": -1}, "receive an entity with incorrect length -1"),
        ({"type": "bold", "offset": 0}, "can't parse MessageEntity: Can't find field \"length\""),
        ({"type": "text_link", "offset": 0, "length": 1}, "can't parse MessageEntity: Can't find field \"url\""),
        ("bold", "can't parse entities JSON object"),
    ],
)
def test_a_malformed_entity_is_refused(raw: Any, problem: str) -> None:
    with pytest.raises(ApiError) as refused:
        read_entities([raw])
    assert refused.value.description == f"Bad Request: {problem}"


@pytest.mark.parametrize("url", ["http://a.b", "a.b/c?d", "https://u@a.b:80/x", "http://[::1]/x", "tg://user?id=5"])
def test_addresses_with_a_real_host_can_be_linked(url: str) -> None:
    check_link(url)


@pytest.mark.parametrize("url", ["localhost", "http://localhost:8000/", "mailto:a", "x y.z", "http://", "docs/a"])
def test_addresses_without_a_real_host_are_refused(url: str) -> None:
    with pytest.raises(ApiError, match="Wrong HTTP URL"):
        check_link(url)


def test_only_a_hundred_entities_are_shown() -> None:
    spans = [("code", 2 * place, 1) for place in range(150)]
    assert len(shown("a " * 150, *spans)[1]) == 100


def test_telegram_marks_addresses_names_and_commands_by_itself_but_not_in_code() -> None:
    text = "README.md https://a.b/c_d. @someone a@b.ro #tag /start b.py"
    assert [(kind, text[at : at + size]) for kind, at, size in shown(text, ("code", 0, 9))[1]] == [
        ("code", "README.md"),
        ("url", "https://a.b/c_d"),
        ("mention", "@someone"),
        ("email", "a@b.ro"),
        ("hashtag", "#tag"),
        ("bot_command", "/start"),
        ("url", "b.py"),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "message text is empty"),
        (" \n", "text must be non-empty"),
        ("\u200b\u200d", "text must be non-empty"),
        ("x" * 4097, "message is too long"),
        ("👍" * 2049, "message is too long"),
    ],
)
def test_empty_and_long_texts_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ApiError) as refused:
        message_text(text, [])
    assert refused.value.description == f"Bad Request: {problem}"


@pytest.mark.parametrize("text", ["x" * 4096, "👍" * 2048, "x" * 4096 + "\n  "])
def test_a_text_of_exactly_4096_units_is_taken(text: str) -> None:
    assert message_text(text, []) == FormattedText(text.strip())


@pytest.mark.parametrize(
    ("mode", "source", "plain", "kinds"),
    [
        ("HTML", "<b>a <i>b</i></b> &lt;&#65;", "a b <A", ["italic", "bold"]),
        ("HTML", '<a href="http://a.b">x</a>', "x", ["text_link"]),
        ("MarkdownV2", "*a* _b_ __c__ ~d~ ||e|| `f` \\.", "a b c d e f .", None),
        ("MarkdownV2", "[x](http://a.b)", "x", ["text_link"]),
        ("Markdown", "*a* _b_ `c` [d](http://a.b) 1.", "a b c d 1.", ["bold", "italic", "code", "text_link"]),
        ("Markdown", "```\na_b\n```", "\na_b\n", ["pre"]),
    ],
)
def test_the_parse_modes_take_their_markup(mode: str, source: str, plain: str, kinds: list[str] | None) -> None:
    text, entities = parsed(source, mode)
    assert text == plain
    assert kinds is None or [one.type for one in entities] == kinds


@pytest.mark.parametrize(
    ("mode", "source", "problem"),
    [
        ("Markdown", "see snake_case", "Can't find end of the entity starting at byte offset 9"),
        ("Markdown", "ță [x", "Can't find end of the entity starting at byte offset 5"),
        ("MarkdownV2", "1. a", "Character '.' is reserved and must be escaped with the preceding '\\'"),
        ("MarkdownV2", "a *b", "Can't find end of Bold entity at byte offset 2"),
        ("HTML", "List<String>", 'Unsupported start tag "String" at byte offset 4'),
        ("HTML", "<b>a", 'Can\'t find end tag corresponding to start tag "b"'),
        ("HTML", "<b>a</i>", 'Unmatched end tag at byte offset 4, expected "</b>", found "</i>"'),
        ("HTML", "a</b>", "Unexpected end tag at byte offset 1"),
    ],
)
def test_markup_that_does_not_close_is_refused(mode: str, source: str, problem: str) -> None:
    with pytest.raises(ApiError) as refused:
        parsed(source, mode)
    assert refused.value.description == f"Bad Request: can't parse entities: {problem}"


KINDS = ["bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote"]
ENTITIES = st.lists(st.builds(TextEntity, st.sampled_from(KINDS), st.integers(0, 15), st.integers(0, 6)), max_size=12)


def covering(entities: list[TextEntity], place: int) -> set[str]:
    return {one.type for one in entities if one.offset <= place < one.end}


@unhurried
@given(ENTITIES)
def test_settling_changes_no_style_outside_code_and_is_settled_once_and_for_all(entities: list[TextEntity]) -> None:
    kept = settled(entities)

    assert settled(kept) == kept
    for place in range(22):
        styles = {"bold", "italic", "strikethrough"}
        before, after = covering(entities, place), covering(kept, place)
        assert after & styles == (set() if after & {"code", "pre"} else before & styles)


@unhurried
@given(ENTITIES)
def test_settled_entities_nest_and_code_holds_nothing(entities: list[TextEntity]) -> None:
    kept = settled(entities)
    for outer in kept:
        for inner in kept:
            if outer.offset < inner.offset < outer.end:
                assert inner.end <= outer.end or outer.type in ("bold", "italic", "strikethrough")
                assert outer.type not in ("code", "pre")
