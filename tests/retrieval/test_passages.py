"""Messages cut into passages."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.retrieval.passages import MOST_WORDS, split_passages

LETTERS = st.sampled_from([*"abcé .,;!?\n\t-'\"", "猫", "が", "。", "، ", "؟", "ก", "我", "🎂", " word ", "x" * 30])
TEXTS = st.lists(LETTERS, max_size=400).map("".join)


def parts(text: str, most_words: int = MOST_WORDS) -> list[str]:
    return [text[span.start : span.end] for span in split_passages(text, most_words)]


@given(TEXTS | st.text(max_size=300), st.integers(1, 80))
def test_passages_hold_every_character_but_white_space_once_and_in_order(text: str, most_words: int) -> None:
    spans = split_passages(text, most_words)
    assert all(left.end <= right.start for left, right in pairwise(spans))
    assert "".join("".join(part.split()) for part in parts(text, most_words)) == "".join(text.split())


@given(TEXTS | st.text(max_size=300), st.integers(1, 80))
def test_a_passage_is_never_blank_nor_too_long(text: str, most_words: int) -> None:
    for part in parts(text, most_words):
        assert part == part.strip() != ""
        assert 1 <= len(part.split()) <= most_words
        assert len("".join(part.split())) <= 20 * most_words


@given(TEXTS | st.text(max_size=300))
def test_only_a_blank_text_has_no_passage(text: str) -> None:
    assert (split_passages(text) == ()) == (text.strip() == "")


def test_a_short_message_is_one_passage() -> None:
    assert parts("  Hello there. How are you?\nFine!  ") == ["Hello there. How are you?\nFine!"]


def test_a_passage_ends_with_a_sentence_where_it_can() -> None:
    first, second = "One two three four. ", "Five six seven, eight nine!"
    assert parts(first + second, 6) == [first.strip(), second]


def test_a_sentence_that_is_too_long_is_cut_after_a_clause_and_else_after_a_word() -> None:
    assert parts("a b c d, e f g h i", 5) == ["a b c d,", "e f g h i"]
    assert parts("a, b c d e f g", 4) == ["a, b c d", "e f g"]


def test_signs_inside_numbers_names_and_links_end_no_sentence() -> None:
    text = "pay 3.50 at x.example/a?b=1 now please. ok"
    assert parts(text, 6) == ["pay 3.50 at x.example/a?b=1 now please.", "ok"]


def test_a_line_break_ends_a_sentence() -> None:
    assert parts("milk and eggs\nbread and butter\nsalt", 6) == ["milk and eggs\nbread and butter", "salt"]


@pytest.mark.parametrize("sentence", ["猫が好きです。", "我喜欢猫！", "โ" * 7 + "."])
def test_scripts_without_spaces_are_cut_by_letters(sentence: str) -> None:
    found = parts(sentence * 60)
    assert len(found) > 1
    assert all(len(part) <= 2 * MOST_WORDS * 1.5 for part in found)
    if sentence[-1] in "。！":
        assert all(part[-1] == sentence[-1] for part in found)


@pytest.mark.parametrize("letter", ["a", "猫", ".", "?!", "1", "\u200b", "a\n"])
def test_a_megabyte_without_spaces_is_cut_into_bounded_passages(letter: str) -> None:
    text = letter * (1_000_000 // len(letter))
    spans = split_passages(text)
    assert spans[0].start == 0
    assert spans[-1].end == len(text.rstrip())
    assert max(span.end - span.start for span in spans) <= 20 * MOST_WORDS


def test_a_megabyte_of_blanks_has_no_passage() -> None:
    assert split_passages(" \n\t" * 333_333) == ()


def test_a_passage_of_no_words_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one word"):
        split_passages("text", 0)
