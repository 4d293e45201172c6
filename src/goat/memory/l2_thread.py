"""L2.5, the thread: what a chat is about now. Pure rules over `Activation`.

A message is compared with the topic's centroid and with the message before it; words count too, so that a thread breaks
only when meaning and vocabulary both leave it.
"""

from __future__ import annotations

import base64
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.resources import files

import numpy as np

from goat.records.memory import Activation, ArchivedTopic, Held, ThreadState
from goat.records.search import Floats
from goat.retrieval.query import distinct_terms
from goat.retrieval.weights import weights_for
from goat.settings.sections import ActivationSettings

DEFAULT_ROW = "default"
"""The bands of a model that nobody has measured."""

STABLE_AFTER = 20
"""Turns after which a topic's centroid moves no slower."""


@dataclass(frozen=True, slots=True)
class Bands:
    """Thresholds of one embedding model, for vectors as `place` gives them.

    All vectors of a model share a direction that says nothing of what a text is about; `background` is what of it is
    taken away before two are compared (Mu & Viswanath, "All-but-the-Top", 2018), empty where it was not measured.

    A cosine of at least `drift_warm` is the same thread; below `drift_cold`, with a lexical overlap below
    `lexical_low`, a new one; in between the thread moves. `topic_return_threshold` is the cosine that resumes an
    archived topic, `enriching_sim` the one from which a stored fact belongs to the thread.
    """

    drift_warm: float
    drift_cold: float
    lexical_low: float
    enriching_sim: float
    topic_return_threshold: float
    background: tuple[float, ...] = ()

    def place(self, vector: Floats | None) -> tuple[float, ...]:
        """An embedder's vector as the thread compares it, () for none."""
        if vector is None:
            return ()
        if len(self.background) != len(vector):
            return tuple(vector.tolist())
        return tuple((vector - np.asarray(self.background, dtype=np.float32)).tolist())


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of a turn and the topic it belongs to; `resumed` is the archived topic that returns."""

    state: ThreadState
    topic_id: str
    resumed: ArchivedTopic | None = None


def bands_for(model: str, overrides: ActivationSettings) -> Bands:
    """The bands of an embedding model, the default row for one that was not measured; settings outrank both.

    Raises `SettingsError` when an override contradicts the row.
    """
    thresholds = overrides.thresholds(_rows()[row_name(model) or DEFAULT_ROW], model)
    return Bands(**thresholds, background=background_of(model))


def background_of(model: str) -> tuple[float, ...]:
    """The mean vector of everyday sentences as the model embeds them, () where it was not measured."""
    packed = base64.b64decode(weights_for(model).background)
    return tuple(np.frombuffer(packed, dtype="<f2").astype(float).tolist())


def row_name(model: str) -> str | None:
    """The name of the measured row that holds for an embedding model, None when nobody has measured it."""
    return max((name for name in _rows() if name in model), key=len, default=None)


def _rows() -> dict[str, dict[str, float]]:
    return tomllib.loads(files("goat.memory").joinpath("data/threads.toml").read_text(encoding="utf-8"))


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """The cosine of two vectors, 0.0 when one is empty, zero or of another length."""
    if not left or len(left) != len(right):
        return 0.0
    a, b = np.asarray(left), np.asarray(right)
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / size if size else 0.0


def brings_new_words(text: str, thread: Activation) -> bool:
    """Whether half of a text's terms or more are not in the message that the held results were found for.

    What it asks was then not looked for yet. Before the first search has ended, the newest message counts.
    """
    terms = set(distinct_terms(text))
    asked = thread.held_query or "".join(thread.recent_queries[-1:])
    return bool(terms) and len(terms - set(distinct_terms(asked))) * 2 >= len(terms)


def lexical_overlap(text: str, recent: Sequence[str]) -> float:
    """The Jaccard index of a text's terms and the terms of recent messages, 0.0 when either has none."""
    terms = set(distinct_terms(text))
    known = {term for message in recent for term in distinct_terms(message)}
    return len(terms & known) / len(terms | known) if terms and known else 0.0


def classify(
    thread: Activation, text: str, vector: Sequence[float], bands: Bands, new_topic: Callable[[], str]
) -> Verdict:
    """Decide how a message relates to the thread.

    A near message is warm only when what is held was found for its words, since a warm turn is served without a search.
    Without a vector a known thread goes on as drift.
    """
    if not thread.topic_id:
        return Verdict(ThreadState.COLD, new_topic())
    if not vector or not thread.centroid:
        return Verdict(ThreadState.DRIFT, thread.topic_id)
    nearness = max(cosine(vector, thread.centroid), cosine(vector, thread.last_vector))
    if nearness >= bands.drift_warm and not brings_new_words(text, thread):
        return Verdict(ThreadState.WARM, thread.topic_id)
    if nearness >= bands.drift_cold or lexical_overlap(text, thread.recent_queries) >= bands.lexical_low:
        return Verdict(ThreadState.DRIFT, thread.topic_id)
    resumed = returning_topic(thread.archived_topics, vector, bands.topic_return_threshold)
    return Verdict(ThreadState.COLD, resumed.topic_id if resumed else new_topic(), resumed)


def returning_topic(
    archived: Sequence[ArchivedTopic], vector: Sequence[float], least_cosine: float
) -> ArchivedTopic | None:
    """The archived topic that a message is nearest to, None when none is near enough."""
    best = max(archived, key=lambda topic: cosine(vector, topic.centroid), default=None)
    return best if best is not None and cosine(vector, best.centroid) >= least_cosine else None


def moved(centroid: Sequence[float], vector: Sequence[float], turn_count: int) -> tuple[float, ...]:
    """The centroid after one more message: alpha = 1 / min(turn_count, 20), so that old topics resist drift."""
    if not centroid:
        return tuple(vector)
    alpha = 1.0 / min(max(turn_count, 1), STABLE_AFTER)
    return tuple(((1 - alpha) * np.asarray(centroid) + alpha * np.asarray(vector)).tolist())


def advance(
    thread: Activation,
    verdict: Verdict,
    text: str,
    vector: Sequence[float],
    at: datetime,
    lexical_window: int,
    archive_max: int,
) -> Activation:
    """The thread after a turn. A new topic archives the leaving one; a resumed topic gets back what it had."""
    recent = (*thread.recent_queries, text)[-lexical_window:]
    count = thread.turn_count + 1
    match verdict.state:
        case ThreadState.WARM:
            after = replace(thread, turn_count=count)
        case ThreadState.DRIFT:
            centroid = moved(thread.centroid, vector, count) if vector else thread.centroid
            after = replace(thread, turn_count=count, centroid=centroid)
        case ThreadState.COLD:
            after = _enter(thread, verdict, vector, at, archive_max)
            recent = (text,)
    return replace(after, recent_queries=recent, last_vector=tuple(vector) or after.last_vector)


def _enter(thread: Activation, verdict: Verdict, vector: Sequence[float], at: datetime, archive_max: int) -> Activation:
    archived = [topic for topic in thread.archived_topics if topic.topic_id not in (verdict.topic_id, thread.topic_id)]
    if thread.topic_id and thread.centroid:
        archived.append(ArchivedTopic(thread.topic_id, thread.centroid, thread.turn_count, at))
    entered = Activation(topic_id=verdict.topic_id, archived_topics=tuple(archived[-archive_max:]))
    if verdict.resumed is None:
        return replace(entered, centroid=tuple(vector), turn_count=1)
    count = verdict.resumed.turn_count + 1
    return replace(entered, centroid=moved(verdict.resumed.centroid, vector, count), turn_count=count)


def hold(thread: Activation, held: Sequence[Held], query: str, episode_id: int, at: datetime) -> Activation | None:
    """The thread with new results, None when it holds those of a newer message already.

    Held episodes that are newer than the message stay in front: a search for it could not find them.
    """
    if episode_id < thread.held_for:
        return None
    found = {one.episode_id for one in held}
    newer = [one for one in thread.held if one.episode_id > episode_id and one.episode_id not in found]
    return replace(thread, held=(*newer, *held), held_query=query, held_for=episode_id, held_at=at)


def refreshed(
    thread: Activation, topic_id: str, query: str, held: Sequence[Held], written: int, at: datetime
) -> Activation | None:
    """The thread after a text was stored on it as the episode `written`; None when it is on another topic by now.

    `held` are new results for `query`. Where another search has answered a later message meanwhile, its results stay
    and only the written episode joins them.
    """
    if thread.topic_id != topic_id:
        return None
    if thread.held_query in ("", query):
        return replace(thread, held=tuple(held), held_query=query, held_at=at)
    joining = [one for one in held if one.episode_id == written]
    others = [one for one in thread.held if one.episode_id != written]
    return replace(thread, held=(*joining, *others))


def is_fresh(thread: Activation, now: datetime, fresh_seconds: float) -> bool:
    """Whether the held results may be served alone; 0 seconds means always."""
    if not thread.held or thread.held_at is None:
        return False
    return fresh_seconds == 0 or (now - thread.held_at).total_seconds() <= fresh_seconds
