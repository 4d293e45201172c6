"""The weights of the ranking formula, one row per embedding model, read from `data/weights.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each feature adds to a score, and how a score becomes a relevance.

    `cosine_floor` and `cosine_span` describe the model's geometry: the cosine of unrelated texts, and how far above it
    related ones stand. `relevance_*` are the coefficients of a logistic over the lexical score, the cosine in units of
    the span, and the constant.
    """

    passage: float
    cosine: float
    around_cosine: float
    session: float
    after_question: float
    question: float
    speaker: float
    human: float
    cosine_floor: float
    cosine_span: float
    relevance_lexical: float
    relevance_cosine: float
    relevance_constant: float


def weights_for(model: str) -> Weights:
    """The row of an embedding model, by the longest name that `model` starts with; the default row for any other."""
    rows = tomllib.loads(files("goat.retrieval").joinpath("data/weights.toml").read_text(encoding="utf-8"))
    default = rows.pop("default")
    names = [name for name in rows if model.startswith(name)]
    chosen = rows[max(names, key=len)] if names else {}
    return Weights(**{**default, **chosen})
