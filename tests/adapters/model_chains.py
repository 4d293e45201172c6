"""Chains of models over scripted endpoints, for the tests of what becomes of each kind of answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

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
    shown: list[str] = field(default_factory=list)

    async def ask(self, request: ModelRequest = ASKED) -> Reply:
        """A streamed reply; its pieces are kept in `shown`."""
        return await self.model.reply(request, self.shown.append)

    async def ask_whole(self, request: ModelRequest = ASKED) -> Reply:
        """A reply in one piece."""
        return await self.model.reply(request)

    @property
    def asked(self) -> tuple[int, int]:
        """How often each endpoint was asked."""
        return len(self.main.prompts), len(self.spare.prompts)


def endpoint(server: LlmServer, model: str, **more: Any) -> ModelEndpoint:
    return ModelEndpoint("other", model, server.base_url, SecretStr(KEY), "MODEL_API_KEY", **more)


@asynccontextmanager
async def chain(
    main: list[Answer], spare: list[Answer] | None = None, jitter: Callable[[], float] = lambda: 0.0, **settings: Any
) -> AsyncIterator[Chain]:
    """A chain whose first model answers with `main`; without `spare` it has no second one."""
    chosen = ModelSettings(**settings)
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(LlmServer(key=KEY, models=(name,))) for name in ("main-model", "spare-model")
        ]
        names = ["main-model"] if spare is None else ["main-model", "spare-model"]
        models = [
            await stack.enter_async_context(OpenAIModel(endpoint(server, name), chosen))
            for server, name in zip(servers, names, strict=False)
        ]
        servers[0].script(*main)
        servers[1].script(*(spare or []))
        clock = FakeClock()
        yield Chain(FallbackModel(models, clock, jitter), servers[0], servers[1], clock)
