"""Finds out which tool keeps the event loop from running: one that computes or waits without `await`."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from types import TracebackType
from typing import Self

from goat.records.turns import Notice

BLOCKED_SECONDS = 1.0


@dataclass
class LoopWatch:
    """Watches the running loop from a thread. A block longer than `seconds` is told once it is over, with its place."""

    tell: Callable[[Notice], None]
    seconds: float = BLOCKED_SECONDS
    _stop: threading.Event = field(default_factory=threading.Event)
    _beaten: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._of_loop = threading.get_ident()
        self._thread = threading.Thread(target=self._watch, name="loop watch", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=2 * self.seconds)

    def _watch(self) -> None:
        while not self._stop.wait(self.seconds / 2):
            self._beaten.clear()
            began = monotonic()
            self._loop.call_soon_threadsafe(self._beaten.set)
            if self._beaten.wait(self.seconds):
                continue
            who, where = self._culprit()
            while not self._beaten.wait(self.seconds / 2):
                if self._stop.is_set():
                    return
            took = monotonic() - began
            told = f"it kept everything else waiting for {took:.1f} seconds{where}; such work belongs into a thread"
            self._loop.call_soon_threadsafe(self.tell, Notice(who, told))

    def _culprit(self) -> tuple[str, str]:
        """The task that runs now and the place where it is."""
        task = asyncio.current_task(self._loop)
        name = task.get_name() if task is not None else "the event loop"
        frame = sys._current_frames().get(self._of_loop)
        last = traceback.extract_stack(frame)[-1] if frame is not None else None
        where = f", at {last.filename} line {last.lineno}" if last is not None else ""
        return name.replace("tool:", "tool "), where
