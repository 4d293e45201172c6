"""A question that was asked before must not hide what answers it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from goat.adapters.model_offline import OfflineModel
from goat.app import App, assemble
from goat.records.episodes import Episode, Role
from goat.records.search import Recall, Recalled
from goat.retrieval.echo import beyond
from goat.retrieval.pipeline import REFLEX, SEARCH, Recipe
from goat.settings import Settings
from goat.testing.app import archive, memory_app, say

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
LEAST = Settings().recall.min_relevance
QUESTION = "Which plumber mends the boiler on Sundays?"
ANSWER = "Popescu the plumber works at the weekend, boilers too."


async def found(app: App, text: str, recipe: Recipe = REFLEX, least: float = LEAST) -> Recall:
    vector = (await app.memory.embed(text)).value
    return await app.memory.recall(app.memory.query("admin", text, app.backends.clock.now(), vector), recipe, least)


def relevance(recall: Recall) -> dict[str, float]:
    return {result.episode.text: result.relevance for result in recall.results}


async def test_what_answers_a_question_is_as_relevant_when_it_was_asked_before() -> None:
    async with memory_app() as app:
        await archive(app, [ANSWER, "The cat sleeps on the stove."], "notes")
        first = relevance(await found(app, QUESTION))
        await archive(app, [QUESTION, "Noted.", f"Once more, please: {QUESTION}", "Noted."], "asked")
        again = relevance(await found(app, QUESTION))
    assert first[ANSWER] >= LEAST
    assert again[ANSWER] >= first[ANSWER] - 0.05


async def test_of_the_same_question_asked_often_one_is_shown_and_a_search_tells_how_often() -> None:
    async with memory_app() as app:
        await archive(app, [ANSWER], "notes")
        await archive(app, [QUESTION] * 6, "asked")
        shown = [result.episode.text for result in (await found(app, QUESTION)).results]
        listed = (await found(app, QUESTION, SEARCH, 0.0)).results
    assert sorted(shown) == sorted([ANSWER, QUESTION])
    assert [len(result.copies) for result in listed if result.episode.text == QUESTION] == [5]


async def test_a_question_that_another_asked_is_no_echo_for_its_answer_stands_behind_it() -> None:
    async with memory_app() as app:
        await archive(app, [QUESTION, "Popescu does."], "talk", speaker="Dan")
        results = (await found(app, QUESTION + " Say it", least=0.0)).results
    assert [result.episode.text for result in results] == [QUESTION, "Popescu does."]


async def test_asking_again_after_other_topics_is_served_the_answer_again() -> None:
    async with memory_app() as app:
        await archive(app, [ANSWER], "notes")
        recalled = []
        for text in (QUESTION, "zebras sleep in the savannah", QUESTION, "my bicycle is blue", QUESTION):
            result = await say(app, text)
            recalled.append([one.episode.text for one in result.recalled])
    assert all(ANSWER in recalled[turn] for turn in (0, 2, 4))


async def test_the_words_of_the_message_itself_do_not_make_the_archive_seem_to_know_them() -> None:
    """The message is indexed before its own search runs: what it alone says is not told."""
    text = "remind me of the boiler and quokka wallaby numbat potoroo"
    async with memory_app() as app:
        await archive(app, ["The boiler needs water every week."], "notes")
        vector = (await app.memory.embed(text)).value
        query = app.memory.query("admin", text, app.backends.clock.now(), vector)
        before = (await app.memory.recall(query, REFLEX)).results[0]
        result = await say(app, text)
        bounded = replace(query, where=replace(query.where, up_to=result.question.id))
        after = (await app.memory.recall(bounded, REFLEX)).results[0]
    assert before.episode.text == after.episode.text == "The boiler needs water every week."
    assert after.parts["passage"] == pytest.approx(before.parts["passage"], rel=0.2)


@pytest.mark.parametrize(
    ("said", "answers"),
    [
        (QUESTION, False),
        ("which plumber  mends the BOILER on sundays?", False),
        ("Which plumber mends the boiler on Sundays", False),
        ("Is there a plumber for the boiler?", False),
        ("So, which plumber is it that mends a boiler on Sundays, and what does he take?", False),
        ("Who mends the roof in winter?", True),
        ("Does the plumber have a sister?", True),
        ("The plumber who mends the boiler on Sundays is Popescu, isn't he?", True),
        ("Popescu is the plumber. Does he mend the boiler on Sundays?", True),
        ("Which plumber mends the boiler on Sundays? Popescu.", True),
        (ANSWER, True),
    ],
)
def test_what_only_repeats_a_question_says_nothing_beyond_it(said: str, answers: bool) -> None:
    episode = Episode(1, "u", "admin", "c", Role.USER, said, AT, "x")
    result = Recalled(episode, 0.9, 0.9)
    assert beyond(QUESTION, [result]) == ((result,) if answers else ())


@pytest.mark.parametrize(("role", "speaker"), [(Role.USER, "Dan"), (Role.ASSISTANT, "")])
def test_what_others_ask_says_something_beyond_the_question(role: Role, speaker: str) -> None:
    result = Recalled(Episode(1, "u", "admin", "c", role, f"Dan, {QUESTION}", AT, "x", speaker), 0.9, 0.9)
    assert beyond(QUESTION, [result]) == (result,)


async def test_a_question_that_was_never_answered_is_not_its_own_answer() -> None:
    async with memory_app() as app:
        app = assemble(app.settings, replace(app.backends, model=OfflineModel(UTC, told_before)))
        replies = [
            (await say(app, text, chat=text)).text
            for text in (QUESTION, f"{QUESTION} ", "Is there a plumber for the boiler?")
        ]
        assert set(replies) == {"Nothing found in memory about that."}
        await say(app, ANSWER, chat="notes")
        assert ANSWER in (await say(app, QUESTION, chat="later")).text


async def told_before() -> bool:
    return False
