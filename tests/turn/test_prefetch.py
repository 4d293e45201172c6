"""The search after a reply: what it looks with, what it keeps, and which one wins."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from goat.adapters.lexical_memory import MemoryLexicalIndex
from goat.adapters.vector_memory import MemoryVectorIndex
from goat.app import App
from goat.errors import BackendUnavailable
from goat.records.episodes import Incoming
from goat.records.memory import Activation, ThreadState
from goat.records.search import Floats, Hits, Ords, Where
from goat.retrieval.pipeline import COLD, DRIFT
from goat.settings import Settings
from goat.settings.sections import PrefetchSettings, RecallSettings
from goat.testing.app import memory_app, say
from goat.testing.clock import FakeClock
from goat.testing.faults import Away, Counted, Hanging, Late
from goat.testing.models import ScriptedModel
from goat.testing.observer import KeepingObserver
from goat.turn.prefetch import TOPIC_RETURN, Prefetched


def incoming(app: App, text: str) -> Incoming:
    return Incoming("admin", "test", text, app.backends.clock.now(), source="test")


async def thread_of(app: App) -> Activation:
    return (await app.memory.thread("admin", "test")).value


class NoEmbedder:
    """An embedding model that is away."""

    name = "hashing-away"
    dimensions = 384

    async def embed_query(self, text: str) -> Floats:
        raise BackendUnavailable("Embedder", "away", "it is down")

    async def embed_passages(self, texts: Any) -> list[Floats]:
        raise BackendUnavailable("Embedder", "away", "it is down")


class GatedLexicalIndex(MemoryLexicalIndex):
    """Holds back the searches for texts with a word until the gate opens."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word
        self.gate = asyncio.Event()
        self.waiting = asyncio.Event()

    async def search(self, owner: str, terms: Any, limit: int, where: Where) -> Hits:
        if self.word in terms and where.chat is not None:  # only a prefetch looks in the chat
            self.waiting.set()
            await self.gate.wait()
        return await super().search(owner, terms, limit, where)


class LeavingLexicalIndex(MemoryLexicalIndex):
    """Finds nothing any more from the moment it is away."""

    away = False

    async def search(self, owner: str, terms: Any, limit: int, where: Where) -> Hits:
        self._refuse()
        return await super().search(owner, terms, limit, where)

    async def newest(self, owner: str, limit: int, where: Where) -> Ords:
        self._refuse()
        return await super().newest(owner, limit, where)

    async def passages_of(self, owner: str, episode_ids: Any, where: Where) -> Ords:
        self._refuse()
        return await super().passages_of(owner, episode_ids, where)

    def _refuse(self) -> None:
        if self.away:
            raise BackendUnavailable("LexicalIndex", "leaving", "it is down")


@pytest.mark.parametrize(
    ("state", "returned", "recipe"),
    [
        (ThreadState.COLD, False, COLD),
        (ThreadState.COLD, True, TOPIC_RETURN),
        (ThreadState.DRIFT, False, DRIFT),
        (ThreadState.WARM, False, DRIFT),
    ],
)
def test_f_b14_the_state_decides_which_mechanisms_look(state: ThreadState, returned: bool, recipe: object) -> None:
    assert Prefetched(None, 1, state, returned).recipe is recipe  # type: ignore[arg-type]
    assert {*COLD.groups, *DRIFT.groups} == set(TOPIC_RETURN.groups)
    assert {"words_in_topic", "meaning_in_topic"} <= set(DRIFT.groups)
    assert {"words_in_chat", "meaning_in_chat"} <= set(COLD.groups)


async def test_f_b14_a_warm_turn_saves_what_its_drift_search_found_and_leaves_the_centroid() -> None:
    observer = KeepingObserver()
    async with memory_app(observer=observer) as app:
        await say(app, "when does the boiler need water")
        before = await thread_of(app)
        await say(app, "the boiler needs water every week", chat="notes")
        await say(app, "when does the boiler need water")
        after = await thread_of(app)
        (found,) = await app.backends.journal.recent("admin", "notes", 1, before=4)
    assert observer.turns[-1].state == ThreadState.WARM
    assert observer.prefetches[-1].recipe == "drift"
    assert observer.prefetches[-1].saved
    assert after.centroid == before.centroid
    assert found.id in [one.episode_id for one in after.held]
    assert after.held_for > before.held_for


async def test_f_b38_without_an_embedding_model_a_lexical_result_is_held_and_served() -> None:
    async with memory_app(embedder=NoEmbedder()) as app:
        await say(app, "the boiler needs water every week", chat="notes")
        first = await say(app, "boiler water")
        thread = await thread_of(app)
    assert first.recalled[0].episode.text == "the boiler needs water every week"
    assert thread.held
    assert thread.held_query == "boiler water"


async def test_a29_the_results_of_an_older_message_that_come_later_are_dropped() -> None:
    lexical = GatedLexicalIndex("slow")
    async with memory_app(lexical=lexical) as app:
        await app.orchestrator.run(incoming(app, "slow boiler question"))
        await lexical.waiting.wait()
        await app.orchestrator.run(incoming(app, "zebras of the savannah"))
        for _ in range(50):
            await asyncio.sleep(0.01)
            if (await thread_of(app)).held_query == "zebras of the savannah":
                break
        lexical.gate.set()
        await app.settled()
        thread = await thread_of(app)
    assert thread.held_query == "zebras of the savannah"


async def test_a_search_that_found_nothing_because_everything_was_away_leaves_what_is_held() -> None:
    lexical, observer = LeavingLexicalIndex(), KeepingObserver()
    async with memory_app(lexical=lexical, vectors=Away("vectors"), observer=observer) as app:
        await say(app, "the boiler needs water every week", chat="notes")
        await say(app, "boiler water")
        before = await thread_of(app)
        lexical.away = True
        await say(app, "boiler valve drips")
        after = await thread_of(app)
    assert before.held
    assert (after.held, after.held_query) == (before.held, "boiler water")
    assert not observer.prefetches[-1].saved
    assert "words" in observer.prefetches[-1].lost


async def test_a36_a_late_prefetch_is_never_cut_and_the_chat_does_not_stay_cold() -> None:
    lexical = GatedLexicalIndex("slow")
    async with memory_app(lexical=lexical) as app:
        await app.orchestrator.run(incoming(app, "slow boiler question"))
        await lexical.waiting.wait()
        result = await app.orchestrator.run(incoming(app, "slow boiler question"))
        lexical.gate.set()
        await app.settled()
        thread = await thread_of(app)
    assert result.record is not None
    assert result.record.state is not ThreadState.COLD
    assert thread.held_query == "slow boiler question"
    assert thread.held_for == result.question.id


async def test_a37_the_reflex_ends_at_its_deadline_says_what_was_cut_and_the_reply_still_comes() -> None:
    settings = Settings(recall=RecallSettings(deadline_ms=1500))
    async with memory_app(settings, vectors=Hanging()) as app:
        result = await app.orchestrator.run(incoming(app, "when does the boiler need water"))
    assert result.text == "All right."
    assert result.record is not None
    assert "meaning" in result.record.late
    assert "words" not in result.record.late


async def test_a38_the_search_for_the_next_turn_begins_only_after_the_reply() -> None:
    apps: list[App] = []
    during: list[str] = []

    def answer(_request: object) -> str:
        during.extend(apps[0].background.names)
        return "All right."

    async with memory_app(model=ScriptedModel([answer])) as app:
        apps.append(app)
        result = await app.orchestrator.run(incoming(app, "when does the boiler need water"))
        assert f"prefetch {result.question.id}" in app.background.names
    assert not [name for name in during if name.startswith("prefetch")]


async def test_no_more_results_are_held_than_the_settings_say() -> None:
    async with memory_app(Settings(prefetch=PrefetchSettings(max_results=3))) as app:
        for number in range(6):
            await say(app, f"the boiler needs water in week {number}", chat="notes")
        await say(app, "boiler water week")
        assert len((await thread_of(app)).held) == 3


async def test_a33_a_thread_with_vectors_of_numpy_survives_every_store() -> None:
    async with memory_app() as app:
        await say(app, "when does the boiler need water")
        thread = await thread_of(app)
    assert thread.centroid
    assert all(type(value) is float for value in thread.centroid)


async def test_f_b21_the_prompt_says_for_which_message_the_held_memories_were_found() -> None:
    model = ScriptedModel()
    async with memory_app(model=model) as app:
        await say(app, "the boiler needs water every week", chat="notes")
        await say(app, "when does the boiler need water")
        await say(app, "does the boiler need water")
    assert 'Found for: "when does the boiler need water"' in model.requests[-1].messages[-2].content


async def test_a_return_after_days_keeps_the_topic_and_searches_again() -> None:
    lexical, clock = Counted(MemoryLexicalIndex()), FakeClock()
    async with memory_app(lexical=lexical, clock=clock) as app:
        await say(app, "when does the boiler need water")
        topic = (await thread_of(app)).topic_id
        clock.move(3 * 86400)
        result = await say(app, "when does the boiler need water")
        assert (await thread_of(app)).topic_id == topic
    assert result.record is not None
    assert (result.record.state, result.record.served_by) == (ThreadState.WARM, "reflex")


async def test_a96_who_waits_for_the_search_after_a_reply_waits_however_long_it_takes() -> None:
    late = Late(MemoryVectorIndex())
    model = ScriptedModel(["Noted."])
    instant = Settings(recall=RecallSettings(deadline_ms=50))
    async with memory_app(instant, vectors=late, model=model) as app:
        now = app.backends.clock.now()
        await app.orchestrator.run(Incoming("admin", "test", "the blue boat lies in Sulina", now, source="test"))
        await late.asked()
        waiting = asyncio.ensure_future(app.settled())
        await asyncio.sleep(0)
        app.backends.clock.move(3600)
        assert not waiting.done()
        late.open.set()
        async with asyncio.timeout(30):
            await waiting
        thread = await app.memory.thread("admin", "test")
        assert thread.value.held_for > 0  # the search has ended, and its result is what the next turn is served from
