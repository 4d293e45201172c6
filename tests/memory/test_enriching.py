"""Enriching writes, over real turns."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from goat.app import App
from goat.memory.enriching import WriteKind, Written
from goat.memory.l2_thread import hold, refreshed
from goat.records.episodes import Incoming, NewEpisode, Role
from goat.records.memory import Activation, Held
from goat.records.models import ModelRequest
from goat.retrieval.passages import split_passages
from goat.testing.app import memory_app, say
from goat.testing.faults import Away
from goat.testing.models import ScriptedModel

NOW = datetime(2026, 3, 2, tzinfo=UTC)
FACT = "the boiler needs water pressure of 1.5 bar"


async def store(app: App, text: str, chat: str = "test") -> Written:
    """What a tool that stores a text does with the archive."""
    episode = NewEpisode(
        owner="admin",
        chat=chat,
        role=Role.USER,
        text=text,
        at=app.backends.clock.now(),
        exchange_id=f"stored {text}",
        source="tool",
        passages=split_passages(text),
    )
    (appended,) = await app.memory.archive.append([episode])
    return Written(text, appended.episode.id)


async def held(app: App, chat: str = "test") -> list[int]:
    return [one.episode_id for one in (await app.memory.thread("admin", chat)).value.held]


async def test_a_fact_on_the_thread_is_held_at_once_and_one_off_it_is_not() -> None:
    async with memory_app() as app:
        await say(app, "what water pressure does the boiler need")
        on = await store(app, FACT)
        assert await app.enriching.enrich("admin", "test", on) is WriteKind.ENRICHING
        off = await store(app, "Ana's passport expires in June")
        assert await app.enriching.enrich("admin", "test", off) is WriteKind.FILING
        assert on.episode_id in await held(app)
        assert off.episode_id not in await held(app)


async def test_what_a_cold_turn_stores_on_its_own_topic_is_held_when_the_turn_returns_and_after_its_prefetch() -> None:
    apps: list[App] = []
    noted: list[Written] = []

    class Storing(ScriptedModel):
        async def reply(self, request: ModelRequest, on_text=None):  # type: ignore[no-untyped-def]
            noted.append(await store(apps[0], FACT))
            apps[0].enriching.note("admin", "test", noted[-1])
            return await super().reply(request, on_text)

    async with memory_app(model=Storing()) as app:
        apps.append(app)
        text = "remember the boiler needs water pressure of 1.5 bar"
        await app.orchestrator.run(Incoming("admin", "test", text, app.backends.clock.now(), source="test"))
        assert noted[0].episode_id in await held(app)
        await app.settled()
        assert noted[0].episode_id in await held(app)


async def test_a_fact_is_only_filed_while_the_working_store_is_away() -> None:
    async with memory_app(working=Away("WorkingStore")) as app:
        assert await app.enriching.enrich("admin", "test", await store(app, FACT)) is WriteKind.FILING


def test_f_b07_a_refresh_joins_the_results_of_a_prefetch_that_landed_meanwhile() -> None:
    newer = Activation(topic_id="t", held=(Held(5, 0.9),), held_query="later", held_for=9)
    after = refreshed(newer, "t", "earlier", [Held(1, 0.8), Held(12, 0.7)], written=12, at=NOW)
    assert after is not None
    assert [one.episode_id for one in after.held] == [12, 5]
    assert (after.held_query, after.held_for) == ("later", 9)


def test_f_b07_a_refresh_for_a_topic_that_the_chat_has_left_is_declined() -> None:
    assert refreshed(Activation(topic_id="new"), "old", "q", [Held(1, 0.8)], written=1, at=NOW) is None


@pytest.mark.parametrize(("episode_id", "expected"), [(10, [12, 3]), (20, [3])])
def test_what_was_written_after_a_message_stays_when_the_prefetch_for_that_message_ends(
    episode_id: int, expected: list[int]
) -> None:
    thread = Activation(topic_id="t", held=(Held(12, 0.7), Held(2, 0.6)), held_query="q", held_for=8)
    after = hold(thread, [Held(3, 0.9)], "new", episode_id, NOW)
    assert after is not None
    assert [one.episode_id for one in after.held] == expected
