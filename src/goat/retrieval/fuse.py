"""One score from all features.

    score = [same text] + t * a * passage + b * cosine + c * mean cosine of the three passages around
          + t * d * session + e * nearness in time
          + f [the passage before is a short question] + g [is a short question]
          + h [the one speaker named] + i [a person's words] + k * named + l * newer

where t is the trust in words, and `named` how much of what the query names the passage itself names: of a name that
nearly every passage has next to nothing, of a rare one all. `newer` (0..1) decides between equals of one's own: a
correction says nearly the same as what it corrects.

Lexical scores are divided by their own maximum, and cosines are those of the query less what all of the archive has in
common (`Weights.direction`). So a score does not depend on the list that it stands in and compares between queries of
one embedding model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goat.records.search import NEIGHBOUR_REACH, Floats, LexicalFeatures, Neighbourhood
from goat.retrieval.speakers import named_speaker
from goat.retrieval.weights import Weights

OWN_ALLOWANCE = 2.0
"""How far, in logits, its surroundings may lift a passage above what it holds itself."""

BEST_ALLOWANCE = 1.0
"""How far any passage may stand above what the best one holds itself."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for the candidates.

    `cosines` is one per candidate (no NaN), `around` those of its surroundings in the shape of `Neighbourhood.around`
    with NaN where there is no passage or no vector, `unrelated` the cosine of a text that has nothing to do with the
    query, `same_text` which candidates are the query itself, said before. `in_window` marks what was said in a time
    that the query asks for or tells of it, `nearness` (0..1.5) how near in time it is. `named` (0..1) is how much of
    the words of the query's entities the passage itself holds, as `LexicalFeatures.rare` counts. `echo` marks the query
    asked before, `asks` the short questions of its person.
    """

    lexical: LexicalFeatures
    cosines: Floats
    around: Floats
    unrelated: float
    same_text: NDArray[np.bool_]
    in_window: NDArray[np.bool_]
    nearness: Floats
    named: Floats
    key_held: bool = False
    echo: NDArray[np.bool_] | None = None
    beside_echo: NDArray[np.bool_] | None = None
    asks: NDArray[np.bool_] | None = None

    @property
    def telling(self) -> NDArray[np.bool_]:
        """The candidates that say how good the best is: those that owe nothing to an echo, else those that are none."""
        everything = np.ones(len(self.cosines), dtype=np.bool_)
        if self.echo is None or self.beside_echo is None:
            return everything
        for telling in (~(self.echo | self.beside_echo), ~self.echo):
            if telling.any():
                return telling
        return everything


@dataclass(frozen=True, slots=True)
class Scores:
    """One entry per candidate: the score, the relevance in 0..1, whether the cutoff spares it, the score's parts,
    by what in 0..1 the cutoff judges it, and which are the query itself, asked before."""

    total: Floats
    relevance: Floats
    spared: NDArray[np.bool_]
    parts: dict[str, Floats]
    worth: Floats
    echo: NDArray[np.bool_] | None = None


def newer(at: NDArray[np.float64]) -> Floats:
    """The place of each candidate in their order of time, from 0 for the oldest to 1 for the newest."""
    moments, places = np.unique(at, return_inverse=True)
    return np.asarray(places / max(len(moments) - 1, 1), dtype=np.float32)


def around_mean(cosines: Floats, around: Floats) -> Floats:
    """The mean cosine of each candidate and its direct neighbours, over those that exist.

    `around` has NaN where there is no passage or no vector.
    """
    window = around[:, NEIGHBOUR_REACH - 1 : NEIGHBOUR_REACH + 2].copy()
    window[:, 1] = cosines
    known = ~np.isnan(window)
    mean = np.where(known, window, 0.0).sum(axis=1) / known.sum(axis=1)
    return np.asarray(mean, dtype=np.float32)


def trust_in_words(evidence: Evidence, weights: Weights) -> Floats:
    """How much the lexical features count, in 0..1, one per candidate.

    They are relative to the best of their kind, so where no candidate holds more than a stray word of the query, as
    when it is asked in another language, they would lift chance. An exact key is no chance, and a passage without a
    vector has nothing else to be found by.
    """
    held = float(evidence.lexical.held[evidence.telling].max(initial=0.0))
    trust = np.clip((held - weights.words_untrusted) / (weights.words_trusted - weights.words_untrusted), 0.0, 1.0)
    full = np.isnan(evidence.around[:, NEIGHBOUR_REACH]) | evidence.key_held
    return np.where(full, np.float32(1.0), np.float32(trust)).astype(np.float32)


def fuse(query: str, near: Neighbourhood, evidence: Evidence, weights: Weights) -> Scores:
    """Score every candidate."""
    lexical = evidence.lexical
    named = named_speaker(query, near.speakers)
    by_named = np.array([bool(named) and speaker == named for speaker in near.speakers], dtype=np.bool_)
    said_by = voices(near.speakers, named)
    trust = trust_in_words(evidence, weights)
    parts = {
        "verbatim": weights.verbatim * evidence.same_text.astype(np.float32),
        "passage": weights.passage * trust * lexical.passage,
        "cosine": weights.cosine * evidence.cosines,
        "around_cosine": weights.around_cosine * around_mean(evidence.cosines, evidence.around),
        "session": weights.session * trust * lexical.session,
        "nearness": weights.nearness * evidence.nearness,
        "after_question": weights.after_question * near.after_question.astype(np.float32),
        "question": weights.question * near.question.astype(np.float32),
        "speaker": weights.speaker * by_named.astype(np.float32),
        "human": weights.human * near.human.astype(np.float32),
        "entity": weights.entity * evidence.named,
        "newer": weights.newer * newer(near.at) * said_by.own,
    }
    total = np.asarray(np.sum(list(parts.values()), axis=0), dtype=np.float32)
    ageless = total - parts["newer"]
    relevant = relevance(ageless, ageless - parts["speaker"], evidence, said_by, weights)
    return Scores(total, relevant, evidence.in_window, parts, relevant, evidence.echo)


@dataclass(frozen=True, slots=True)
class Voices:
    """Who said each candidate, where the query names one speaker: another with a name (`others`), or the owner and the
    assistant, who have none (`own`). What one told somebody, or heard of somebody, is one's own to ask for."""

    others: NDArray[np.bool_]
    own: NDArray[np.bool_]


def voices(speakers: Sequence[str], named: str) -> Voices:
    """The voices of the candidates; nobody is another where nobody is named."""
    own = np.array([not speaker for speaker in speakers], dtype=np.bool_)
    others = np.array([bool(named) and speaker != named for speaker in speakers], dtype=np.bool_)
    return Voices(others & ~own, own)


def relevance(total: Floats, unnamed: Floats, evidence: Evidence, said_by: Voices, weights: Weights) -> Floats:
    """The calibrated relevance in 0..1, as a logistic over three readings of the evidence, of which the least counts.

    First, what the score says beyond that of an unrelated text. Second, what the passage itself holds of the query, in
    words and in meaning, with an allowance: its surroundings may speak for it, but not alone. Third, the same of the
    best candidate: where nothing holds anything of the query, nothing is relevant. Two questions are near to each other
    for their form alone, so what the same person asked holds of a question no more than its words.

    What others said than the one speaker whom the query names is less relevant, and so is everything but what is the
    owner's when the best three candidates are by others, or the best of others stands above the best of the one named,
    by the scores `unnamed` to which the name added nothing: the question then probably names the wrong person. The
    query's own text, said before, is relevant without a doubt.
    """
    ground = (weights.cosine + weights.around_cosine) * evidence.unrelated
    beyond = weights.relevance_slope * (total - ground - weights.relevance_centre)
    closeness = np.clip((evidence.cosines - evidence.unrelated) / weights.cosine_span, -1.0, 1.5)
    if evidence.asks is not None:
        closeness = np.where(evidence.asks, np.minimum(closeness, 0.0), closeness)
    own = weights.own_words * evidence.lexical.held + closeness + weights.own_constant
    telling = np.flatnonzero(evidence.telling)
    best = telling[np.argsort(-total[telling], kind="stable")][:3]
    others = said_by.others
    behind = _behind(unnamed[telling], others[telling], weights.behind_span)
    logit = (
        np.minimum(np.minimum(beyond, own + OWN_ALLOWANCE), own[telling].max() + BEST_ALLOWANCE)
        - weights.relevance_other * others
        - (~said_by.own) * (weights.relevance_all_others * others[best].mean() + weights.relevance_behind * behind)
    )
    calibrated = 1.0 / (1.0 + np.exp(-np.clip(logit, -30.0, 30.0)))
    return np.where(evidence.same_text, np.float32(1.0), calibrated).astype(np.float32)


def _behind(scores: Floats, others: NDArray[np.bool_], span: float) -> float:
    """How far, in 0..1, the best by the named speaker stands behind the best by others; 0 where either is missing."""
    if others.all() or not others.any():
        return 0.0
    return float(np.clip((scores[others].max() - scores[~others].max()) / span, 0.0, 1.0))
