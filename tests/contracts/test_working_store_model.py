"""The working store on SQLite does what the reference does, whatever is asked of it."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from goat.adapters.journal import journal_database
from goat.adapters.working_memory import MemoryWorkingStore
from goat.adapters.working_sqlite import SqliteWorkingStore
from goat.ports.stores import WorkingStore
from goat.testing.clock import FakeClock

T = TypeVar("T")

KEYS = st.sampled_from(["a", "b", "ключ"])
BODIES = st.text(max_size=5)
TIMES = st.none() | st.floats(0.5, 100)


class WorkingStores(RuleBasedStateMachine):
    """Both stores get the same calls and must give the same answers; SQLite's file is reopened in between."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.reference = MemoryWorkingStore(self.clock)
        self._open()

    def _open(self) -> None:
        self.database = journal_database(self.home, self.clock)
        self.runner.run(self.database.__aenter__())
        self.store = SqliteWorkingStore(self.database, self.clock)

    def _close(self) -> None:
        self.runner.run(self.database.__aexit__(None, None, None))

    def both(self, call: Callable[[WorkingStore], Coroutine[Any, Any, T]]) -> T:
        expected = self.runner.run(call(self.reference))
        assert self.runner.run(call(self.store)) == expected
        return expected

    @rule(key=KEYS, body=BODIES, ttl=TIMES, if_version=st.none() | st.integers(0, 4))
    def put(self, key: str, body: str, ttl: float | None, if_version: int | None) -> None:
        self.both(lambda store: store.put(key, body, ttl, if_version))

    @rule(key=KEYS, body=BODIES, ttl=TIMES)
    def compare_and_set(self, key: str, body: str, ttl: float | None) -> None:
        held = self.both(lambda store: store.get(key))
        self.both(lambda store: store.put(key, body, ttl, if_version=held.version if held else 0))

    @rule(key=KEYS, ttl=st.floats(0.5, 100))
    def claim(self, key: str, ttl: float) -> None:
        self.both(lambda store: store.claim(key, ttl))

    @rule(key=KEYS, items=st.lists(BODIES, max_size=6), keep=st.integers(0, 5))
    def append(self, key: str, items: list[str], keep: int) -> None:
        self.both(lambda store: store.append(key, items, keep))

    @rule(key=KEYS, count=st.integers(-1, 6))
    def tail(self, key: str, count: int) -> None:
        self.both(lambda store: store.tail(key, count))

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.both(lambda store: store.delete(key))

    @rule(seconds=st.floats(0, 60))
    def move(self, seconds: float) -> None:
        self.clock.move(seconds)

    @rule()
    def reopen(self) -> None:
        self._close()
        self._open()

    @invariant()
    def same(self) -> None:
        for key in ("a", "b", "ключ"):
            self.both(lambda store, key=key: store.get(key))  # type: ignore[misc]
            self.both(lambda store, key=key: store.tail(key, 9))  # type: ignore[misc]

    def teardown(self) -> None:
        self._close()
        self.runner.close()
        shutil.rmtree(self.home)


TestWorkingStores = WorkingStores.TestCase
TestWorkingStores.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
