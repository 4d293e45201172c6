from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from goat.interfaces.wrapping import WordWrap


def wrapped(text: str, width: int = 20, size: int = 1) -> list[str]:
    wrap = WordWrap(width)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    return ("".join(wrap.feed(piece) for piece in pieces) + wrap.close()).split("\n")


def test_lines_break_between_words() -> None:
    assert wrapped("The quick brown fox jumps over the lazy dog.") == [
        "The quick brown fox",
        "jumps over the lazy",
        "dog.",
    ]


def test_a_line_that_fits_exactly_is_not_broken() -> None:
    assert wrapped("twenty columns, full") == ["twenty columns, full"]
    assert wrapped("twenty columns, full now") == ["twenty columns, full", "now"]


def test_line_breaks_and_indents_of_the_text_stay() -> None:
    assert wrapped("one\n\n  - two\n") == ["one", "", "  - two", ""]


def test_a_word_is_shown_once_it_is_complete() -> None:
    wrap = WordWrap(80)
    assert [wrap.feed(piece) for piece in ("It is bl", "ue, and", " fast")] == ["It is", " blue,", " and"]
    assert wrap.close() == " fast"


def test_wide_letters_are_shown_as_they_come() -> None:
    assert WordWrap(80).feed("猫が") == "猫が"


@given(st.text(alphabet="ab \n猫", max_size=120), st.integers(2, 30), st.integers(1, 7))
def test_no_letter_is_lost_and_the_pieces_make_no_difference(text: str, width: int, size: int) -> None:
    assert "".join("".join(wrapped(text, width, size)).split()) == "".join(text.split())
    assert wrapped(text, width, size) == wrapped(text, width)


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=9), max_size=30))
def test_no_line_is_wider_than_the_screen(words: list[str]) -> None:
    assert all(cell_len(line) <= 12 for line in wrapped(" ".join(words), 12))


@pytest.mark.parametrize("width", [1, 2])
def test_a_tiny_screen_is_survived(width: int) -> None:
    assert "".join(wrapped("ab cd", width)).replace(" ", "") == "abcd"
