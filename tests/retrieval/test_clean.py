"""The door that texts pass before they are stored."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.retrieval.clean import clean

ANYTHING = st.text(st.characters(exclude_categories=[]))


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [("a\x00b", "a\ufffdb"), ("\ud83d", "\ufffd"), ("x\udfff\ud800y", "x\ufffd\ufffdy")],
)
def test_nul_and_lone_surrogates_become_the_replacement_character(text: str, cleaned: str) -> None:
    assert clean(text) == (cleaned, True)


@pytest.mark.parametrize("text", ["", "Ștefan 🎂\r\n\t", "e\u0301", "\ufffd", "\x07\x1b"])
def test_a_text_that_can_be_stored_is_left_as_it_is(text: str) -> None:
    assert clean(text) == (text, False)


@given(ANYTHING)
def test_a_cleaned_text_has_its_length_and_goes_through_utf_8_and_sql(text: str) -> None:
    cleaned, replaced = clean(text)
    assert len(cleaned) == len(text)
    assert replaced == (cleaned != text)
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    with sqlite3.connect(":memory:") as connection:
        assert connection.execute("SELECT ?, length(?)", (cleaned, cleaned)).fetchone() == (cleaned, len(cleaned))
    connection.close()


@given(ANYTHING)
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    cleaned, _ = clean(text)
    assert clean(cleaned) == (cleaned, False)
