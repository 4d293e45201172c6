"""`goat calibrate threads`: the bands of an embedding model, measured on labelled pairs.

Three questions are asked of a pair: is a message on the thread, moving along it, or off it; does a stored text belong
to a thread; does a message return to an archived topic. Each threshold is the cosine that maximises balanced accuracy
(the mean of the shares of both classes that are told right), in the middle of the widest gap where several do. The
lexical threshold stays the published one, since the words do not depend on the model.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np

from goat.memory.l2_thread import Bands, bands_for, classify, cosine, returning_topic, row_name
from goat.ports.models import Embedder
from goat.records.memory import Activation, ArchivedTopic, ThreadState
from goat.settings.sections import ActivationSettings
from goat.testing.clock import START

LEXICAL_LOW = 0.15
"""The published threshold of the word overlap."""

CLASSES = {
    "message": ("warm", "drift", "cold"),
    "written": ("enriching", "filing"),
    "return": ("returns", "new"),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """The messages of a thread, another text, and what that text is to the thread (one of `CLASSES[kind]`)."""

    kind: str
    language: str
    left: tuple[str, ...]
    right: str
    expected: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A pair with the centroid of its thread, the thread's last vector and the text's vector."""

    pair: Pair
    centroid: tuple[float, ...]
    last: tuple[float, ...]
    vector: tuple[float, ...]

    @property
    def cosine(self) -> float:
        """What the rule looks at: a message is also compared with the one before it."""
        to_centroid = cosine(self.vector, self.centroid)
        return max(to_centroid, cosine(self.vector, self.last)) if self.pair.kind == "message" else to_centroid


def read_pairs() -> list[Pair]:
    """The pairs that ship with the bench."""
    lines = files("goat.bench").joinpath("data/thread_pairs.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [Pair(row["kind"], row["language"], tuple(row["left"]), row["right"], row["expected"]) for row in rows]


async def measure(embedder: Embedder, pairs: Sequence[Pair]) -> list[Measured]:
    """Embed every text as a turn does, and place it as the thread does. Raises `BackendUnavailable`."""
    frame = bands_for(embedder.name, ActivationSettings())
    texts = dict.fromkeys(text for pair in pairs for text in (*pair.left, pair.right))
    vectors = {text: np.array(frame.place(await embedder.embed_query(text))) for text in texts}
    measured = []
    for pair in pairs:
        said = [vectors[text] for text in pair.left]
        centroid = tuple(np.mean(said, axis=0).tolist())
        measured.append(Measured(pair, centroid, tuple(said[-1].tolist()), tuple(vectors[pair.right].tolist())))
    return measured


def best_threshold(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The value that best tells the positive (at or above it) from the negative by balanced accuracy."""
    values = sorted({*positive, *negative})
    gaps: list[tuple[float, float]] = list(pairwise(values)) or [(values[0], values[0])]

    def rank(gap: tuple[float, float]) -> tuple[float, float]:
        accuracy = balanced_accuracy(positive, negative, (gap[0] + gap[1]) / 2)
        return round(accuracy, 9), gap[1] - gap[0]

    low, high = max(gaps, key=rank)
    return round((low + high) / 2, 3)


def balanced_accuracy(positive: Sequence[float], negative: Sequence[float], at: float) -> float:
    """The mean of the share of the positive at or above `at` and the share of the negative below it."""
    above = sum(value >= at for value in positive) / len(positive)
    below = sum(value < at for value in negative) / len(negative)
    return (above + below) / 2


def fit(measured: Iterable[Measured]) -> Bands:
    """The bands of the model that measured the pairs."""
    of: dict[str, list[float]] = {}
    for one in measured:
        of.setdefault(one.pair.expected, []).append(one.cosine)
    warm = best_threshold(of["warm"], of["drift"] + of["cold"])
    cold = best_threshold(of["warm"] + of["drift"], of["cold"])
    return Bands(
        drift_warm=warm,
        drift_cold=min(cold, round(warm - 0.001, 3)),
        lexical_low=LEXICAL_LOW,
        enriching_sim=best_threshold(of["enriching"], of["filing"]),
        topic_return_threshold=best_threshold(of["returns"], of["new"]),
    )


def told(one: Measured, bands: Bands) -> str:
    """What the thread's rules say of a pair with these bands."""
    pair = one.pair
    if pair.kind == "message":
        thread = Activation("t", one.centroid, one.last, len(pair.left), pair.left)
        return classify(thread, pair.right, one.vector, bands, lambda: "new").state.value
    if pair.kind == "written":
        return "enriching" if one.cosine >= bands.enriching_sim else "filing"
    archived = [ArchivedTopic("t", one.centroid, len(pair.left), START)]
    return "returns" if returning_topic(archived, one.vector, bands.topic_return_threshold) else "new"


def confusion(measured: Iterable[Measured], bands: Bands) -> Counter[tuple[str, str]]:
    """How often a pair that is one thing was told to be another: (expected, told) -> count."""
    return Counter((one.pair.expected, told(one, bands)) for one in measured)


def right_share(table: Counter[tuple[str, str]], kind: str) -> float:
    """The balanced accuracy (0..1) of one kind of pair: the mean over its classes."""
    shares = []
    for expected in CLASSES[kind]:
        total = sum(table[expected, got] for got in CLASSES[kind])
        shares.append(table[expected, expected] / total)
    return sum(shares) / len(shares)


def wrongly_warm(table: Counter[tuple[str, str]]) -> int:
    """Messages served without a search that should not have been: the one mistake that can cost an answer."""
    warm = ThreadState.WARM.value
    return sum(count for (expected, got), count in table.items() if got == warm and expected == ThreadState.COLD.value)


def thresholds(bands: Bands) -> dict[str, float]:
    """The five thresholds by name."""
    return {name: value for name, value in asdict(bands).items() if name != "background"}


def row(bands: Bands, model: str) -> str:
    """The bands as a row of `threads.toml`."""
    lines = [f"{name} = {value:g}" for name, value in thresholds(bands).items()]
    return "\n".join([f'["{model}"]' if not re.fullmatch(r"[A-Za-z0-9_-]+", model) else f"[{model}]", *lines, ""])


def write_row(path: Path, bands: Bands, model: str) -> str:
    """Put the row into a `threads.toml`, in the place of the model's old one; returns the row's name."""
    name = row_name(model) or model
    text = path.read_text(encoding="utf-8")
    old = re.compile(rf'^\["?{re.escape(name)}"?\]\n(?:\w+ = .*\n?)*', re.MULTILINE)
    new, replaced = old.subn(lambda _: row(bands, name), text)
    path.write_text(new if replaced else f"{text.rstrip()}\n\n{row(bands, name)}", encoding="utf-8")
    return name
