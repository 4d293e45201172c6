"""The reranker's place in the pipeline: what it changes, and what its absence or its failure leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.app import App
from goat.records.episodes import Episode, NewEpisode, Role
from goat.records.search import Floats, Recall, Recalled
from goat.retrieval.passages import split_passages
from goat.retrieval.pipeline import COLD, DRIFT, REFLEX, SEARCH, Recipe
from goat.retrieval.rerank import PART, NoReranker, reordered
from goat.settings import Settings
from goat.testing.app import memory_app, say
from goat.testing.clock import START
from goat.testing.faults import Away, Counted

QUESTION = "when does the boiler need water"
LEAST = Settings().recall.min_relevance


class PrefersLong:
    """A reranker that finds long texts right."""

    name = "prefers long"

    async def opinions(self, query: str, texts: Sequence[str]) -> Floats:
        return np.array([len(text) / 10 for text in texts], dtype=np.float32)


async def asked(app: App, recipe: Recipe, least: float = 0.0) -> Recall:
    """What is found for the question among three messages that are a year old."""
    old = app.backends.clock.now() - timedelta(days=365)
    texts = [
        "The boiler needs water every week.",
        "The boiler is loud and needs a new pump, said the man who came on Monday to look at it.",
        "Zebras sleep in the savannah.",
    ]
    episodes = [
        NewEpisode("admin", "notes", Role.USER, text, old + timedelta(hours=9 * number), f"{number}")
        for number, text in enumerate(texts)
    ]
    await app.memory.archive.append([replace(one, passages=split_passages(one.text)) for one in episodes])
    await app.memory.archive.embed()
    vector = (await app.memory.embed(QUESTION)).value
    return await app.memory.recall(app.memory.query("admin", QUESTION, app.backends.clock.now(), vector), recipe, least)


def order(recall: Recall) -> list[str]:
    return [result.episode.text for result in recall.results]


@pytest.mark.parametrize("recipe", [COLD, DRIFT, SEARCH], ids=lambda recipe: recipe.name)
async def test_f_b05_a_reranker_that_fails_leaves_the_order_and_the_calibrated_scores(recipe: Recipe) -> None:
    async with memory_app() as app:
        without = await asked(app, recipe)
    async with memory_app(reranker=Away("Reranker")) as app:
        failed = await asked(app, recipe)
    shown = [(result.episode.text, result.relevance, result.score) for result in without.results]
    assert [(result.episode.text, result.relevance, result.score) for result in failed.results] == shown
    assert [lost.what for lost in failed.lost] == ["reranker"]
    assert without.lost == ()


async def test_f_b05_a_turn_is_answered_while_the_reranker_is_away() -> None:
    async with memory_app(reranker=Away("Reranker")) as app:
        await say(app, "the boiler needs water every week")
        result = await say(app, "Ce mai faci?")
    assert result.text == "All right."


@pytest.mark.parametrize("recipe", [REFLEX, COLD, DRIFT, SEARCH], ids=lambda recipe: recipe.name)
async def test_f_b05_without_a_reranker_the_cutoff_knows_the_scale_and_keeps_what_is_old(recipe: Recipe) -> None:
    async with memory_app() as app:
        found = await asked(app, recipe, LEAST)
    assert order(found)[0] == "The boiler needs water every week."
    assert found.results[0].relevance > LEAST
    assert "Zebras sleep in the savannah." not in order(found)


async def test_a_reranker_reorders_what_the_evidence_ranked_and_its_part_is_shown() -> None:
    async with memory_app() as app:
        before = await asked(app, SEARCH)
    async with memory_app(reranker=PrefersLong()) as app:
        after = await asked(app, SEARCH)
    assert sorted(order(before)) == sorted(order(after))
    assert order(after) == sorted(order(before), key=len, reverse=True)
    for result in after.results:
        assert result.parts[PART] == pytest.approx(len(result.episode.text) / 10)
        assert sum(result.parts.values()) == pytest.approx(result.score, abs=1e-4)


async def test_a_reply_that_waits_does_not_wait_for_the_reranker() -> None:
    counted = Counted(NoReranker())
    async with memory_app(reranker=counted) as app:
        await asked(app, REFLEX)
        assert counted.calls["opinions"] == 0
        await app.memory.search("admin", QUESTION, app.backends.clock.now(), 5)
        assert counted.calls["opinions"] == 1


SCORES = st.floats(-3, 3, width=32)


@given(st.lists(st.tuples(SCORES, SCORES), max_size=12))
def test_every_result_stands_once_and_the_sum_decides(pairs: list[tuple[float, float]]) -> None:
    results = [recalled(number, score) for number, (score, _) in enumerate(pairs)]
    judged = reordered(results, np.array([opinion for _, opinion in pairs], dtype=np.float32))
    assert sorted(one.episode.id for one in judged) == list(range(len(pairs)))
    sums = {number: score + opinion for number, (score, opinion) in enumerate(pairs)}
    if any(opinion for _, opinion in pairs):
        found = [sums[one.episode.id] for one in judged]
        assert found == sorted(found, reverse=True)
    else:
        assert [one.episode.id for one in judged] == list(range(len(pairs)))


def recalled(number: int, score: float) -> Recalled:
    episode = Episode(
        id=number,
        uid=f"e{number}",
        owner="admin",
        chat="test",
        role=Role.USER,
        text=f"text {number}",
        at=START,
        exchange_id=f"{number}",
    )
    return Recalled(episode, 0.5, score, {"words": score})


async def test_no_model_has_no_opinion() -> None:
    assert (await NoReranker().opinions("q", ["a", "b"])).tolist() == [0.0, 0.0]
    assert (await NoReranker().opinions("q", [])).tolist() == []
