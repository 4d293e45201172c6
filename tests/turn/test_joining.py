"""Messages that come while a turn runs join it between two calls of the model, and are answered with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from goat.app import App
from goat.errors import ModelError
from goat.records.episodes import Incoming
from goat.records.models import ModelRequest, Reply, ToolCall
from goat.testing.app import memory_app
from goat.testing.models import Answer, ScriptedModel
from goat.tools import tool
from goat.turn.joining import AGAIN


@tool
async def look() -> str:
    """Look around."""
    return "nothing to see"


CALL = Reply("", tool_calls=(ToolCall("c1", "look", "{}"),))


@asynccontextmanager
async def listening(*answers: Answer) -> AsyncIterator[tuple[App, ScriptedModel]]:
    model = ScriptedModel(answers)
    async with memory_app(model=model) as app:
        app.acting.outfit.add(lambda: [look])
        yield app, model


def said(app: App, text: str, key: str) -> Incoming:
    return Incoming("admin", "test", text, app.backends.clock.now(), source="test", key=key)


class Meanwhile:
    """What comes during a turn: a list of messages for each time that it asks."""

    def __init__(self, *times: Sequence[Incoming]) -> None:
        self._times = list(times)

    async def __call__(self) -> Sequence[Incoming]:
        return self._times.pop(0) if self._times else []


def people(request: ModelRequest) -> list[str]:
    return [message.content for message in request.messages if message.role == "user"]


async def test_telegram_c1_a_message_joins_at_the_next_tool_boundary() -> None:
    async with listening(CALL, "Done, in French too.") as (app, model):
        more = Meanwhile([], [said(app, "also in French", "2")])
        result = await app.orchestrator.run(said(app, "look around", "1"), more=more)
        assert result.text == "Done, in French too."
        assert "also in French" not in people(model.requests[0])
        assert people(model.requests[1])[-1] == "also in French"
        kept = await app.backends.journal.recent("admin", "test", 10)
        assert [one.text for one in kept] == ["look around", "also in French", "Done, in French too."]
        assert len({one.exchange_id for one in kept}) == 1


async def test_what_joined_stands_in_the_history_of_the_next_turn_in_its_place() -> None:
    async with listening(CALL, "Done.", "Yes.") as (app, model):
        await app.orchestrator.run(said(app, "look", "1"), more=Meanwhile([], [said(app, "and there", "2")]))
        await app.orchestrator.run(said(app, "really?", "3"))
        texts = [message.content for message in model.requests[-1].messages]
        places = [next(n for n, text in enumerate(texts) if part in text) for part in ("look", "and there", "Done.")]
        assert places == sorted(places)


async def test_a_redelivered_message_that_joined_finds_the_answer_of_the_turn() -> None:
    async with listening(CALL, "Done.") as (app, model):
        more = Meanwhile([], [said(app, "and there", "2")])
        first = await app.orchestrator.run(said(app, "look", "1"), more=more)
        again = await app.orchestrator.run(said(app, "and there", "2"))
        assert (again.text, again.answer) == (first.text, first.answer)
        assert len(model.requests) == 2


async def test_telegram_c10_a_turn_that_is_run_again_has_what_joined_it_before() -> None:
    broken = ModelError("scripted", "it broke", "Try again.")
    async with listening(CALL, broken, "Done.") as (app, model):
        with pytest.raises(ModelError):
            await app.orchestrator.run(said(app, "look", "1"), more=Meanwhile([], [said(app, "and there", "2")]))
        result = await app.orchestrator.run(said(app, "look", "1"), more=Meanwhile())
        assert result.text == "Done."
        assert people(model.requests[-1])[-2:] == [AGAIN, "and there"]
        assert (await app.orchestrator.run(said(app, "and there", "2"))).text == "Done."
        assert len(model.requests) == 3


async def test_what_comes_before_the_first_call_is_with_it() -> None:
    async with listening("Both.") as (app, model):
        await app.orchestrator.run(said(app, "one", "1"), more=Meanwhile([said(app, "two", "2")]))
        assert people(model.requests[0])[-1] == "two"
