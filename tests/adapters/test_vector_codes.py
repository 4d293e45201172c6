"""A vector as bytes: how far off a code may be, and that it is made alike from what the journal keeps."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from goat.adapters.vector_codes import gathered, scan, to_codes, usual_scale
from goat.records.search import Floats

E5 = 384


@settings(max_examples=60, deadline=None)
@given(npst.arrays(np.float32, (2, E5), elements=st.floats(-1, 1, width=32)))
def test_a_code_is_off_by_at_most_half_a_step_where_it_is_not_cut(vectors: Floats) -> None:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors / np.where(norms > 0, norms, 1)
    scale = usual_scale(E5)
    restored = to_codes(vectors, scale) * scale
    reach = 127 * scale
    np.testing.assert_allclose(restored, np.clip(vectors, -reach, reach), atol=scale * 0.5 + 2**-12)


def test_codes_made_from_what_the_journal_keeps_are_the_same_to_the_bit() -> None:
    vectors = np.random.default_rng(0).normal(size=(500, E5))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    scale = usual_scale(E5)
    np.testing.assert_array_equal(to_codes(vectors, scale), to_codes(vectors.astype(np.float16), scale))


@settings(max_examples=60)
@given(
    npst.arrays(np.float32, E5, elements=st.floats(-1, 1, width=32)),
    st.integers(0, 70),
    st.integers(0, 2**32 - 1),
)
def test_a_scan_is_off_by_no_more_than_the_rounding_of_the_query(query: Floats, rows: int, seed: int) -> None:
    codes = np.random.default_rng(seed).integers(-127, 128, (rows, E5), dtype=np.int8)
    exact = codes.astype(np.float64) @ query.astype(np.float64)
    step = float(np.abs(query).max()) / 127
    most = np.abs(codes.astype(np.float64)).sum(axis=1) * step * 0.5
    found = scan(codes, query)
    assert found.dtype == np.float32
    assert (np.abs(found - exact) <= most * 1.001 + 1e-3).all()


def test_gathered_rows_are_compared_with_the_query_as_it_is() -> None:
    random = np.random.default_rng(1)
    codes = random.integers(-127, 128, (5000, E5), dtype=np.int8)
    query = random.normal(size=E5).astype(np.float32)
    rows = np.sort(random.choice(5000, 2500, replace=False))
    exact = codes[rows].astype(np.float64) @ query.astype(np.float64)
    np.testing.assert_allclose(gathered(codes, rows, query), exact, rtol=1e-4, atol=0.05)
