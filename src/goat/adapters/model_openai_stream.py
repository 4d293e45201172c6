"""The events of a streamed answer. Imports the client library, so it is imported where a stream begins."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

from openai import AsyncStream

DRAIN_SECONDS = 1.0
"""How long the end of the connection is waited for behind the last event, so that it can be used again."""


class Events(AsyncStream[object]):
    """The JSON documents of a stream of server-sent events, up to `[DONE]` or the end.

    The library's own stream reads one document from an event; some endpoints put two into one.
    """

    ended: bool = False
    """Whether `[DONE]` came."""

    async def __stream__(self) -> AsyncIterator[object]:
        """Yield the documents. Raises `json.JSONDecodeError` for what is none."""
        events = self._iter_events()
        try:
            async for event in events:
                if event.data.startswith("[DONE]"):
                    self.ended = True
                    await _drained(events)
                    break
                for document in documents(event.data):
                    yield document
        finally:
            await self.response.aclose()


def documents(text: str) -> Iterator[object]:
    """The JSON documents that stand one behind the other in a text."""
    decoder = json.JSONDecoder()
    text = text.strip()
    while text:
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:].lstrip()


async def _drained(events: AsyncIterator[object]) -> None:
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in events:
                pass
    except TimeoutError:
        return
