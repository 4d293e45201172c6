"""What the tests of the fake endpoint share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from openai import AsyncOpenAI

from goat.testing.llm_server import LlmServer


@pytest.fixture
async def client(server: LlmServer) -> AsyncIterator[AsyncOpenAI]:
    """A client of the `server` that the test's file starts, which tries once."""
    async with AsyncOpenAI(base_url=server.base_url, api_key="any", max_retries=0, timeout=20) as client:
        yield client
