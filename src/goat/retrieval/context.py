"""The surroundings of the candidates: a passage is judged together with what was said around it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from goat.records.search import NEIGHBOUR_REACH, Floats, LexicalFeatures, Neighbourhood, Ords

EXPAND_BY = 2
"""Steps on each side by which the candidates grow; cutting before growing loses two points of recall."""


HELD_ALIKE = 0.1
"""Passages whose shares of the query's words differ by no more hold about as much of it."""


def alone(ords: Ords, episode_ids: Mapping[int, int]) -> Neighbourhood:
    """Candidates without surroundings, for when only the vectors can be asked. Unknown passages are left out."""
    known = np.array([number for number in ords.tolist() if number in episode_ids], dtype=np.int64)
    around = np.full((len(known), 2 * NEIGHBOUR_REACH + 1), -1, dtype=np.int64)
    around[:, NEIGHBOUR_REACH] = known
    nothing = np.zeros(len(known), dtype=np.bool_)
    return Neighbourhood(
        ords=known,
        episode_ids=np.array([episode_ids[number] for number in known.tolist()], dtype=np.int64),
        around=around,
        question=nothing,
        after_question=nothing,
        human=nothing,
        at=np.zeros(len(known)),
        speakers=("",) * len(known),
    )


def no_lexical_features(near: Neighbourhood) -> LexicalFeatures:
    """Zeros for every candidate."""
    zeros = np.zeros(len(near.ords), dtype=np.float32)
    return LexicalFeatures(passage=zeros, session=zeros, held=zeros, rare=zeros)


def fill_unknown(cosines: Floats, held: Floats, otherwise: float) -> Floats:
    """Give passages without a vector the mean of those cosines whose passages hold about as much of the query's words
    (`held`, 0..1), where there are none the mean of all, and `otherwise` where none is known.

    A zero would bury exactly the newest messages, whose vectors are still to come, and the mean of all a correction
    below what it corrects.
    """
    unknown = np.isnan(cosines)
    if not unknown.any():
        return cosines
    if unknown.all():
        return np.full(cosines.shape, otherwise, dtype=np.float32)
    known = ~unknown
    filled = np.where(unknown, cosines[known].mean(), cosines).astype(np.float32)
    for row in np.flatnonzero(unknown):
        alike = known & (np.abs(held - held[row]) <= HELD_ALIKE)
        if alike.any():
            filled[row] = cosines[alike].mean()
    return filled
