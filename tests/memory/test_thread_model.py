"""The thread under concurrent writers, over both working stores, against a plain model of what must hold.

Turns advance the thread one after another; their prefetches end in any order, and refreshes come in between. Every
writer is split where it reads and where it writes, so that each may find the thread changed under its hands.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from goat.adapters.journal import journal_database
from goat.adapters.working_memory import MemoryWorkingStore
from goat.adapters.working_sqlite import SqliteWorkingStore
from goat.memory.l2_thread import Bands, advance, classify, hold, refreshed
from goat.memory.thread_store import ThreadStore
from goat.ports.stores import WorkingStore
from goat.records.memory import Activation, Held, ThreadState, Versioned
from goat.testing.clock import FakeClock

NOW = datetime(2026, 3, 2, tzinfo=UTC)
BANDS = Bands(drift_warm=0.9, drift_cold=0.5, lexical_low=0.15, enriching_sim=0.55, topic_return_threshold=0.75)
TOPICS = {"boiler": (1.0, 0.0, 0.0), "travel": (0.0, 1.0, 0.0), "music": (0.0, 0.0, 1.0), "": ()}
WINDOW, ARCHIVED = 5, 2


class Interrupted:
    """A working store under which, between the read and the write of a change, others write first."""

    def __init__(self, store: WorkingStore) -> None:
        self._store = store
        self.between: list[Callable[[], object]] = []

    async def get(self, key: str) -> Versioned | None:
        read = await self._store.get(key)
        while self.between:
            await self.between.pop(0)()  # type: ignore[misc]
        return read

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


@dataclass
class Expected:
    """What must hold, written down without the rules' code."""

    turns: int = 0
    held_for: int = 0
    held_query: str = ""
    recent: list[str] = field(default_factory=list)


class Threads(RuleBasedStateMachine):
    """Both stores get the same writers; the thread in each must be the same and what the model expects."""

    @initialize()
    def open(self) -> None:
        self.home = Path(tempfile.mkdtemp())
        self.runner = asyncio.Runner()
        clock = FakeClock()
        self.database = journal_database(self.home, clock)
        self.runner.run(self.database.__aenter__())
        stores = (MemoryWorkingStore(clock), SqliteWorkingStore(self.database, clock))
        self.doors = [Interrupted(store) for store in stores]
        self.threads = [ThreadStore(door, 1000) for door in self.doors]  # type: ignore[arg-type]
        self.expected = Expected()
        self.episode = 0
        self.minted = 0
        self.waiting: list[tuple[int, str]] = []

    def change(self, rule: Callable[[Activation], Activation | None]) -> bool:
        outcomes = {self.runner.run(store.change("o", "c", rule)) for store in self.threads}
        assert len(outcomes) == 1
        return outcomes.pop()

    def loaded(self) -> Activation:
        one, other = (self.runner.run(store.load("o", "c")) for store in self.threads)
        assert one == other
        return one

    def mint(self) -> str:
        self.minted += 1
        return f"topic {self.minted}"

    @rule(topic=st.sampled_from(sorted(TOPICS)), beside=st.booleans())
    def turn(self, topic: str, beside: bool) -> None:
        """A turn; a late prefetch may land between the read and the write of its own change."""
        self.episode += 2
        text = f"{topic} {'again' if self.episode % 4 else 'more'}"
        before = self.loaded()
        verdict = classify(before, text, TOPICS[topic], BANDS, self.mint)
        if beside and self.waiting and verdict.state is not ThreadState.COLD:
            episode, query = self.waiting.pop()
            self._interrupt(episode, query)
        self.change(lambda thread: advance(thread, verdict, text, TOPICS[topic], NOW, WINDOW, ARCHIVED))
        cold = verdict.state is ThreadState.COLD
        after = self.loaded()
        resumed = verdict.resumed.turn_count if verdict.resumed else 0
        assert after.turn_count == (resumed + 1 if cold else before.turn_count + 1)
        self.expected.recent = [text] if cold else [*self.expected.recent, text][-WINDOW:]
        if cold:
            self.expected.held_for, self.expected.held_query = 0, ""
        self.waiting.append((self.episode, text))

    def _interrupt(self, episode: int, query: str) -> None:
        rule = self._prefetched(episode, query)
        for door, store in zip(self.doors, self.threads, strict=True):
            door.between.append(lambda store=store: store.change("o", "c", rule))  # type: ignore[misc]
        self._expect(episode, query)

    def _prefetched(self, episode: int, query: str) -> Callable[[Activation], Activation | None]:
        return lambda thread: hold(thread, [Held(episode - 1, 0.5)], query, episode, NOW)

    def _expect(self, episode: int, query: str) -> None:
        if episode >= self.expected.held_for:
            self.expected.held_for, self.expected.held_query = episode, query

    @rule(which=st.integers(0, 9))
    def prefetch_ends(self, which: int) -> None:
        """Any of the prefetches under way ends, the oldest or the newest."""
        if self.waiting:
            episode, query = self.waiting.pop(which % len(self.waiting))
            saved = self.change(self._prefetched(episode, query))
            assert saved == (episode >= self.expected.held_for)
            self._expect(episode, query)

    @rule(stale=st.booleans())
    def enrich(self, stale: bool) -> None:
        """A text is stored on the thread, or on the topic that the chat has left by now."""
        thread = self.loaded()
        if not thread.topic_id:
            return
        self.episode += 1
        written = self.episode
        topic = "left by now" if stale else thread.topic_id
        asked = thread.held_query or "asked"
        saved = self.change(lambda one: refreshed(one, topic, asked, [Held(written, 0.9)], written, NOW))
        assert saved != stale
        if saved:
            assert written in [one.episode_id for one in self.loaded().held]
            self.expected.held_query = asked

    @invariant()
    def nothing_is_lost(self) -> None:
        if not hasattr(self, "threads"):
            return
        thread = self.loaded()
        assert list(thread.recent_queries) == self.expected.recent
        assert (thread.held_for, thread.held_query) == (self.expected.held_for, self.expected.held_query)
        assert len(thread.archived_topics) <= ARCHIVED
        assert thread.topic_id not in [topic.topic_id for topic in thread.archived_topics]

    def teardown(self) -> None:
        if hasattr(self, "database"):
            self.runner.run(self.database.__aexit__(None, None, None))
            self.runner.close()
            shutil.rmtree(self.home)


TestThreads = Threads.TestCase
TestThreads.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


def turn(number: int) -> Callable[[Activation], Activation]:
    def count(thread: Activation) -> Activation:
        verdict = classify(thread, "boiler", TOPICS["boiler"], BANDS, lambda: "t")
        return advance(thread, verdict, f"boiler {number}", TOPICS["boiler"], NOW, 50, 10)

    return count


def found(number: int) -> Callable[[Activation], Activation | None]:
    return lambda thread: hold(thread, [Held(number, 0.5)], f"q{number}", number, NOW)


@pytest.mark.parametrize("adapter", ["memory", "sqlite"])
async def test_f_b06_turns_and_prefetches_that_write_at_once_lose_nothing(adapter: str, tmp_path: Path) -> None:
    async with journal_database(tmp_path, FakeClock()) as database:
        sqlite = SqliteWorkingStore(database, FakeClock())
        store = ThreadStore(sqlite if adapter == "sqlite" else MemoryWorkingStore(FakeClock()), 60)
        await store.change("o", "c", turn(0))
        await asyncio.gather(*(store.change("o", "c", write(n)) for n in range(1, 7) for write in (turn, found)))
        thread = await store.load("o", "c")
    assert thread.turn_count == 7
    assert {f"boiler {number}" for number in range(7)} == set(thread.recent_queries)
    assert (thread.held_for, thread.held_query) == (6, "q6")
