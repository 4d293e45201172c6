"""Long texts: where they are cut, and that no message is more than Telegram takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from goat.interfaces.telegram.chunk import units
from goat.interfaces.telegram.render import Chunk, plain, render
from goat.testing.bot_api import FormattedText

Shown = Callable[[Chunk], FormattedText]
FAMILY = "👨‍👩‍👧‍👦"


def sizes(source: str) -> list[int]:
    """The UTF-16 units of each message."""
    return [units(chunk.text) for chunk in render(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x" * 4096, [4096]),
        ("x" * 4097, [4096, 1]),
        ("x" * 12_000, [4096, 4096, 3808]),
        ("👍" * 2048, [4096]),
        ("👍" * 2049, [4096, 2]),
        ("x" + "👍" * 2048, [4095, 2]),
        ("👍" * 3000, [4096, 1904]),
    ],
)
def test_telegram_b5_a_text_without_a_space_fills_messages_to_the_last_unit(source: str, expected: list[int]) -> None:
    assert sizes(source) == expected
    assert "".join(chunk.text for chunk in render(source)) == source


def test_telegram_b5_twelve_thousand_characters_are_cut_between_paragraphs(shown: Shown) -> None:
    paragraphs = [f"Paragraph {number}. " + "Some words of it, and more. " * 30 for number in range(14)]
    chunks = render("\n\n".join(paragraphs))

    assert [units(chunk.text) <= 4096 for chunk in chunks] == [True] * 4
    assert "\n\n".join(chunk.text for chunk in chunks) == "\n\n".join(one.strip() for one in paragraphs)
    assert all(chunk.text.startswith("Paragraph") for chunk in chunks)
    for chunk in chunks:
        shown(chunk)


def test_telegram_b5_without_paragraphs_lines_and_without_lines_words_stay_whole() -> None:
    lines = [f"line {number} " + "x" * 50 for number in range(150)]
    assert "\n".join(chunk.text for chunk in render("\n".join(lines))) == "\n".join(lines)
    words = [f"word{number}" for number in range(1500)]
    assert " ".join(chunk.text for chunk in render(" ".join(words))) == " ".join(words)


def test_a_heading_is_not_left_alone_at_the_end_of_a_message() -> None:
    first, second = render("x " * 1900 + "\n\n## Next\n\n" + "y " * 500)
    assert (first.text[-1], second.text[:6]) == ("x", "Next\n\n")


def test_telegram_b6_long_code_goes_on_as_code_in_the_next_message(shown: Shown) -> None:
    lines = [f"    line {number} = {number * number}" for number in range(220)]
    first, second = render("```python\n" + "\n".join(lines) + "\n```\nafter")

    assert f"{first.text}\n{second.text}" == "\n".join(lines) + "\nafter"
    for chunk in (first, second):
        assert [(one.type, one.offset, one.language) for one in chunk.entities] == [("pre", 0, "python")]
        shown(chunk)


def test_telegram_b6_a_single_line_of_ten_thousand_characters_is_cut_and_stays_code(shown: Shown) -> None:
    chunks = render("```\n" + "y" * 10_000 + "\n```")
    assert [(units(chunk.text), chunk.entities[0].length) for chunk in chunks] == [(4096, 4096)] * 2 + [(1808, 1808)]
    for chunk in chunks:
        shown(chunk)


def test_telegram_b6_code_of_more_than_three_messages_becomes_a_file() -> None:
    code = "y" * (3 * 4096 + 1)
    before, file, after, second, _ = render(f"a\n\n```python\n{code}\n```\n\nb\n```\n{code}\n```\nc")

    assert (before.text, after.text) == ("a", "b")
    assert file.document is not None
    assert (file.text, file.document.name, file.document.content) == ("", "code.py", f"{code}\n".encode())
    assert second.document is not None
    assert second.document.name == "code-2.txt"
    assert all(chunk.document is None for chunk in render(f"```\n{code[:-1]}\n```"))


def test_telegram_b7_grapheme_clusters_are_never_cut(shown: Shown) -> None:
    for cluster in (FAMILY, "🇷🇴", "👍🏽", "e\u0301\u0323", "षि", "שׁ\u05bc", "각", "1️⃣"):
        many = 9000 // len(cluster)
        chunks = render(cluster * many)
        assert len(chunks) > 1
        assert all(chunk.text == cluster * (len(chunk.text) // len(cluster)) for chunk in chunks)
        assert "".join(chunk.text for chunk in chunks) == cluster * many
        for chunk in chunks:
            shown(chunk)


def test_telegram_b7_a_cluster_longer_than_a_message_is_cut_all_the_same() -> None:
    source = "a" + "\u0301" * 6000
    assert sizes(source) == [4096, 1905]


def test_telegram_b7_offsets_count_utf_16_units_around_every_script(shown: Shown) -> None:
    [chunk] = render(f"{FAMILY} **{FAMILY}** שלום **עולם** e\u0301 *e\u0301* 🇷🇴 `🇷🇴` [👍🏽](http://a.b)")
    raw = chunk.text.encode("utf-16-le")
    assert [raw[2 * one.offset : 2 * (one.offset + one.length)].decode("utf-16-le") for one in chunk.entities] == [
        FAMILY,
        "עולם",
        "e\u0301",
        "🇷🇴",
        "👍🏽",
    ]
    shown(chunk)


@pytest.mark.parametrize(("spans", "expected"), [(99, [99]), (100, [100]), (101, [100, 1]), (150, [100, 50])])
def test_telegram_b8_a_message_has_at_most_a_hundred_entities(spans: int, expected: list[int], shown: Shown) -> None:
    source = " ".join(f"`c{number}`" for number in range(spans))
    chunks = render(source)
    assert [len(chunk.entities) for chunk in chunks] == expected
    assert " ".join(chunk.text for chunk in chunks) == source.replace("`", "")
    for chunk in chunks:
        shown(chunk)


def test_telegram_b8_the_pieces_into_which_telegram_cuts_bold_text_count(shown: Shown) -> None:
    chunks = render("**" + " ".join(f"w [c{number}](http://a.b)" for number in range(150)) + "**")
    for chunk in chunks:
        bold = [one for one in shown(chunk).entities if one.type == "bold"]
        assert sum(one.length for one in bold) == len(chunk.text)
    assert sum(chunk.text.count("c") for chunk in chunks) == 150


def test_telegram_b8_addresses_that_telegram_links_by_itself_count(shown: Shown) -> None:
    for word in ("https://a.b/{}", "@name_{}", "#tag{}", "n{}@a.ro", "/do_{}", "n{}.example.com"):
        for chunk in render(" ".join(word.format(number) for number in range(250))):
            shown(chunk)


def test_telegram_b8_bold_goes_on_over_the_end_of_a_message() -> None:
    chunks = render("**" + "word " * 1500 + "end**")
    assert [(one.type, one.offset, one.length) for chunk in chunks for one in chunk.entities] == [
        ("bold", 0, units(chunk.text)) for chunk in chunks
    ]
    assert len(chunks) == 2


def test_telegram_b9_signs_that_html_would_expand_need_no_more_room() -> None:
    assert sizes("&" * 4096) == [4096]
    assert sizes("<>&" * 1365) == [4095]


def test_a_quote_and_a_link_go_on_in_the_next_message(shown: Shown) -> None:
    quoted = render("> " + "word " * 1200)
    assert [[one.type for one in chunk.entities] for chunk in quoted] == [["blockquote"], ["blockquote"]]
    linked = render("[" + "word " * 1200 + "end](https://a.b)")
    assert [[one.url for one in chunk.entities] for chunk in linked] == [["https://a.b"], ["https://a.b"]]
    for chunk in (*quoted, *linked):
        shown(chunk)


def test_a_smaller_limit_is_kept_by_texts_and_plain_texts() -> None:
    source = "**some words** and `code` " * 20
    for chunks in (render(source, limit=50), plain(source, limit=50)):
        assert all(0 < units(chunk.text) <= 50 for chunk in chunks)


def test_the_beginning_of_a_growing_text_is_cut_where_it_was_before() -> None:
    words = " ".join(f"word{number}" for number in range(2000))
    before, after = render(words[:9000]), render(words)
    assert before[:2] == after[:2]
