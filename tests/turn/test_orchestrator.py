"""A turn: what stands in the prompt, what serves it, and what happens when a part is away."""

from __future__ import annotations

import asyncio

import pytest

from goat.adapters.lexical_memory import MemoryLexicalIndex
from goat.adapters.vector_memory import MemoryVectorIndex
from goat.app import App
from goat.errors import MessageRefused, ModelError
from goat.records.episodes import Incoming, Role
from goat.records.memory import ThreadState
from goat.records.models import Reply
from goat.settings import Settings
from goat.settings.sections import RecallSettings, TurnSettings
from goat.testing.app import memory_app, say
from goat.testing.clock import FakeClock
from goat.testing.faults import Away, Counted, Hanging
from goat.testing.models import ScriptedModel
from goat.testing.observer import KeepingObserver


def incoming(app: App, text: str, chat: str = "test") -> Incoming:
    return Incoming("admin", chat, text, app.backends.clock.now(), source="test")


def prompt_of(model: ScriptedModel, number: int = -1) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in model.requests[number].messages]


async def test_the_prompt_holds_identity_facts_history_data_and_the_message_in_this_order() -> None:
    model = ScriptedModel(["I will remember that.", "It is BlueHeron-42."])
    async with memory_app(model=model) as app:
        clock = app.backends.clock
        await app.backends.permanent.put_fact("admin", "name", "Ana", clock.now(), None)
        await say(app, "my wifi password is BlueHeron-42", chat="other")
        await say(app, "what is the wifi password?")
    roles = [role for role, _ in prompt_of(model)]
    system, data, message = (content for _, content in prompt_of(model))
    assert roles == ["system", "user", "user"]
    assert system.startswith("You are GOAT, a helpful assistant with layered memory.")
    assert "- name: Ana" in system
    assert "Current time: Monday, 2026-03-02 09:00 (UTC)" in data
    assert "[Context recuperat din istoric]" in data
    assert 'Found for: "what is the wifi password?"' in data
    assert "1. 2026-03-02 09:00, the person:\n> my wifi password is BlueHeron-42" in data
    assert message == "what is the wifi password?"


async def test_history_stands_in_real_roles_and_the_bytes_before_the_data_message_only_grow() -> None:
    model = ScriptedModel(["Nice.", "Yes.", "Sure."])
    async with memory_app(model=model) as app:
        for text in ("I have a boat", "it is blue", "and it is fast"):
            await say(app, text)
            app.backends.clock.move(60)
    before, after = prompt_of(model, 1), prompt_of(model, 2)
    assert after[: len(before) - 2] == before[:-2]
    assert after[len(before) - 2 : -2] == [("user", "it is blue"), ("assistant", "Yes.")]


async def test_f_b20_the_first_message_of_a_chat_finds_what_another_chat_of_its_owner_said() -> None:
    model = ScriptedModel()
    async with memory_app(model=model) as app:
        await say(app, "my passport is in the green drawer", chat="one")
        result = await say(app, "passport?", chat="two")
    assert [found.episode.text for found in result.recalled] == ["my passport is in the green drawer"]
    assert result.record
    assert result.record.served_by == "reflex"


async def test_the_rest_of_a_recalled_exchange_comes_with_it() -> None:
    model = ScriptedModel(["Rosetti street, number nine."])
    async with memory_app(model=model) as app:
        await say(app, "where does the plumber Popescu live", chat="one")
        await say(app, "tell me about plumber Popescu", chat="two")
    assert "> Rosetti street, number nine." in prompt_of(model)[-2][1]


def asked_of(*indexes: Counted) -> list[int]:
    """How often each search port was asked anything; writing to it is no question."""
    writes = {"apply", "clear", "cursor"}
    return [sum(times for method, times in index.calls.items() if method not in writes) for index in indexes]


async def test_a_warm_turn_searches_nothing_and_is_served_from_the_held_list() -> None:
    lexical, vectors = Counted(MemoryLexicalIndex()), Counted(MemoryVectorIndex())
    async with memory_app(lexical=lexical, vectors=vectors) as app:
        await say(app, "the boiler needs water every week", chat="notes")
        first = await say(app, "when does the boiler need water")
        before = asked_of(lexical, vectors)
        result = await app.orchestrator.run(incoming(app, "when does the boiler need water"))
        assert asked_of(lexical, vectors) == before
        await app.settled()
        assert all(after > earlier for after, earlier in zip(asked_of(lexical, vectors), before, strict=True))
    assert first.record
    assert first.record.state == ThreadState.COLD
    assert result.record
    assert (result.record.state, result.record.served_by) == (ThreadState.WARM, "held")
    assert "the boiler needs water every week" in [found.episode.text for found in result.recalled]


async def test_reflex_never_makes_no_search_in_any_turn() -> None:
    lexical, vectors, observer = Counted(MemoryLexicalIndex()), Counted(MemoryVectorIndex()), KeepingObserver()
    settings = Settings(recall=RecallSettings(reflex="never"))
    async with memory_app(settings, lexical=lexical, vectors=vectors, observer=observer) as app:
        for text in (
            "the boiler needs water",
            "the boiler needs water",
            "the boiler in the cellar needs a new valve",
            "passport?",
            "what did we say yesterday at 9",
            "where is ticket AB-1234",
            "the boiler needs water",
        ):
            before = asked_of(lexical, vectors)
            await app.orchestrator.run(incoming(app, text))
            assert asked_of(lexical, vectors) == before
            await app.settled()
    assert {turn.state for turn in observer.turns} == set(ThreadState)
    assert {turn.served_by for turn in observer.turns} == {"held", "nothing"}


async def test_held_results_that_went_stale_are_searched_again() -> None:
    async with memory_app() as app:
        await say(app, "the boiler needs water every week", chat="notes")
        await say(app, "when does the boiler need water")
        app.backends.clock.move(3601)
        result = await say(app, "when does the boiler need water")
    assert result.record
    assert result.record.state == ThreadState.WARM
    assert result.record.served_by == "reflex"


@pytest.mark.parametrize("port", ["lexical", "vectors", "embeddings", "working", "permanent"])
async def test_the_reply_comes_while_a_backend_is_away(port: str) -> None:
    observer = KeepingObserver()
    async with memory_app(observer=observer, **{port: Away(port)}) as app:
        result = await say(app, "hello, are you there?")
    assert result.text == "All right."


@pytest.mark.parametrize("port", ["lexical", "vectors"])
async def test_the_reply_comes_while_a_search_port_hangs(port: str) -> None:
    settings = Settings(recall=RecallSettings(deadline_ms=50))
    async with memory_app(settings, **{port: Hanging()}) as app:
        result = await app.orchestrator.run(incoming(app, "when does the boiler need water"))
        again = await app.orchestrator.run(incoming(app, "what about the passport?"))
    assert (result.text, again.text) == ("All right.", "All right.")
    assert result.record
    assert result.record.cut_by_deadline


async def test_memory_26_what_was_just_said_is_known_in_the_very_next_turn() -> None:
    model = ScriptedModel()
    async with memory_app(model=model) as app:
        await app.orchestrator.run(incoming(app, "the alarm code is 7714-QX"))
        await app.orchestrator.run(incoming(app, "what is the alarm code?"))
        await app.orchestrator.run(incoming(app, "the alarm code, please", "another chat"))
    in_chat, elsewhere = model.requests[1], model.requests[2]
    assert any(message.content.endswith("the alarm code is 7714-QX") for message in in_chat.messages)
    assert "the alarm code is 7714-QX" in [found.episode.text for found in elsewhere.recalled]


async def test_a_message_does_not_find_itself() -> None:
    async with memory_app() as app:
        result = await say(app, "an utterly unique sentence about quokkas")
    assert result.recalled == ()


async def test_a_redelivered_message_is_answered_with_the_first_answer_and_costs_no_model_call() -> None:
    model = ScriptedModel(["once"])
    async with memory_app(model=model) as app:
        first = await say(app, "hello", key="update 7")
        second = await say(app, "hello", key="update 7")
        counts = await app.backends.journal.counts("admin", app.backends.embedder.name)
    assert (first.text, second.text) == ("once", "once")
    assert len(model.requests) == 1
    assert counts.episodes == 2


async def test_a_redelivered_message_that_was_not_answered_is_answered_now() -> None:
    model = ScriptedModel([ModelError("m", "it is down", "Try later."), "here I am"])
    async with memory_app(model=model) as app:
        with pytest.raises(ModelError):
            await say(app, "hello", key="update 7")
        result = await say(app, "hello", key="update 7")
        counts = await app.backends.journal.counts("admin", app.backends.embedder.name)
    assert result.text == "here I am"
    assert counts.episodes == 2


@pytest.mark.parametrize("text", ["", "   ", "\n\t "])
async def test_an_empty_message_is_refused_and_not_archived(text: str) -> None:
    async with memory_app() as app:
        with pytest.raises(MessageRefused):
            await say(app, text)
        assert await app.backends.journal.head() == 0


async def test_a_message_with_nul_and_a_lone_surrogate_is_kept_with_replacements_and_says_so() -> None:
    async with memory_app() as app:
        result = await say(app, "a\x00b\ud800c")
    assert result.question.text == "a\ufffdb\ufffdc"
    assert result.altered


async def test_a_message_of_a_megabyte_is_kept_whole_and_cut_in_the_prompt() -> None:
    text = "boat " * 200_000
    model = ScriptedModel()
    async with memory_app(model=model) as app:
        result = await say(app, text)
        (kept,) = await app.backends.journal.episodes("admin", [result.question.id])
    assert kept.text == text
    shown = prompt_of(model)[-1][1]
    assert len(shown) < 100_000
    assert shown.endswith("[…]")


async def test_a_failed_model_call_keeps_the_message_and_shows_it_in_the_next_turn() -> None:
    model = ScriptedModel([ModelError("m", "it is down", "Try later."), "back"])
    async with memory_app(model=model) as app:
        with pytest.raises(ModelError):
            await say(app, "remember the milk")
        await say(app, "are you back?")
    assert ("user", "[2026-03-02 09:00]\nremember the milk") in prompt_of(model)


async def test_a_turn_that_takes_too_long_ends_with_a_sentence_and_keeps_the_message() -> None:
    class Slow(ScriptedModel):
        async def reply(self, request, on_text=None):  # type: ignore[no-untyped-def]
            await asyncio.Event().wait()

    async with memory_app(Settings(turn=TurnSettings(timeout_seconds=0.05)), model=Slow()) as app:
        with pytest.raises(ModelError, match=r"longer than 0\.05 seconds"):
            await say(app, "hello?")
        assert await app.backends.journal.head() == 1


async def test_a_cancelled_turn_keeps_the_message_and_the_next_one_is_answered() -> None:
    started = asyncio.Event()

    class SlowOnce(ScriptedModel):
        async def reply(self, request, on_text=None):  # type: ignore[no-untyped-def]
            if not started.is_set():
                started.set()
                await asyncio.Event().wait()
            return await super().reply(request, on_text)

    async with memory_app(model=SlowOnce(["fine"])) as app:
        turn = asyncio.create_task(app.orchestrator.run(incoming(app, "first")))
        await started.wait()
        turn.cancel()
        await asyncio.wait([turn])
        result = await say(app, "second")
        recent = await app.backends.journal.recent("admin", "test", 10)
    assert turn.cancelled()
    assert result.text == "fine"
    assert [episode.text for episode in recent] == ["first", "second", "fine"]


async def test_turns_of_one_chat_run_one_at_a_time_and_in_order_while_other_chats_go_on() -> None:
    gate = asyncio.Event()

    class Gated(ScriptedModel):
        async def reply(self, request, on_text=None):  # type: ignore[no-untyped-def]
            if request.chat == "slow" and not gate.is_set():
                await gate.wait()
            return await super().reply(request, on_text)

    model = Gated([lambda request: f"re {request.question}"])
    async with memory_app(model=model) as app:
        slow = [asyncio.create_task(app.orchestrator.run(incoming(app, text, "slow"))) for text in ("one", "two")]
        await asyncio.sleep(0)
        other = await app.orchestrator.run(incoming(app, "hi", "other"))
        assert not any(task.done() for task in slow)
        gate.set()
        replies = [(await task).text for task in slow]
    assert other.text == "re hi"
    assert replies == ["re one", "re two"]
    second = next(request for request in model.requests if request.question == "two")
    contents = [message.content for message in second.messages]
    assert any(content.endswith("one") for content in contents)
    assert "re one" in contents


async def test_both_messages_of_an_exchange_get_its_topic() -> None:
    async with memory_app() as app:
        result = await say(app, "let us talk about bees")
        pair = await app.backends.journal.exchange("admin", [result.question.exchange_id])
    assert [episode.role for episode in pair] == [Role.USER, Role.ASSISTANT]
    assert len({episode.topic_id for episode in pair}) == 1
    assert pair[0].topic_id


async def test_a_reply_of_quotations_is_archived_but_not_found_again() -> None:
    model = ScriptedModel([Reply("From memory: the zanzibar code", quotes_only=True)])
    async with memory_app(model=model) as app:
        await say(app, "hello there")
        recall = await app.memory.search("admin", "zanzibar", app.backends.clock.now(), 5)
        recent = await app.backends.journal.recent("admin", "test", 5)
    assert all("zanzibar" not in result.episode.text for result in recall.results)
    assert recent[-1].text == "From memory: the zanzibar code"


async def test_a_long_pause_is_marked_in_the_history_with_a_date_that_stays() -> None:
    model = ScriptedModel(["ok"])
    clock = FakeClock()
    async with memory_app(model=model, clock=clock) as app:
        await say(app, "first thing")
        clock.move(7200)
        await say(app, "second thing")
        await say(app, "third thing")
    users = [content for role, content in prompt_of(model) if role == "user"]
    assert users[:2] == ["[2026-03-02 09:00]\nfirst thing", "[2026-03-02 11:00]\nsecond thing"]
