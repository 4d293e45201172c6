"""Puts the models of the settings together: each one metered, all behind one that falls back."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack

from goat.adapters.model_fallback import FallbackModel
from goat.adapters.model_metered import MeteredModel
from goat.ports.models import ChatModel, TokenCounter, UsageLog
from goat.ports.run import Clock, Observer
from goat.records.turns import Notice
from goat.settings.endpoint import ModelEndpoint, fallbacks_of
from goat.settings.providers import GGUF
from goat.settings.sections import ModelSettings, Settings

UNPRICED = (
    "the price of {models} is not known, so [model] daily_limit_usd does not count what they cost. For the main model "
    "[model] input_price and output_price set it."
)
TELLS_ITS_COST = frozenset({"openrouter"})
"""Providers whose endpoint tells the cost of each call."""


async def model_chain(
    first: ModelEndpoint,
    settings: Settings,
    log: UsageLog,
    tokens: TokenCounter,
    clock: Clock,
    observer: Observer,
    stack: AsyncExitStack,
) -> ChatModel:
    """The first model with the fallbacks of the settings behind it, opened on the stack.

    Raises `SettingsError` when a fallback lacks something.
    """
    endpoints = [first, *fallbacks_of(settings)]
    limit = settings.model.daily_limit_usd
    unpriced = [one.title for one in endpoints if one.facts.price is None and one.provider not in TELLS_ITS_COST]
    if limit and unpriced:
        observer.notice(Notice("the daily limit", UNPRICED.format(models=" and ".join(unpriced))))
    metered = []
    for endpoint in endpoints:
        model = await stack.enter_async_context(single_model(endpoint, settings.model))
        price = endpoint.facts.price
        metered.append(MeteredModel(model, endpoint.provider, price, log, tokens, clock, observer, limit))
    return FallbackModel(metered, clock)


def single_model(endpoint: ModelEndpoint, settings: ModelSettings) -> AbstractAsyncContextManager[ChatModel]:
    """The model of an endpoint, or of a file, alone."""
    if endpoint.provider == GGUF:
        from goat.adapters.model_gguf import GgufModel

        return GgufModel(endpoint, settings)
    from goat.adapters.model_openai import OpenAIModel

    return OpenAIModel(endpoint, settings)
