"""The same words said again take one place among the results, and tell how often they were said."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from goat.app import App
from goat.records.episodes import Episode, Role
from goat.records.search import Recalled
from goat.retrieval.copies import said_again
from goat.retrieval.pipeline import REFLEX, SEARCH, Recipe
from goat.testing.app import archive, memory_app, say
from goat.testing.models import ScriptedModel

START = datetime(2026, 3, 1, 8, tzinfo=UTC)
DAY = timedelta(days=1)
REMINDER = "Remember to water the cactus in the hall."
OTHERS = ("The cactus in the kitchen never gets water in winter.", "The cactus was a gift from Ilinca.")


async def found(app: App, text: str, recipe: Recipe) -> tuple[Recalled, ...]:
    vector = (await app.memory.embed(text)).value
    query = app.memory.query("admin", text, app.backends.clock.now(), vector)
    return (await app.memory.recall(query, recipe, 0.0)).results


@pytest.mark.parametrize("recipe", [REFLEX, SEARCH], ids=lambda recipe: recipe.name)
@pytest.mark.parametrize("times", [2, 40, 150])
async def test_what_was_said_often_leaves_room_for_what_else_is_known(recipe: Recipe, times: int) -> None:
    async with memory_app() as app:
        await archive(app, [*[REMINDER] * times, *OTHERS], first=START, apart=DAY)
        results = await found(app, "what about the water for the cactus?", recipe)
    assert sorted(result.episode.text for result in results) == sorted([REMINDER, *OTHERS])
    said = next(result for result in results if result.episode.text == REMINDER)
    assert {said.episode.at, *said.copies} == {START + timedelta(days=number) for number in range(times)}
    assert list(said.copies) == sorted(said.copies)


async def test_a_prompt_tells_how_often_it_was_said() -> None:
    zone = ZoneInfo("Europe/Bucharest")
    episode = Episode(1, "u1", "admin", "notes", Role.USER, REMINDER, START, "x1")
    alone = Recalled(episode, 1.0, 1.0)
    assert said_again(alone, zone) == ""
    once = replace(alone, copies=(START + timedelta(days=1),))
    assert said_again(once, zone) == "and 1 more time on 2026-03-02"
    often = replace(alone, copies=(START - timedelta(days=2), START, START + timedelta(hours=16)))
    assert said_again(often, zone) == "and 3 more times between 2026-02-27 and 2026-03-02"
    model = ScriptedModel()
    async with memory_app(model=model) as app:
        await archive(app, [REMINDER] * 5, first=START, apart=DAY)
        await say(app, "what about the water for the cactus?")
    prompt = "\n".join(message.content for message in model.requests[-1].messages)
    assert "and 4 more times between 2026-03-0" in prompt
    assert prompt.count(REMINDER) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Am udat cactusul, măi Ștefan.", "am udat  cactusul, mai ştefan"),
        ("I watered the cactus!", "I watered the cactus."),
        ("仙人掌浇过水了。", "仙人掌浇过水了"),
    ],
)
async def test_case_accents_white_space_and_the_signs_at_the_end_make_no_other_text(one: str, other: str) -> None:
    async with memory_app() as app:
        await archive(app, [one, other])
        results = await found(app, one, SEARCH)
    assert [len(result.copies) for result in results] == [1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The door code is 4471.", "The door code is 4477."),
        ("I am allergic to nuts.", "I am not allergic to nuts."),
        ("Is the cactus dry?", "Is the cactus dry."),
    ],
)
async def test_a_text_that_says_something_else_is_no_copy_however_near_it_is(one: str, other: str) -> None:
    async with memory_app() as app:
        await archive(app, [one, other])
        results = await found(app, one, SEARCH)
    assert sorted(result.episode.text for result in results) == sorted([one, other])
    assert not any(result.copies for result in results)


async def test_the_same_words_of_two_people_are_two_results() -> None:
    async with memory_app() as app:
        for speaker, role in (("Ana", Role.USER), ("Dan", Role.USER), ("", Role.USER), ("", Role.ASSISTANT)):
            await archive(app, [REMINDER], speaker=speaker, role=role)
        results = await found(app, "cactus", SEARCH)
    assert len(results) == 4
