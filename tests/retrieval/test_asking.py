"""A question to a pasted page is looked for as if it stood alone."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from goat.adapters.embedder_hashing import HashingEmbedder
from goat.app import App
from goat.records.episodes import Episode, Role
from goat.records.search import Floats, Lost, Recall, Recalled
from goat.retrieval.asking import asked_in, together
from goat.retrieval.pipeline import REFLEX
from goat.testing.app import archive, memory_app

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
QUESTION = "When is my dentist appointment?"
ANSWER = "The dentist appointment is on Friday at 5 pm."
ARTICLE = (
    "The octopus is a mollusc with eight limbs. It has three hearts, of which two pump blood through the gills. Most "
    "species live on the sea bed, where they hunt crabs and small fish at night. They change their colour within a "
    "moment, squeeze through narrow gaps and open jars. Two thirds of the neurons are in the arms, which act with some "
    "independence. The female guards her eggs for months without eating, and dies soon after they hatch."
)


async def found(app: App, text: str, within: float | None = None) -> Recall:
    vector = (await app.memory.embed(text)).value
    query = app.memory.query("admin", text, app.backends.clock.now(), vector)
    return await app.memory.recall(query, REFLEX, within=within)


@pytest.mark.parametrize("message", [f"{ARTICLE}\n\n{QUESTION}", f"{QUESTION}\n\n{ARTICLE}", f"{ARTICLE} {QUESTION}"])
async def test_a_pasted_page_does_not_drown_the_question_to_it(message: str) -> None:
    async with memory_app() as app:
        await archive(app, [*(f"Note {n}: an ordinary day at the office." for n in range(9)), ANSWER], "notes {}", AT)
        alone = (await found(app, QUESTION)).results[0]
        pasted = (await found(app, message)).results[0]
    assert alone.episode.text == pasted.episode.text == ANSWER
    assert pasted.relevance >= alone.relevance


async def test_what_the_page_itself_is_near_to_is_found_too() -> None:
    octopus = "We saw an octopus that hunts crabs on the sea bed at night."
    async with memory_app() as app:
        await archive(app, ["The bicycle is blue.", octopus, ANSWER], "notes {}", AT)
        results = (await found(app, f"{ARTICLE}\n{QUESTION}")).results
    assert [one.episode.text for one in results[:2]] == [ANSWER, octopus]


class LateForTheQuestion(HashingEmbedder):
    async def embed_query(self, text: str) -> Floats:
        if text == QUESTION:
            await asyncio.Event().wait()
        return await super().embed_query(text)


async def test_where_the_question_comes_too_late_the_whole_message_is_served() -> None:
    async with LateForTheQuestion() as embedder, memory_app(embedder=embedder) as app:
        await archive(app, [ANSWER], "notes {}", AT)
        recall = await found(app, f"{ARTICLE}\n{QUESTION}", within=0.5)
    assert [one.episode.text for one in recall.results] == [ANSWER]
    assert [one.what for one in recall.lost] == ["what it asks"]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (QUESTION, ""),
        (ARTICLE, ""),
        (f"{QUESTION} {ARTICLE}", QUESTION),
        (f"{ARTICLE}\n- {QUESTION}\n{ARTICLE}", f"- {QUESTION}"),
        (f"{ARTICLE} See https://example.org/?q=1 for more.", ""),
        (f"{ARTICLE} Who is it ? Is there a version 2.5 of it?", "Who is it ? Is there a version 2.5 of it?"),
        (f"{QUESTION} {ARTICLE} {'Why? ' * 9} Where?", f"{QUESTION} Where?"),
        ("章魚有八條腕足。" * 30 + "我的牙醫預約是什麼時候？謝謝。", "我的牙醫預約是什麼時候？"),
        ("word " * 100 + "?", ""),
    ],
)
def test_only_the_questions_of_a_long_message_are_looked_for_by_themselves(text: str, asked: str) -> None:
    assert asked_in(text) == asked


def recalled(number: int, relevance: float) -> Recalled:
    return Recalled(Episode(number, "u", "ana", "c", Role.USER, "text", AT, "x"), relevance, relevance)


def test_what_two_searches_found_is_ranked_together_and_each_keeps_its_order() -> None:
    whole = Recall("whole", (recalled(1, 0.5), recalled(2, 0.9), recalled(3, 0.4)), (Lost("meaning", "away"),))
    asked = Recall("asked", (recalled(4, 0.8), recalled(1, 0.7)), (Lost("meaning", "away"), Lost("words", "away")))
    both = together(whole, asked, 3)
    assert [(one.episode.id, one.relevance) for one in both.results] == [(4, 0.8), (1, 0.7), (2, 0.9)]
    assert both.query == "whole"
    assert [one.what for one in both.lost] == ["meaning", "words"]
