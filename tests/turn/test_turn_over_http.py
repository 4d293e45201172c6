"""Whole turns with a model behind real HTTP: what it is sent, what it costs, what a change of model keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from goat.adapters.model_chain import model_chain
from goat.adapters.tokens_estimate import EstimatedTokens
from goat.adapters.usage_memory import MemoryUsageLog
from goat.app import App
from goat.errors import ModelError, ModelFault
from goat.settings import ModelEndpoint, ModelFacts, Price, Settings
from goat.settings.sections import ModelSettings
from goat.testing.app import memory_app, say
from goat.testing.clock import FakeClock
from goat.testing.llm_answers import Tokens, fails, says, says_nothing
from goat.testing.llm_server import LlmServer
from goat.testing.observer import KeepingObserver

NAMES = ("first-model", "second-model")
FACTS = ModelFacts(price=Price(1.0, 10.0, 0.1))


@asynccontextmanager
async def talking_to(server: LlmServer, *apps: App, name: str = NAMES[0], **model: Any) -> AsyncIterator[App]:
    """An App whose model is at the server, on the backends of another App where one is given."""
    settings = Settings(model=ModelSettings(**model))
    endpoint = ModelEndpoint("other", name, server.base_url, SecretStr("k"), "MODEL_API_KEY", facts=FACTS)
    log, clock, observer = MemoryUsageLog(), FakeClock(), KeepingObserver()
    kept: dict[str, Any] = {"usage": log, "clock": clock, "observer": observer}
    for app in apps:
        ports = ("journal", "embeddings", "transfer", "outbox", "lexical", "vectors", "working", "permanent", "usage")
        kept |= {port: getattr(app.backends, port) for port in ports}
    async with AsyncExitStack() as stack:
        chain = await model_chain(endpoint, settings, kept["usage"], EstimatedTokens(), clock, observer, stack)
        yield await stack.enter_async_context(memory_app(settings, model=chain, **kept))


async def test_telegram_d12_the_bytes_before_the_data_message_are_those_of_the_turn_before_plus_its_exchange() -> None:
    async with LlmServer(models=NAMES) as server, talking_to(server) as app:
        server.script(*(says(f"Answer {number}.") for number in range(4)))
        for text in ("I have a boat", "it is blue", "what colour is it?", "and where does it lie?"):
            await say(app, text)
            app.backends.clock.move(61)  # type: ignore[attr-defined]
    before_data = [prompt.message_bytes[:-2] for prompt in server.prompts]
    for number in range(2, 4):
        earlier, now = before_data[number - 1], before_data[number]
        asked, answered = now[len(earlier) :]
        assert now[: len(earlier)] == earlier
        assert asked == server.prompts[number - 1].message_bytes[-1]
        assert answered == f'{{"role":"assistant","content":"Answer {number - 1}."}}'.encode()
    assert len({prompt.message_bytes[0] for prompt in server.prompts}) == 1


async def test_telegram_d9_a_picture_in_the_conversation_is_words_to_every_model() -> None:
    async with LlmServer(models=NAMES) as server:
        server.always(says("A fine boat."))
        async with talking_to(server) as app:
            await say(app, "[photo] the boat in Sulina")
            async with talking_to(server, app, name=NAMES[1]) as changed:
                result = await say(changed, "where was that?")
    assert result.text == "A fine boat."
    assert [prompt.refusal for prompt in server.prompts] == ["", ""]
    contents = [message["content"] for prompt in server.prompts for message in prompt.messages]
    assert all(isinstance(content, str) for content in contents)
    assert any("[photo] the boat in Sulina" in content for content in contents)


async def test_telegram_d10_a_change_of_model_takes_the_conversation_along() -> None:
    async with LlmServer(models=NAMES) as server:
        server.script(says("<think>hm</think>A fine boat."), says("Blue."))
        async with talking_to(server) as app:
            await say(app, "I have a blue boat")
            async with talking_to(server, app, name=NAMES[1]) as changed:
                await say(changed, "what colour?")
    sent = server.prompts[1].messages
    assert {"role": "assistant", "content": "A fine boat."} in sent
    assert {key for message in sent for key in message} == {"role", "content"}


async def test_telegram_d11_at_the_daily_limit_a_sentence_comes_before_the_call_and_the_message_is_kept() -> None:
    async with LlmServer(models=NAMES) as server, talking_to(server, daily_limit_usd=0.01) as app:
        server.script(says("Fine.").costing(Tokens(5000, 500)))
        await say(app, "hello")
        with pytest.raises(
            ModelError, match=r"today's limit of \$0\.01 is reached \(\$0\.01 spent\)\. Your message is kept"
        ):
            await say(app, "remember the anchor")
        recent = await app.backends.journal.recent("admin", "test", 5)
    assert len(server.prompts) == 1
    assert recent[-1].text == "remember the anchor"


async def test_the_turns_record_and_the_account_hold_tokens_and_cost() -> None:
    async with LlmServer(models=NAMES) as server, talking_to(server) as app:
        server.script(says("It is blue.").costing(Tokens(1000, 20, cached=600)))
        result = await say(app, "what colour is my boat?", owner="ana")
        today = app.backends.clock.now().date()
        (day,) = await app.backends.usage.days(today, today, "ana")
    cost = (400 * 1.0 + 600 * 0.1 + 20 * 10.0) / 1e6
    assert result.record
    assert result.record.usage.cost_usd == pytest.approx(cost)
    assert (day.prompt_tokens, day.cached_tokens, day.completion_tokens) == (1000, 600, 20)
    assert day.cost_usd == pytest.approx(cost)


async def test_what_was_tried_in_vain_is_told_below_the_reply() -> None:
    async with LlmServer(models=NAMES) as server, talking_to(server) as app:
        server.script(fails(500), says("Fine.").finishing("length"))
        result = await say(app, "hello")
    assert result.notes == ("The answer ends at its limit of 2048 tokens ([model] max_tokens).",)
    assert result.record
    assert result.record.failed_calls == 1


async def test_a_prompt_keeps_to_a_small_context_that_is_known() -> None:
    settings = {"provider": "ollama", "context_tokens": 4096, "max_tokens": 1024}
    async with LlmServer(models=NAMES) as server, talking_to(server, **settings) as app:
        server.script(says("Long."))
        await say(app, "boat " * 20_000)
    sent = sum(EstimatedTokens().count(message["content"]) for message in server.prompts[0].messages)
    assert sent <= 4096 - 1024


async def test_a_daily_limit_that_cannot_be_counted_is_told_at_the_start() -> None:
    observer = KeepingObserver()
    unpriced = ModelEndpoint("other", "m", "http://127.0.0.1:1/v1")
    settings = Settings(model=ModelSettings(daily_limit_usd=1.0))
    async with AsyncExitStack() as stack:
        await model_chain(unpriced, settings, MemoryUsageLog(), EstimatedTokens(), FakeClock(), observer, stack)
    assert "the price of other/m is not known" in observer.notices[0].text


async def test_o16_an_empty_answer_is_not_archived() -> None:
    async with LlmServer(models=NAMES) as server, talking_to(server) as app:
        server.always(says_nothing(""))
        with pytest.raises(ModelError, match="the answer is empty, 2 times"):
            await say(app, "hello")
        recent = await app.backends.journal.recent("admin", "test", 5)
    assert [(episode.role, episode.text) for episode in recent] == [("user", "hello")]


async def test_when_no_model_can_answer_the_message_is_kept_and_every_reason_told() -> None:
    async with LlmServer(models=NAMES, key="another") as server, talking_to(server) as app:
        with pytest.raises(ModelError) as told:
            await say(app, "remember the anchor")
        assert await app.backends.journal.head() == 1
    assert told.value.fault is ModelFault.DENIED
