"""Thoughts are taken out of a text, whole or in pieces; what the person asked for stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.adapters.thoughts import ThoughtFilter, visible

CASES = {
    "nothing to take out": ("Salut, 猫!", "Salut, 猫!"),
    "before the answer": ("<think>hm\nhm</think>\n\nParis.", "Paris."),
    "other names and capitals": ("<Thinking>hm</Thinking>Paris.", "Paris."),
    "never closed": ("<think>I wonder about Paris", ""),
    "never closed, after the answer": ("Paris.\n<think>was that right", "Paris.\n"),
    "between two parts": ("One.\n<think>hm</think>\nTwo.", "One.\nTwo."),
    "inside a line": ("Sure.<think>hm</think> Paris.", "Sure. Paris."),
    "two thoughts": ("<think>a</think>A<think>b</think>B", "AB"),
    "closed only": ("hm, Paris then\n</think>\n\nParis.", "Paris."),
    "closed only, without a line of its own": ("hm, Paris then</think>Paris.", "Paris."),
    "closed only, at the end of its line": ("hm, Paris then</think>\nParis.", "Paris."),
    "a word about the tag": ("The <think> tag is used by some.", "The <think> tag is used by some."),
    "a word about the closing tag": ("It ends with </think> there.", "It ends with </think> there."),
    "in a code block": ("Look:\n```xml\n<think>a</think>\n```\nDone.", "Look:\n```xml\n<think>a</think>\n```\nDone."),
    "in a block that never ends": ("~~~\n<think>a", "~~~\n<think>a"),
    "in a line of code": ("Write `<think>a</think>` so.", "Write `<think>a</think>` so."),
    "in longer backticks": ("Write ``a ` <think>`` so.", "Write ``a ` <think>`` so."),
    "behind a stray backtick": ("It`s\n\n<think>a</think>B", "It`s\n\nB"),
    "code inside a thought": ("<think>```\n</think>A", "A"),
    "not a tag": ("a < b, <thin> and <thinker>", "a < b, <thin> and <thinker>"),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_telegram_d3_thoughts_are_taken_out_of_a_whole_text(text: str, expected: str) -> None:
    assert visible(text).text == expected


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_telegram_d3_letter_by_letter_it_is_the_same(text: str, expected: str) -> None:
    stream = ThoughtFilter()
    given_back = "".join(stream.feed(letter) for letter in text)
    rest, whole = stream.close()
    assert whole.text == expected
    assert whole.headless or given_back + rest == expected


@given(st.lists(st.sampled_from(["<think>", "</think>", "`", "```\n", "\n", "\n\n", " ", "a", "<", "th", "ink>"])))
def test_telegram_d3_what_was_given_back_was_never_a_thought(pieces: list[str]) -> None:
    stream = ThoughtFilter()
    shown = "".join(stream.feed(piece) for piece in pieces)
    rest, whole = stream.close()
    assert whole.text == visible("".join(pieces)).text
    assert whole.headless or shown + rest == whole.text


def test_a_stream_known_to_begin_inside_a_thought_shows_nothing_before_its_end() -> None:
    stream = ThoughtFilter(headless=True)
    assert [stream.feed(piece) for piece in ("hm ", "hm", "</think>\n\n", "Paris", ".")] == ["", "", "", "Paris", "."]


def test_a_stream_that_was_thought_to_begin_inside_a_thought_and_has_none_is_shown_at_its_end() -> None:
    stream = ThoughtFilter(headless=True)
    assert stream.feed("Paris.") == ""
    assert stream.close()[0] == "Paris."


def test_a_thought_is_known_to_have_been_there() -> None:
    assert visible("<think>a</think>").thought
    assert not visible("`<think>` is a tag").thought
