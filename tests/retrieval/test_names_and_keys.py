"""What a question names, and the ids in it, decide: who comes first, who passes the cutoff, which of near twins."""

from __future__ import annotations

import pytest

from goat.app import App
from goat.retrieval.pipeline import REFLEX, Recipe
from goat.retrieval.query import Query
from goat.testing.app import archive, memory_app

OTHERS = tuple(f"Zebra {number} sleeps in the savannah." for number in range(60))


async def query_of(app: App, text: str, names: bool = True) -> Query:
    """A question as a turn asks it; without `names` nothing is known of whom it names."""
    vector, entities = (await app.memory.embed(text)).value, (await app.memory.entities(text)).value
    return app.memory.query("admin", text, app.backends.clock.now(), vector, entities if names else ())


@pytest.mark.parametrize(
    ("question", "named", "other"),
    [
        ("Has Ana a parrot?", "Ana has a cat.", "Somebody has a parrot."),
        ("Where did Ana meet a lion?", "I saw Ana there.", "I saw a lion there."),
    ],
)
async def test_of_two_that_share_a_word_with_the_question_the_one_that_shares_its_name_comes_first(
    question: str, named: str, other: str
) -> None:
    async with memory_app() as app:
        await archive(app, (*OTHERS, named, other), "chat {}")
        found = (await app.memory.recall(await query_of(app, question), REFLEX)).results
        without = (await app.memory.recall(await query_of(app, question, names=False), REFLEX)).results
    assert [one.episode.text for one in found[:2]] == [named, other]
    assert [one.episode.text for one in without[:2]] == [other, named]


async def test_a_name_that_is_shared_lifts_a_message_over_the_cutoff() -> None:
    told = "Ana came late to the long and boring meeting about the budget for the new office by the river."
    question = "Why was Ana angry with the neighbours about their loud music?"
    async with memory_app() as app:
        await archive(app, (*OTHERS, told), "chat {}")
        asked, nameless = await query_of(app, question), await query_of(app, question, names=False)
        (worth, *_), (less, *_) = [(await app.memory.recall(one, REFLEX)).results for one in (asked, nameless)]
        assert worth.episode.text == less.episode.text == told
        assert worth.relevance > less.relevance
        least = (worth.relevance + less.relevance) / 2
        kept = (await app.memory.recall(asked, REFLEX, least)).results
        assert [one.episode.text for one in kept] == [told]
        assert (await app.memory.recall(nameless, REFLEX, least)).results == ()


@pytest.mark.parametrize(
    ("texts", "asked"),
    [
        (["ticket TKT-4711 is open", "ticket TKT-4712 is open", "ticket TKT-4117 is open"], "is tkt-4711 open?"),
        (["call me at +40 721 345 678", "call me at +40 721 345 679"], "who has the number 0721 345 678?"),
        (["write to ana.pop@example.org", "write to ana.popa@example.org"], "whose is Ana.Pop@example.org?"),
        (
            [
                "the job is 6f9619ff-8b86-d011-b42d-00cf4fc964ff",
                "the job is 6f9619fe-8b86-d011-b42d-00cf4fc964ff",
            ],
            "what became of job 6F9619FF-8B86-D011-B42D-00CF4FC964FF?",
        ),
        (
            [
                "the job is 6f9619ff-8b86-d011-b42d-00cf4fc964ff",
                "the job is 6f9619fe-8b86-d011-b42d-00cf4fc964ff",
            ],
            "what became of job 6F9619FF8B86D011B42D00CF4FC964FF?",
        ),
        (
            ["the account is RO49AAAA1B31007593840000", "the account is RO31BBBB1B31007593840000"],
            "whose is RO49 AAAA 1B31 0075 9384 0000 in the list?",
        ),
    ],
    ids=["ticket", "phone", "mail", "uuid", "uuid without hyphens", "iban with spaces"],
)
async def test_an_id_finds_its_message_by_itself_among_near_twins(texts: list[str], asked: str) -> None:
    async with memory_app() as app:
        await archive(app, texts, "chat {}")
        query = await query_of(app, asked)
        alone = (await app.memory.recall(query, Recipe("keys", ("keys",)))).results
        reflex = (await app.memory.recall(query, REFLEX)).results
    assert [one.episode.text for one in alone] == texts[:1]
    assert reflex[0].episode.text == texts[0]
    assert [one.episode.text for one in reflex if "keys" in one.mechanisms] == texts[:1]
