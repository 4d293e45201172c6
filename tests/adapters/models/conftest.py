"""Chains of models over scripted endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import SecretStr

from goat.adapters.model_fallback import FallbackModel
from goat.adapters.model_openai import OpenAIModel
from goat.records.models import ChatMessage, ModelRequest, Reply
from goat.settings import ModelEndpoint, ModelSettings
from goat.testing.clock import FakeClock
from goat.testing.llm_answers import Answer
from goat.testing.llm_server import LlmServer

KEY = "sk-a+secret/of=mine"
ASKED = ModelRequest(
    messages=(
        ChatMessage("system", "You are GOAT."),
        ChatMessage("user", "My boat is blue."),
        ChatMessage("assistant", "Noted."),
        ChatMessage("user", "[data] It is noon."),
        ChatMessage("user", "What colour is my boat?"),
    ),
    history=2,
)


@dataclass
class Chain:
    """A chain of models, each at an endpoint of its own: `main`, then `spare`."""

    model: FallbackModel
    main: LlmServer
    spare: LlmServer
    clock: FakeClock
    key: str = KEY
    shown: list[str] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, request: ModelRequest = ASKED) -> Reply:
        """A streamed reply; its pieces are kept in `shown`."""
        return await self.model.reply(request, self._show)

    async def ask_whole(self, request: ModelRequest = ASKED) -> Reply:
        """A reply in one piece."""
        return await self.model.reply(request)

    def _show(self, piece: str) -> None:
        self.shown.append(piece)
        self.begun.set()

    @property
    def calls(self) -> tuple[int, int]:
        """How often each endpoint was asked."""
        return len(self.main.prompts), len(self.spare.prompts)


@asynccontextmanager
async def open_chain(
    main: Sequence[Answer],
    spare: Sequence[Answer] | None = None,
    jitter: Callable[[], float] = lambda: 0.0,
    **settings: Any,
) -> AsyncIterator[Chain]:
    """A chain whose first model answers with `main`; without `spare` it has no second one."""
    chosen = ModelSettings(**settings)
    names = ["main-model"] if spare is None else ["main-model", "spare-model"]
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(LlmServer(key=KEY, models=(name,)))
            for name in ("main-model", "spare-model")
        ]
        models = []
        for server, name in zip(servers, names, strict=False):
            endpoint = ModelEndpoint("other", name, server.base_url, SecretStr(KEY), "MODEL_API_KEY")
            models.append(await stack.enter_async_context(OpenAIModel(endpoint, chosen)))
        servers[0].script(*main)
        servers[1].script(*(spare or []))
        clock = FakeClock()
        yield Chain(FallbackModel(models, clock, jitter), servers[0], servers[1], clock)


@pytest.fixture
def chain() -> Callable[..., AbstractAsyncContextManager[Chain]]:
    """The way to open a chain; see `open_chain`."""
    return open_chain
