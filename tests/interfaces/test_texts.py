"""The catalogue: complete in every language, and used as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import goat.interfaces
from goat.interfaces.texts import LANGUAGES, Sentence, entries, plural, texts_for

FORMS = {"en": {"one", "other"}, "ro": {"one", "few", "other"}}
BY_NAME = {"about", "usage", "approval", "kinds"}
"""Sections of which the code puts a key together: the name of a command, a verdict, a kind."""


def forms(entry: Sentence) -> dict[str, str]:
    """The sentences of an entry in one language, by their form."""
    return {"": entry} if isinstance(entry, str) else dict(entry)


def fields(sentence: str) -> set[str]:
    """The names of the values in a sentence."""
    return {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}


def code() -> Iterator[str]:
    """The source of everything that may say something."""
    assert goat.interfaces.__file__
    for path in Path(goat.interfaces.__file__).parents[1].rglob("*.py"):
        yield path.read_text("utf-8")


@pytest.mark.parametrize("key", entries())
def test_an_entry_is_there_in_every_language_with_the_same_values(key: str) -> None:
    entry = entries()[key]
    assert set(entry) == set(LANGUAGES)
    counted = {language for language in LANGUAGES if not isinstance(entry[language], str)}
    assert counted in (set(), set(LANGUAGES))
    for language in LANGUAGES:
        if language in counted:
            assert set(forms(entry[language])) == FORMS[language]
        assert all(sentence.strip() for sentence in forms(entry[language]).values())
    assert len({frozenset(fields(text)) for one in entry.values() for text in forms(one).values()}) == 1


def test_every_entry_is_used_and_every_use_has_its_entry() -> None:
    source = "\n".join(code())
    sections = {key.partition(".")[0] for key in entries()}
    pattern = rf"""["']((?:{"|".join(sections)})\.[a-z_]+)["']"""
    used = set(re.findall(pattern, source))
    said = set(re.findall(r"""\bsay\(\s*["']([a-z_]+\.[a-z_]+)["']""", source))
    assert said <= set(entries())
    unused = {key for key in entries() if key not in used and key.partition(".")[0] not in BY_NAME}
    assert not unused


@pytest.mark.parametrize(
    ("code", "language"), [("ro", "ro"), ("ro-RO", "ro"), ("RO_md", "ro"), ("en", "en"), ("de", "en"), ("", "en")]
)
def test_the_language_of_an_app_chooses_the_catalogue(code: str, language: str) -> None:
    assert texts_for(code).language == language


@pytest.mark.parametrize(
    ("language", "count", "shown"),
    [
        ("en", 0, "0 messages"),
        ("en", 1, "1 message"),
        ("en", 1234, "1,234 messages"),
        ("ro", 0, "0 mesaje"),
        ("ro", 1, "1 mesaj"),
        ("ro", 2, "2 mesaje"),
        ("ro", 19, "19 mesaje"),
        ("ro", 20, "20 de mesaje"),
        ("ro", 101, "101 mesaje"),
        ("ro", 119, "119 mesaje"),
        ("ro", 120, "120 de mesaje"),
        ("ro", 1234, "1.234 de mesaje"),
    ],
)
def test_a_count_takes_the_form_of_its_language(language: str, count: int, shown: str) -> None:
    assert texts_for(language)("memory.messages", n=count) == shown


def test_the_plural_of_romanian_is_that_of_unicode() -> None:
    few = [n for n in range(140) if plural("ro", n) == "few"]
    assert few == [0, *range(2, 20), *range(101, 120)]


def test_values_are_put_in_as_they_are() -> None:
    assert texts_for("en")("commands.unknown", name="/a{b}") == "There is no command /a{b}. /help shows all."
