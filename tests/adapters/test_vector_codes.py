"""A vector as bytes: how far off a code may be, and that it is made alike from what the journal keeps."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from goat.adapters.vector_codes import to_codes, usual_scale
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
