"""A message that names a time: what was said then is found in this very turn, stands in front, and gets its room."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from goat.adapters.tokens_estimate import EstimatedTokens
from goat.app import App
from goat.records.episodes import Episode, NewEpisode, Role
from goat.records.memory import HistoryMessage, ThreadState
from goat.records.search import Recalled
from goat.retrieval.passages import split_passages
from goat.retrieval.pipeline import COLD, DRIFT, REFLEX, SEARCH, Recipe
from goat.retrieval.when import find_windows
from goat.settings import Settings
from goat.settings.sections import ActivationSettings, RetrievalBudgetSettings
from goat.testing.app import memory_app, say
from goat.testing.clock import FakeClock
from goat.testing.faults import Away
from goat.turn.prefetch import TOPIC_RETURN
from goat.turn.prompt import Material, Prompt, PromptBuilder

BUCHAREST = ZoneInfo("Europe/Bucharest")
NOW = datetime(2026, 7, 15, 17, 22, tzinfo=BUCHAREST)
NOON_YESTERDAY = datetime(2026, 7, 14, 12, tzinfo=BUCHAREST)
HARD_CAP = 12000
SHARES = RetrievalBudgetSettings()


def clock() -> FakeClock:
    return FakeClock(NOW, BUCHAREST)


async def archive(app: App, *said: tuple[datetime, str], embed: bool = True) -> None:
    """Messages of another chat."""
    episodes = [
        NewEpisode("admin", "old", Role.USER, text, at, f"x{at.isoformat()}", passages=split_passages(text))
        for at, text in said
    ]
    await app.memory.archive.append(episodes)
    if embed:
        await app.memory.archive.embed()


def texts(results: Sequence[Recalled]) -> list[str]:
    return [result.episode.text for result in results]


async def test_a01_a_named_date_is_answered_in_its_own_turn_though_the_thread_holds_other_things() -> None:
    all_one_thread = Settings(activation=ActivationSettings(drift_warm=0.02, drift_cold=0.01))
    async with memory_app(all_one_thread, clock=clock()) as app:
        ninth = datetime(2026, 7, 9, 10, tzinfo=BUCHAREST)
        await archive(
            app, (ninth, "ceramic tiles"), (NOW - timedelta(days=90), "the cabin of my blue boat holds a red blanket")
        )
        await say(app, "what does the cabin of my blue boat hold?")
        warm = await say(app, "does the cabin of my blue boat hold a blanket?")
        result = await say(app, "did the cabin of my blue boat hold a blanket on 9 July?")
    assert warm.record
    assert result.record
    assert (warm.record.state, warm.record.served_by) == (ThreadState.WARM, "held")
    assert (result.record.state, result.record.served_by) == (ThreadState.WARM, "reflex")
    assert texts(result.recalled)[0] == "ceramic tiles"


async def test_a05_the_hour_is_meant_and_not_the_whole_vague_day() -> None:
    morning, noon, evening = (NOW.replace(hour=hour, minute=10) for hour in (8, 12, 16))
    async with memory_app(clock=clock()) as app:
        await archive(app, (morning, "mere verzi"), (noon, "bilete de tren"), (evening, "filmul de aseară"))
        result = await say(app, "Dar azi pe la 12:00 ce am discutat?")
    assert texts(result.recalled) == ["bilete de tren"]


async def test_what_was_said_at_a_named_hour_is_found_without_a_shared_word_and_without_a_vector() -> None:
    async with memory_app(clock=clock(), vectors=Away("VectorIndex")) as app:
        at = datetime(2026, 7, 14, 15, 20, tzinfo=BUCHAREST)
        await archive(app, (at, "bilete de tren"), (at - timedelta(hours=5), "mere verzi"), embed=False)
        result = await say(app, "what did we talk about yesterday at 3?")
    assert texts(result.recalled) == ["bilete de tren"]


@pytest.mark.parametrize("recipe", [REFLEX, COLD, DRIFT, TOPIC_RETURN, SEARCH], ids=lambda recipe: recipe.name)
async def test_a11_every_route_searches_by_date(recipe: Recipe) -> None:
    async with memory_app(clock=clock()) as app:
        await archive(
            app,
            (datetime(2026, 7, 9, 10, tzinfo=BUCHAREST), "ceramic tiles"),
            (datetime(2026, 6, 9, 10, tzinfo=BUCHAREST), "wooden floor"),
        )
        found = await app.memory.recall(app.memory.query("admin", "what was decided on 9 July?", NOW), recipe, 0.5)
    assert texts(found.results) == ["ceramic tiles"]


@pytest.mark.parametrize("asked", ["what was said yesterday at 12:00?", "what was said at 2026-07-14T12:00:00?"])
async def test_f_b23_a_time_without_a_zone_is_the_owners(asked: str) -> None:
    three_hours = timedelta(hours=3)
    async with memory_app(clock=clock()) as app:
        await archive(app, (NOON_YESTERDAY, "bilete de tren"), (NOON_YESTERDAY + three_hours, "mere verzi"))
        result = await say(app, asked)
    assert texts(result.recalled) == ["bilete de tren"]


async def test_a_message_is_found_by_the_day_it_tells_of_behind_what_was_said_on_it() -> None:
    second, twentieth = (datetime(2026, 3, day, 10, tzinfo=BUCHAREST) for day in (2, 20))
    async with memory_app(clock=clock()) as app:
        await archive(
            app,
            (second + timedelta(days=1), "yesterday I fixed the boiler"),
            (twentieth, "pe 2 martie am reparat și bicicleta"),
            (twentieth, "mere verzi"),
            (second, "bilete de tren"),
        )
        result = await say(app, "what was done on 2 March?")
    assert texts(result.recalled)[0] == "bilete de tren"
    assert set(texts(result.recalled)) == {
        "bilete de tren",
        "yesterday I fixed the boiler",
        "pe 2 martie am reparat și bicicleta",
    }


async def test_f_b02_a_time_without_results_and_everyday_words_take_nothing_from_the_conversation() -> None:
    async with memory_app(clock=clock()) as app:
        for number in range(6):
            await say(app, f"{'the garden needs water and light. ' * 40} {number}")
        nothing_then = await say(app, "what was said on 9 July 2020?")
        everyday = await say(app, "Ce mai faci?")
    for result in (nothing_then, everyday):
        assert result.record
        assert result.record.layer_tokens["L2"] > SHARES.l2_floor_tokens


# The prompt


def recalled(*said: tuple[datetime, str]) -> list[Recalled]:
    return [
        Recalled(Episode(number, f"u{number}", "ana", "c", Role.USER, text, at, f"x{number}"), 0.1, 0.1)
        for number, (at, text) in enumerate(said)
    ]


def build(
    found: list[Recalled], asked: str, budget: int, talk: int = 0, shares: RetrievalBudgetSettings = SHARES
) -> Prompt:
    history = [HistoryMessage(n, (Role.USER, Role.ASSISTANT)[n % 2], "talk " * 40, NOW) for n in range(talk)]
    material = Material(
        text=asked,
        identity="You are GOAT.",
        facts=(),
        history=history,
        recalled=found,
        partners={},
        recalled_for=asked,
        now=NOW,
        zone=BUCHAREST,
        windows=find_windows(asked, NOW, BUCHAREST),
    )
    return PromptBuilder(EstimatedTokens(), shares, "[Recalled]", 1800, HARD_CAP).build(material, budget)


def test_a03_the_one_result_of_the_named_time_is_packed_though_it_came_last() -> None:
    others = [(NOW - timedelta(days=30), "other things entirely " * 20)] * 15
    found = recalled(*others, (NOON_YESTERDAY, "bilete de tren"))
    small = RetrievalBudgetSettings(l3_min_guarantee_tokens=400)
    prompt = build(found, "what did we say yesterday at 12:00?", budget=1000, talk=60, shares=small)
    assert len(prompt.shown) < 16
    assert prompt.shown[0].episode.text == "bilete de tren"


def test_a04_where_few_of_a_dense_hour_fit_it_is_those_nearest_to_the_asked_moment() -> None:
    minutes = [6 * step - 60 for step in range(20)]
    found = recalled(*[(NOON_YESTERDAY + timedelta(minutes=m), f"{m} " + "words " * 60) for m in minutes])
    small = RetrievalBudgetSettings(l3_min_guarantee_tokens=500, temporal_l3_guarantee_tokens=500)
    prompt = build(found, "what did we say yesterday at 12:00?", budget=1100, talk=60, shares=small)
    near = sorted(minutes, key=abs)
    assert 3 <= len(prompt.shown) < 10
    assert [int(result.episode.text.split()[0]) for result in prompt.shown] == near[: len(prompt.shown)]


@pytest.mark.parametrize("budget", [2000, 6000, HARD_CAP])
def test_a08_a_dense_hour_gets_its_room_and_the_conversation_keeps_its_floor(budget: int) -> None:
    dense = recalled(*[(NOON_YESTERDAY + timedelta(minutes=m), "it was said then " * 25) for m in range(-50, 50, 5)])
    elsewhere = recalled(*[(NOW - timedelta(days=30), "it was said then " * 25)] * 20)
    asked = "what did we say yesterday at 12:00?"
    timed, without = build(dense, asked, budget, talk=60), build(elsewhere, asked, budget, talk=60)
    assert len(timed.shown) == 20
    assert timed.layer_tokens["L3"] > SHARES.l3_min_guarantee_tokens
    assert timed.layer_tokens["L2"] >= SHARES.l2_floor_tokens * 0.9
    assert timed.tokens <= HARD_CAP
    assert without.tokens <= budget


def test_a08_a_named_time_takes_from_the_conversation_only_what_it_needs() -> None:
    one = recalled((NOON_YESTERDAY, "bilete de tren"))
    asked, plain = "what did we say yesterday at 12:00?", "what did we say about the many trains?"
    assert build(one, asked, 4000, talk=60).layer_tokens["L2"] == build(one, plain, 4000, talk=60).layer_tokens["L2"]
