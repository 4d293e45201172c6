"""The weights of the ranking formula, one row per embedding model, read from `data/weights.toml`."""

from __future__ import annotations

import base64
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from goat.records.search import Centre, Floats

BACKGROUND_COUNT = 50
"""As how many messages the background counts beside an archive's own."""

LANGUAGES_APART = 0.01
"""By how much less a text is like one language than like another when it is e times less likely to be in it."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each feature adds to a score, and how a score becomes a relevance.

    `words_untrusted` and `words_trusted` are the shares of the query's words that the best candidate holds at which
    lexical features count for nothing and in full.

    How near unrelated texts are depends on the model, on the query and on the language: a short greeting is near to
    everything, and a question in Chinese to everything in Chinese. Where the mean vectors of everyday sentences are
    known, of each of the `languages` and of many mixed (`background`; all base64 of little-endian float16), a query's
    cosine with that of the languages which it and its archive are in, plus `cosine_margin`, is what an unrelated text
    reaches; elsewhere `cosine_floor` is, and a closely related one stands about `cosine_span` above it.
    `relevance_slope` and `relevance_centre` turn a score beyond that into a relevance, `own_*` what a passage holds
    itself, and the last four say what is lost where another than the named speaker said it.
    """

    verbatim: float
    passage: float
    cosine: float
    around_cosine: float
    session: float
    nearness: float
    after_question: float
    question: float
    speaker: float
    human: float
    centring: float
    entity: float
    newer: float
    words_untrusted: float
    words_trusted: float
    background: str
    languages: Mapping[str, str]
    cosine_floor: float
    cosine_margin: float
    cosine_span: float
    relevance_slope: float
    relevance_centre: float
    own_words: float
    own_constant: float
    relevance_other: float
    relevance_all_others: float
    relevance_behind: float
    behind_span: float

    def unrelated(self, vector: Floats | None, centre: Centre | None = None) -> float:
        """The cosine that a text which has nothing to do with a query reaches in an archive with this centre.

        It is expected in the languages that both are in. Of the centre the subject does not count: a question that is
        near to all that an archive is about has the likelier an answer there.
        """
        if vector is None or not self.background:
            return self.cosine_floor
        everyday = _decoded(self.background)
        if centre is not None and self.languages:
            languages = np.stack([_decoded(packed) for packed in self.languages.values()])
            likeness = languages @ (centre.mean + vector)
            shares = np.exp((likeness - likeness.max()) / LANGUAGES_APART)
            everyday = shares @ languages / shares.sum()
        return float(vector @ everyday) + self.cosine_margin

    def direction(self, vector: Floats, centre: Centre | None) -> Floats:
        """A query's vector less `centring` times the centre of what it is asked of.

        What all messages of an archive have in common (its language, its tone, its names) lifts those most that say
        little else. A small archive's centre is its few messages, so it is taken together with the background.
        """
        if centre is None or not self.centring:
            return vector
        background = _decoded(self.background) if self.background else np.zeros_like(centre.mean)
        common = (centre.count * centre.mean + BACKGROUND_COUNT * background) / (centre.count + BACKGROUND_COUNT)
        return np.asarray(vector - self.centring * common, dtype=np.float32)


@lru_cache(maxsize=64)
def _decoded(packed: str) -> Floats:
    return np.frombuffer(base64.b64decode(packed), dtype="<f2").astype(np.float32)


def weights_for(model: str, entity: float | None = None) -> Weights:
    """The row of an embedding model, by the longest name that `model` starts with; the default row for any other.

    `entity` is what names count where that is set apart.
    """
    rows = _rows()
    own = {} if entity is None else {"entity": entity}
    return Weights(**{**rows["default"], **rows[row_name(model)], **own})


def row_name(model: str) -> str:
    """The longest name of a row that `model` starts with, `default` where there is none."""
    return max((name for name in _rows() if model.startswith(name)), key=len, default="default")


def _rows() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("goat.retrieval").joinpath("data/weights.toml").read_text(encoding="utf-8"))
