"""The catalogue: complete in every language, and used as a whole."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import goat.interfaces
from goat.interfaces.texts import CORE, LANGUAGES, Sentence, entries, plural, texts_for

FORMS = {"en": {"one", "other"}, "ro": {"one", "few", "other"}}
BY_NAME = {"about", "usage", "approval", "kinds", "thread", "states", "core"}
"""Sections of which the code puts a key together: the name of a command, a verdict, a kind, a state, or what is found
by its English words."""

OF_TELEGRAM = {"core.deactivated"}
"""What Telegram alone says, and the fake Bot API never."""


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


def test_what_the_core_says_is_found_by_its_words() -> None:
    say = texts_for("ro")
    assert say.told("it deletes; it sends data away") == "șterge; trimite date în afară"
    assert say.told("it deletes; a reason of somebody's own tool") == "șterge; a reason of somebody's own tool"
    failed = "The model m gave no answer: the key was refused (HTTP 401); n: the answer is empty, 2 times. Try again."
    assert say.told(failed) == (
        "Modelul m nu a dat niciun răspuns: cheia a fost refuzată (HTTP 401); n: răspunsul este gol, "
        "de 2 ori. Încearcă din nou."
    )
    assert say.told("nothing that is known, {so} it stays") == "nothing that is known, {so} it stays"
    assert texts_for("en").told("it deletes") == "it deletes"


def said_in_code() -> set[str]:
    """Every text and every fixed part of one in the source, that of the fake Bot API too."""
    trees = (ast.parse(source) for source in code())
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


@pytest.fixture(scope="module")
def constants() -> set[str]:
    return said_in_code()


@pytest.mark.parametrize("key", sorted({key for key in entries() if key.startswith(f"{CORE}.")} - OF_TELEGRAM))
def test_what_stands_for_a_sentence_of_the_core_is_said_there(key: str, constants: set[str]) -> None:
    sentence = str(entries()[key]["en"])
    fixed = [text.strip(" .,:;()") for text, _, _, _ in Formatter().parse(sentence)]
    missing = [part for part in fixed if len(part) > 5 and not any(part in one for one in constants)]
    assert not missing
