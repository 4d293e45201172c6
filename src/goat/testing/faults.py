"""Backends that are away, hang, or count."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from goat.errors import BackendUnavailable


class Away:
    """Stands in for any port of a store: every call raises `BackendUnavailable`."""

    def __init__(self, port: str) -> None:
        self._port = port

    def __getattr__(self, method: str) -> Callable[..., Any]:
        async def refuse(*args: object, **options: object) -> None:
            raise BackendUnavailable(self._port, "away", f"{method} was called while it is down")

        return refuse


class Hanging:
    """Stands in for any port of a store: no call ever returns."""

    def __getattr__(self, method: str) -> Callable[..., Any]:
        async def hang(*args: object, **options: object) -> None:
            await asyncio.Event().wait()

        return hang


class Late:
    """Passes every call on to a real backend, but only once it is `open`."""

    def __init__(self, backend: object) -> None:
        self._backend = backend
        self._waiting = 0
        self._asked = asyncio.Event()
        self.open = asyncio.Event()

    async def asked(self) -> None:
        """Return as soon as a call waits."""
        async with asyncio.timeout(30):
            await self._asked.wait()

    def __getattr__(self, method: str) -> Callable[..., Any]:
        async def wait(*args: object, **options: object) -> Any:
            self._waiting += 1
            self._asked.set()
            try:
                await self.open.wait()
            finally:
                self._waiting -= 1
                if not self._waiting:
                    self._asked.clear()
            return await getattr(self._backend, method)(*args, **options)

        return wait


class Counted:
    """Passes every call on to a real backend and counts it by method."""

    def __init__(self, backend: object) -> None:
        self._backend = backend
        self.calls: Counter[str] = Counter()

    def __getattr__(self, method: str) -> Any:
        target = getattr(self._backend, method)
        if not callable(target):
            return target

        async def count(*args: object, **options: object) -> Any:
            self.calls[method] += 1
            return await target(*args, **options)

        return count
