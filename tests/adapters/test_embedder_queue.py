"""The queue before an embedding model that takes one text at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable

import numpy as np
import pytest

from goat.adapters.embedder_queue import EmbedderQueue
from goat.errors import BackendUnavailable
from goat.records.search import Floats


class GatedModel:
    """Notes what it is asked in its order; with a shut gate it waits inside of a text until the gate opens."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.inside = threading.Semaphore(0)
        self.threads: set[str] = set()

    def query(self, text: str) -> Floats:
        return self._answer(f"q:{text}")

    def passage(self, text: str) -> Floats:
        return self._answer(text)

    def _answer(self, text: str) -> Floats:
        self.asked.append(text)
        self.threads.add(threading.current_thread().name)
        self.inside.release()
        assert self.gate.wait(30)
        if "bad" in text:
            raise ValueError(text)
        return np.array([len(self.asked)], dtype=np.float32)


@pytest.fixture
def model() -> GatedModel:
    return GatedModel()


@pytest.fixture
async def queue(model: GatedModel) -> AsyncIterator[EmbedderQueue]:
    queue = EmbedderQueue(lambda: model, "gated")
    yield queue
    model.gate.set()
    await queue.close()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - the queue works in a thread
        await asyncio.sleep(0.001)


async def busy(queue: EmbedderQueue, model: GatedModel, text: str = "first") -> asyncio.Task[list[Floats]]:
    """A passage that the model is at, with the gate shut."""
    model.gate.clear()
    task = asyncio.create_task(queue.passages([text]))
    await until(lambda: model.asked[-1:] == [text])
    return task


async def test_vectors_come_back_in_the_order_of_the_texts(queue: EmbedderQueue, model: GatedModel) -> None:
    vectors = await queue.passages(["a", "b", "c"])
    assert model.asked == ["a", "b", "c"]
    assert [float(vector[0]) for vector in vectors] == [1, 2, 3]
    assert await queue.passages([]) == []


async def test_a_query_overtakes_the_passages_that_wait(queue: EmbedderQueue, model: GatedModel) -> None:
    first = await busy(queue, model)
    passages = asyncio.create_task(queue.passages(["a", "b", "c"]))
    await until(lambda: queue.counts().passages_waiting == 3)
    query = asyncio.create_task(queue.query("now"))
    await until(lambda: queue.counts().queries_waiting == 1)
    model.gate.set()
    await asyncio.gather(first, passages, query)
    assert model.asked == ["first", "q:now", "a", "b", "c"]


async def test_a_stream_of_queries_lets_a_passage_through_now_and_then(queue: EmbedderQueue, model: GatedModel) -> None:
    first = await busy(queue, model)
    passage = asyncio.create_task(queue.passages(["waits"]))
    queries = [asyncio.create_task(queue.query(str(number))) for number in range(100)]
    await until(lambda: queue.counts().queries_waiting == 100)
    model.gate.set()
    await asyncio.gather(first, passage, *queries)
    assert 20 < model.asked.index("waits") < 60
    assert [asked for asked in model.asked if asked.startswith("q:")] == [f"q:{number}" for number in range(100)]


async def test_queries_before_the_passages_came_do_not_count_against_the_next_ones(
    queue: EmbedderQueue, model: GatedModel
) -> None:
    for number in range(50):
        await queue.query(str(number))
    first = await busy(queue, model)
    passage = asyncio.create_task(queue.passages(["waits"]))
    query = asyncio.create_task(queue.query("now"))
    await until(lambda: queue.counts().queries_waiting == 1)
    model.gate.set()
    await asyncio.gather(first, passage, query)
    assert model.asked[-2:] == ["q:now", "waits"]


async def test_what_nobody_waits_for_any_more_is_not_computed(queue: EmbedderQueue, model: GatedModel) -> None:
    first = await busy(queue, model)
    dropped = asyncio.create_task(queue.passages(["a", "b"]))
    given_up = asyncio.create_task(queue.query("given up"))
    kept = asyncio.create_task(queue.passages(["c"]))
    await until(lambda: queue.counts().passages_waiting == 3)
    dropped.cancel()
    given_up.cancel()
    await asyncio.gather(dropped, given_up, return_exceptions=True)
    assert dropped.cancelled()
    assert given_up.cancelled()
    counts = queue.counts()
    assert (counts.passages_waiting, counts.queries_waiting) == (1, 0)
    model.gate.set()
    await asyncio.gather(first, kept)
    assert model.asked == ["first", "c"]
    assert queue.counts().dropped == 3


async def test_a_waiter_that_is_cancelled_while_its_text_is_in_hand_harms_nobody(
    queue: EmbedderQueue, model: GatedModel
) -> None:
    first = await busy(queue, model)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert first.cancelled()
    model.gate.set()
    await queue.query("next")
    assert model.asked == ["first", "q:next"]


async def test_a_failure_goes_to_its_waiter_and_drops_the_rest_of_its_texts(
    queue: EmbedderQueue, model: GatedModel
) -> None:
    first = await busy(queue, model)
    failing = asyncio.create_task(queue.passages(["bad", "late", "later"]))
    await until(lambda: queue.counts().passages_waiting == 3)
    model.gate.set()
    with pytest.raises(ValueError, match="bad"):
        await failing
    await first
    await queue.query("well")
    assert queue.counts().failed == 1
    assert queue.counts().queries_done == 1


async def test_a_model_that_cannot_be_loaded_is_tried_again_with_the_next_text() -> None:
    tries: list[int] = []
    model = GatedModel()

    def load() -> GatedModel:
        tries.append(1)
        if len(tries) == 1:
            raise BackendUnavailable("Embedder", "gated", "the disk is full")
        return model

    queue = EmbedderQueue(load, "gated")
    with pytest.raises(BackendUnavailable, match="the disk is full"):
        await queue.query("one")
    await queue.query("two")
    await queue.query("three")
    assert len(tries) == 2
    await queue.close()


async def test_the_model_is_loaded_and_called_in_one_thread_of_its_own() -> None:
    threads: list[str] = []
    model = GatedModel()

    def load() -> GatedModel:
        threads.append(threading.current_thread().name)
        return model

    queue = EmbedderQueue(load, "gated")
    assert threads == []
    await asyncio.gather(queue.query("a"), queue.passages(["b", "c"]))
    await queue.close()
    assert {*threads} == model.threads == {"embedder gated"}


async def test_closing_fails_those_who_wait_and_ends_the_thread(model: GatedModel) -> None:
    queue = EmbedderQueue(lambda: model, "gated")
    first = await busy(queue, model)
    waiting = [asyncio.create_task(queue.passages(["a", "b"])), asyncio.create_task(queue.query("c"))]
    await until(lambda: queue.counts().queries_waiting == 1)
    closing = asyncio.create_task(queue.close())
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [BackendUnavailable, BackendUnavailable]
    model.gate.set()
    await closing
    assert len(await first) == 1
    assert model.asked == ["first"]
    assert "embedder gated" not in {thread.name for thread in threading.enumerate()}


async def test_closing_with_drain_serves_all_who_wait(model: GatedModel) -> None:
    queue = EmbedderQueue(lambda: model, "gated")
    first = await busy(queue, model)
    waiting = asyncio.create_task(queue.passages(["a", "b"]))
    await until(lambda: queue.counts().passages_waiting == 2)
    closing = asyncio.create_task(queue.close(drain=True))
    model.gate.set()
    await asyncio.gather(first, waiting, closing)
    assert model.asked == ["first", "a", "b"]


async def test_a_closed_queue_refuses_texts_and_closes_again_in_peace(model: GatedModel) -> None:
    queue = EmbedderQueue(lambda: model, "gated")
    await queue.close()
    await queue.close()
    with pytest.raises(BackendUnavailable, match=r"Embedder \(gated\) cannot be used: it was closed"):
        await queue.query("late")
    with pytest.raises(BackendUnavailable):
        await queue.passages(["late"])
    assert model.asked == []


async def test_many_waiters_that_come_and_go_leave_the_queue_empty(queue: EmbedderQueue) -> None:
    tasks = [asyncio.create_task(queue.passages([f"{number}-{part}" for part in range(5)])) for number in range(40)]
    tasks_of_queries = [asyncio.create_task(queue.query(str(number))) for number in range(40)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, *tasks_of_queries, return_exceptions=True)
    await queue.query("last")
    await until(lambda: queue.counts().passages_waiting == 0)
    counts = queue.counts()
    assert counts.queries_done == 41
    assert counts.failed == 0
    assert counts.passages_done + counts.dropped <= 200
    assert counts.passages_done >= 100


def test_one_queue_serves_several_event_loops(model: GatedModel) -> None:
    queue = EmbedderQueue(lambda: model, "gated")
    assert float(asyncio.run(queue.query("one"))[0]) == 1
    assert float(asyncio.run(queue.query("two"))[0]) == 2
    asyncio.run(queue.close())


async def test_a57_a58_texts_that_come_at_once_load_one_model_between_them(model: GatedModel) -> None:
    loads: list[str] = []

    def load() -> GatedModel:
        loads.append(threading.current_thread().name)
        return model

    queue = EmbedderQueue(load, "counted")
    asked = [queue.query(str(number)) for number in range(8)]
    await asyncio.gather(*asked, *(queue.passages([f"p{number}"]) for number in range(8)))
    await queue.query("later")
    await queue.close()
    assert len(loads) == 1
    assert model.threads == set(loads)
