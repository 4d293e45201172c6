"""BM25 over passages in memory, written as the formula reads: the reference of the port LexicalIndex, and for tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final

import numpy as np

from goat.adapters.lexical_formula import K1, KERNEL, MOST_TF, SOFT_B, SOFT_K1, SOFT_LENGTH, B, idf, rarity
from goat.records.search import (
    EVERYWHERE,
    NEIGHBOUR_REACH,
    Hits,
    LexicalDocument,
    LexicalFeatures,
    Neighbourhood,
    Ords,
    VectorRow,
    Where,
)

SESSION_GAP: Final = timedelta(hours=4)


class MemoryLexicalIndex:
    """The port LexicalIndex over plain dictionaries. Every question is answered from the documents alone."""

    def __init__(self) -> None:
        self._cursor = 0
        self._documents: dict[str, dict[int, LexicalDocument]] = {}

    async def cursor(self) -> int:
        """See `LexicalIndex.cursor`."""
        return self._cursor

    async def apply(self, added: Sequence[LexicalDocument], removed: Sequence[tuple[str, int]], cursor: int) -> None:
        """See `LexicalIndex.apply`."""
        for document in added:
            self._documents.setdefault(document.owner, {})[document.ord] = document
        for owner, ord_ in removed:
            self._documents.get(owner, {}).pop(ord_, None)
        self._cursor = cursor

    async def search(self, owner: str, terms: Sequence[str], limit: int, where: Where) -> Hits:
        """See `LexicalIndex.search`."""
        documents = self._documents.get(owner, {})
        scores = _bm25(terms, {ord_: [document] for ord_, document in documents.items()})
        found = [ord_ for ord_, score in scores.items() if score > 0 and passes(documents[ord_], where)]
        found.sort(key=lambda ord_: (scores[ord_], documents[ord_].at, ord_), reverse=True)
        best = found[:limit]
        return Hits(np.array(best, np.int64), np.array([scores[ord_] for ord_ in best], np.float32))

    async def passages_of(self, owner: str, episode_ids: Sequence[int], where: Where) -> Ords:
        """See `LexicalIndex.passages_of`."""
        documents = self._documents.get(owner, {})
        found = [n for n, one in documents.items() if one.episode_id in episode_ids and passes(one, where)]
        return np.array(sorted(found), np.int64)

    async def newest(self, owner: str, limit: int, where: Where) -> Ords:
        """See `LexicalIndex.newest`."""
        documents = self._documents.get(owner, {})
        found = [(one.at, ord_) for ord_, one in documents.items() if passes(one, where)]
        return np.array([ord_ for _, ord_ in sorted(found, reverse=True)[:limit]], np.int64)

    async def neighbourhood(self, owner: str, ords: Ords, reach: int, where: Where) -> Neighbourhood:
        """See `LexicalIndex.neighbourhood`. The candidates come in rising order of their numbers."""
        documents = self._documents.get(owner, {})
        sessions = _sessions(documents.values())
        met = {
            near
            for ord_ in ords.tolist()
            if ord_ in documents
            for near in _around(ord_, sessions[ord_], reach)
            if near >= 0
        }
        candidates = sorted(ord_ for ord_ in met if passes(documents[ord_], where))
        around = [_around(ord_, sessions[ord_], NEIGHBOUR_REACH) for ord_ in candidates]
        before = [documents.get(row[NEIGHBOUR_REACH - 1]) for row in around]
        chosen = [documents[ord_] for ord_ in candidates]
        return Neighbourhood(
            ords=np.array(candidates, np.int64),
            episode_ids=np.array([document.episode_id for document in chosen], np.int64),
            around=np.array(around, np.int64).reshape(-1, 2 * NEIGHBOUR_REACH + 1),
            question=np.array([document.question for document in chosen], np.bool_),
            after_question=np.array([document is not None and document.question for document in before], np.bool_),
            human=np.array([document.human for document in chosen], np.bool_),
            at=np.array([document.at.timestamp() for document in chosen], np.float64),
            speakers=tuple(document.speaker for document in chosen),
        )

    async def features(
        self,
        owner: str,
        terms: Sequence[str],
        near: Neighbourhood,
        where: Where = EVERYWHERE,
        guesses: Collection[str] = (),
    ) -> LexicalFeatures:
        """See `LexicalIndex.features`."""
        documents = self._documents.get(owner, {})
        weights = _weights(terms, [[document] for document in documents.values()])
        telling = [document for document in documents.values() if not document.question and passes(document, where)]
        told = {term for term in weights if any(document.terms.get(term) for document in telling)} or set(weights)
        best = sum(weight for term, weight in weights.items() if term in told)
        if not best:
            nothing = np.zeros(len(near.ords), np.float32)
            return LexicalFeatures(nothing, nothing.copy(), nothing.copy(), nothing.copy())
        mean_length = sum(document.length for document in documents.values()) / len(documents)
        sessions = _sessions(documents.values())
        of_session = _bm25(
            terms, {min(session): [documents[ord_] for ord_ in session] for session in sessions.values()}
        )
        unknown = len(set(terms) - weights.keys() - set(guesses))
        everything = sum(weights.values()) + unknown * idf(len(documents), 0)
        passage = [
            _soft_score(weights, [documents.get(ord_) for ord_ in row], mean_length) for row in near.around.tolist()
        ]
        held = [_held(weights, documents.get(ord_)) for ord_ in near.ords.tolist()]
        rarities = _rarities(weights, documents.values())
        rare = [_held(rarities, documents.get(ord_)) for ord_ in near.ords.tolist()]
        session = [of_session[min(sessions[ord_])] if ord_ in sessions else 0.0 for ord_ in near.ords.tolist()]
        return LexicalFeatures(
            passage=np.array([min(score / (2.0 * best), 1.0) for score in passage], np.float32),
            session=np.array([min(score / (2.2 * best), 1.0) for score in session], np.float32),
            held=np.array([value / everything for value in held], np.float32),
            rare=np.array([value / len(set(terms)) for value in rare], np.float32),
        )

    async def clear(self) -> None:
        """See `LexicalIndex.clear`."""
        self._documents.clear()
        self._cursor = 0


def passes(row: LexicalDocument | VectorRow, where: Where) -> bool:
    """Whether a passage passes a filter."""
    return (
        (where.chat is None or row.chat == where.chat)
        and (where.topic_id is None or row.topic_id == where.topic_id)
        and (where.after is None or row.at >= where.after)
        and (where.before is None or row.at < where.before)
        and (where.up_to is None or row.episode_id < where.up_to)
    )


def _tf(texts: Iterable[LexicalDocument], term: str) -> int:
    return sum(min(document.terms.get(term, 0), MOST_TF) for document in texts)


def _weights(terms: Sequence[str], texts: Sequence[list[LexicalDocument]]) -> dict[str, float]:
    """The idf of each distinct term that a text holds; a text is one or more passages."""
    df = {term: sum(_tf(text, term) > 0 for text in texts) for term in dict.fromkeys(terms)}
    return {term: idf(len(texts), count) for term, count in df.items() if count}


def _rarities(weights: Mapping[str, float], documents: Collection[LexicalDocument]) -> dict[str, float]:
    """How rare each term with a weight is."""
    df = {term: sum(_tf([document], term) > 0 for document in documents) for term in weights}
    return {term: rarity(len(documents), count) for term, count in df.items()}


def _bm25(terms: Sequence[str], texts: dict[int, list[LexicalDocument]]) -> dict[int, float]:
    weights = _weights(terms, list(texts.values()))
    lengths = {name: sum(document.length for document in text) for name, text in texts.items()}
    total = sum(lengths.values())
    scores = {}
    for name, text in texts.items():
        k = K1 * (1 - B + B * lengths[name] * len(texts) / max(total, 1))
        scores[name] = sum(
            weight * (K1 + 1) * _tf(text, term) / (_tf(text, term) + k) for term, weight in weights.items()
        )
    return scores


def _soft_score(weights: dict[str, float], row: Sequence[LexicalDocument | None], mean_length: float) -> float:
    near = [(share, document) for share, document in zip(KERNEL, row, strict=True) if document is not None]
    length = sum(share * document.length for share, document in near) / (SOFT_LENGTH * mean_length or 1)
    k = SOFT_K1 * (1 - SOFT_B + SOFT_B * length)
    score = 0.0
    for term, weight in weights.items():
        tf = sum(share * _tf([document], term) for share, document in near)
        score += weight * (SOFT_K1 + 1) * tf / (tf + k)
    return score


def _held(weights: dict[str, float], document: LexicalDocument | None) -> float:
    return sum(weight for term, weight in weights.items() if document is not None and document.terms.get(term))


def _sessions(documents: Iterable[LexicalDocument]) -> dict[int, list[int]]:
    """For each passage its session: the ords of a stretch of its chat without a long silence, in order of time."""
    sessions: dict[int, list[int]] = {}
    last: dict[str, LexicalDocument] = {}
    for document in sorted(documents, key=lambda document: (document.at, document.ord)):
        before = last.get(document.chat)
        goes_on = before is not None and document.at - before.at <= SESSION_GAP
        session = sessions[before.ord] if before is not None and goes_on else []
        session.append(document.ord)
        sessions[document.ord] = session
        last[document.chat] = document
    return sessions


def _around(ord_: int, session: list[int], reach: int) -> list[int]:
    """The passage and `reach` places before and after it in its session, -1 where there is none."""
    place = session.index(ord_)
    return [session[at] if 0 <= at < len(session) else -1 for at in range(place - reach, place + reach + 1)]
