"""Whatever a model writes: nothing visible is lost, and every message is one that Telegram takes and shows as it is.

Visible is: every character that is no markup. Of an address behind a link the entity has the characters, of a fence's
language the entity's language. Blanks and line ends at the edges of messages and around blocks are not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from goat.interfaces.telegram.chunk import units
from goat.interfaces.telegram.render import Chunk, plain, render
from goat.testing.bot_api import FormattedText, TextEntity

Shown = Callable[[Chunk], FormattedText]
unhurried = settings(deadline=None)

PIECES = (
    *"abc defgh ijk",
    *"**__~~``[]()>#+-|\\!<&;:/.@=_*`\n\n\n  ",
    *(
        "\n\n",
        "\n- ",
        "\n1. ",
        "\n> ",
        "\n# ",
        "\n```\n",
        "    ",
        "| a | b |\n|---|---|\n",
        "http://a.b/c_d",
        "a.md",
        "~~",
    ),
    *(
        "👍",
        "👨‍👩‍👧‍👦",
        "🇷🇴",
        "e\u0301",
        "שלום",
        "مرحبا",
        "ță",
        "日本",
        "\u200f",
        "\u200b",
        "\ufe0f",
        "\u202e",
        "\t",
        "\r",
        "\x00",
    ),
)
SOURCES = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
ANYTHING = st.one_of(SOURCES, st.text(max_size=200))


def styles(text: str, entities: tuple[TextEntity, ...]) -> Iterator[tuple[str, frozenset[tuple[str, str | None]]]]:
    """Each visible character with what covers it."""
    offset = 0
    for character in text:
        covering = frozenset((one.type, one.url) for one in entities if one.offset <= offset < one.end)
        if not character.isspace():
            yield character, covering
        offset += units(character)


@unhurried
@given(ANYTHING, st.sampled_from([1, 2, 7, 40, 4096]))
@example("| a | b |\n|---|---|\na\t| a | b |", 2)
def test_every_message_of_any_text_is_taken_and_shown_as_it_is(shown: Shown, source: str, limit: int) -> None:
    for chunk in render(source, limit):
        if chunk.document is not None:
            assert (chunk.text, chunk.document.content.decode().strip() != "") == ("", True)
            continue
        assert units(chunk.text) <= limit or len(chunk.text) == 1
        seen = shown(chunk)
        kinds = {one.type for one in chunk.entities}
        explicit = tuple(TextEntity(one.type, one.offset, one.length, one.url) for one in chunk.entities)
        kept = tuple(one for one in seen.entities if one.type in kinds)
        assert list(styles(chunk.text, explicit)) == list(styles(chunk.text, kept))


@unhurried
@given(ANYTHING)
def test_plain_shows_every_character(shown: Shown, source: str) -> None:
    chunks = plain(source, 10)
    for chunk in chunks:
        shown(chunk)
    visible = Counter(character for character in source if character.isalnum())
    assert Counter("".join(chunk.text for chunk in chunks)) & visible == visible


@unhurried
@given(SOURCES)
@example("- >\n- x")
@example("a_b_c/_d_")
@example("| a | b |\n|---|---|\n| a | b | c |")
@example("[x]: http://a.b/c")
@example("![a](b) <d> [e](<f>)")
def test_no_letter_of_any_text_is_lost(source: str) -> None:
    assume(not re.search(r"(```|~~~).*\w", source))  # a fence's remark, or the language of empty code
    chunks = render(source)
    kept = Counter("".join(chunk.text for chunk in chunks))
    for chunk in chunks:
        for one in chunk.entities:
            kept.update((one.url or "") + (one.language or ""))
    assert Counter(character for character in source if character.isalpha()) - kept == Counter()


@dataclass(frozen=True)
class Written:
    """Markdown and what a reader sees of it, without the blanks."""

    source: str
    visible: str


WORD = st.text("abcdefgh", min_size=1, max_size=6) | st.sampled_from(
    ["👍🏽", "👨‍👩‍👧‍👦", "🇷🇴🇬🇧", "e\u0301a\u0308", "שלום", "مَرْحَبًا", "नमस्ते", "日本語", "ță"]
)
WORDS = st.lists(WORD, min_size=1, max_size=6).map(lambda words: Written(" ".join(words), "".join(words)))


def wrapped(before: str, after: str) -> Callable[[Written], Written]:
    return lambda inner: Written(f"{before}{inner.source}{after}", inner.visible)


def joined(separator: str) -> Callable[[list[Written]], Written]:
    return lambda parts: Written(separator.join(one.source for one in parts), "".join(one.visible for one in parts))


def prefixed(first: str, rest: str) -> Callable[[Written], Written]:
    return lambda inner: Written(first + inner.source.replace("\n", "\n" + rest), inner.visible)


PHRASE = st.one_of(
    WORDS,
    WORDS.map(wrapped("**", "**")),
    WORDS.map(wrapped("*", "*")),
    WORDS.map(wrapped("~~", "~~")),
    WORDS.map(wrapped("`", "`")),
    WORDS.map(wrapped("[", "](https://a.b/c_d)")),
    WORDS.map(wrapped("**_", "_**")),
)
LINE = st.lists(PHRASE, min_size=1, max_size=5).map(joined(" "))
CODE = st.lists(WORDS, min_size=1, max_size=8).map(joined("\n    "))
LEAF = st.one_of(
    st.lists(LINE, min_size=1, max_size=3).map(joined("\n")),
    LINE.map(wrapped("## ", "")),
    CODE.map(wrapped("```py\n", "\n```")),
)
BLOCK = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        inner.map(prefixed("> ", "> ")),
        inner.map(prefixed("- ", "  ")),
        inner.map(prefixed("7. ", "   ")),
        st.lists(inner, min_size=1, max_size=3).map(joined("\n\n")),
    ),
    max_leaves=6,
)
DOCUMENT = st.lists(BLOCK, min_size=1, max_size=5).map(joined("\n\n"))
# What stands in front of items and lines; the words hold none of it.
MARKS = str.maketrans("", "", "•◦▪│0123456789. \n")


@unhurried
@given(DOCUMENT)
def test_exactly_what_is_no_markup_is_shown(document: Written) -> None:
    assert "".join(chunk.text for chunk in render(document.source)).translate(MARKS) == document.visible


@unhurried
@given(DOCUMENT, st.integers(30, 90))
def test_a_text_in_many_messages_looks_as_in_one(shown: Shown, document: Written, limit: int) -> None:
    def appearance(chunks: tuple[Chunk, ...]) -> list[tuple[str, frozenset[tuple[str, str | None]]]]:
        return [pair for chunk in chunks for pair in styles(chunk.text, shown(chunk).entities)]

    many = tuple(chunk for chunk in render(document.source, limit) if chunk.document is None)
    if not any(chunk.document for chunk in render(document.source, limit)):
        assert appearance(many) == appearance(render(document.source))


@unhurried
@given(st.lists(WORD, min_size=1, max_size=80).map("".join), st.integers(25, 60))
def test_telegram_b7_every_cut_lies_between_grapheme_clusters(text: str, limit: int) -> None:
    chunks = render(text, limit)
    assert "".join(chunk.text for chunk in chunks) == text
    assert [cluster for chunk in chunks for cluster in iter_graphemes(chunk.text)] == list(iter_graphemes(text))


@unhurried
@given(st.lists(WORD, min_size=1, max_size=60), st.integers(25, 60))
def test_telegram_b5_words_stay_whole_where_they_fit(words: list[str], limit: int) -> None:
    text = " ".join(words)
    assert " ".join(chunk.text for chunk in render(text, limit)) == text
