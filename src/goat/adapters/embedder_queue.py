"""One worker thread between the event loop and an embedding model that takes one text at a time."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from goat.errors import BackendUnavailable
from goat.records.search import Floats

PORT = "Embedder"

_QUERIES_IN_A_ROW = 32


class TextModel(Protocol):
    """An embedding model that blocks; the queue calls it from one thread only."""

    def query(self, text: str) -> Floats:
        """The unit vector of a question."""
        ...

    def passage(self, text: str) -> Floats:
        """The unit vector of a passage."""
        ...


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """What waits and what was done since the queue was made; dropped work was cancelled before its turn came."""

    queries_waiting: int
    passages_waiting: int
    queries_done: int
    passages_done: int
    dropped: int
    failed: int


@dataclass(slots=True)
class _Job:
    text: str
    query: bool
    result: Future[Floats]


class EmbedderQueue:
    """Serves queries before passages, between two texts; what nobody waits for any more is not computed.

    `load` makes the model, in the worker thread, when the first text arrives; what it raises goes to whoever waits,
    and the next text tries again. So a model that cannot be loaded now costs no more than its own vectors. After
    32 queries in a row one waiting passage gets its turn, lest a stream of questions keep the archive without vectors.
    """

    def __init__(self, load: Callable[[], TextModel], backend: str) -> None:
        self._load = load
        self._backend = backend
        self._queries: deque[_Job] = deque()
        self._passages: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._worker: threading.Thread | None = None
        self._closed = False
        self._row = 0
        self._queries_done = 0
        self._passages_done = 0
        self._dropped = 0
        self._failed = 0

    async def query(self, text: str) -> Floats:
        """The vector of a query. Raises `BackendUnavailable` after `close`, and whatever the model raises."""
        (result,) = self._submit([text], query=True)
        return await asyncio.wrap_future(result)

    async def passages(self, texts: Sequence[str]) -> list[Floats]:
        """The vectors of passages, in order; the first failure is raised and drops the rest.

        Raises `BackendUnavailable` after `close`, and whatever the model raises.
        """
        results = self._submit(texts, query=False)
        try:
            return [await asyncio.wrap_future(result) for result in results]
        finally:
            for result in results:
                result.cancel()

    def counts(self) -> QueueCounts:
        """What waits and what was done."""
        with self._changed:
            return QueueCounts(
                queries_waiting=sum(not job.result.cancelled() for job in self._queries),
                passages_waiting=sum(not job.result.cancelled() for job in self._passages),
                queries_done=self._queries_done,
                passages_done=self._passages_done,
                dropped=self._dropped,
                failed=self._failed,
            )

    async def close(self, drain: bool = False) -> None:
        """End the worker; with `drain` after all that waits, else everybody who waits gets `BackendUnavailable`.

        Returns when the worker has ended, at the latest after the text in hand. A second call does nothing.
        """
        with self._changed:
            self._closed = True
            abandoned = [] if drain else [*self._queries, *self._passages]
            if not drain:
                self._queries.clear()
                self._passages.clear()
            self._changed.notify_all()
        for job in abandoned:
            if job.result.set_running_or_notify_cancel():
                job.result.set_exception(self._is_closed())
        if self._worker is not None:
            await asyncio.to_thread(self._worker.join)

    def _is_closed(self) -> BackendUnavailable:
        return BackendUnavailable(PORT, self._backend, "it was closed")

    def _submit(self, texts: Iterable[str], query: bool) -> list[Future[Floats]]:
        jobs = [_Job(text, query, Future()) for text in texts]
        with self._changed:
            if self._closed:
                raise self._is_closed()
            (self._queries if query else self._passages).extend(jobs)
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name=f"embedder {self._backend}", daemon=True)
                self._worker.start()
            self._changed.notify_all()
        return [job.result for job in jobs]

    def _work(self) -> None:
        model: TextModel | None = None
        while (job := self._next()) is not None:
            if not job.result.set_running_or_notify_cancel():
                self._count_dropped()
                continue
            try:
                model = model or self._load()
                vector = model.query(job.text) if job.query else model.passage(job.text)
            except Exception as failure:  # noqa: BLE001 - it is raised again where the vector is awaited
                self._finish(job, failure)
            else:
                self._finish(job, vector)

    def _next(self) -> _Job | None:
        """The job whose turn it is, waiting for one; None when the queue is closed and empty."""
        with self._changed:
            while not (self._queries or self._passages):
                if self._closed:
                    return None
                self._changed.wait()
            passage_is_due = self._passages and self._row >= _QUERIES_IN_A_ROW
            if self._queries and not passage_is_due:
                self._row = self._row + 1 if self._passages else 0
                return self._queries.popleft()
            self._row = 0
            return self._passages.popleft()

    def _count_dropped(self) -> None:
        with self._changed:
            self._dropped += 1

    def _finish(self, job: _Job, outcome: Floats | Exception) -> None:
        with self._changed:
            if isinstance(outcome, Exception):
                self._failed += 1
            elif job.query:
                self._queries_done += 1
            else:
                self._passages_done += 1
        if isinstance(outcome, Exception):
            job.result.set_exception(outcome)
        else:
            job.result.set_result(outcome)
