"""Faults of memory that are known elsewhere: what is archived, whose words it is, and what a search leaves out."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from goat.app import App, open_app
from goat.memory.tools import NOTES
from goat.records.episodes import Incoming, NewEpisode, Role
from goat.records.models import Reply, ToolCall
from goat.records.search import Hits
from goat.retrieval.gather import gather
from goat.retrieval.passages import split_passages
from goat.retrieval.query import Query, read_query
from goat.settings import ModelSettings, Settings
from goat.testing.app import memory_app, say
from goat.testing.models import ScriptedModel
from goat.tools.tool import tool

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
OFFLINE = Settings(model=ModelSettings(provider="offline"))


async def use(app: App, name: str, owner: str = "admin", **arguments: Any) -> Any:
    definition = next(one for one in app.acting.outfit.toolbox() if one.name == name)
    context = app.acting.outfit.context(owner, "test")
    return await definition.handler(context=context, **definition.validated(arguments))


async def test_a28_a_group_with_a_fault_of_the_program_is_not_taken_for_one_that_found_nothing() -> None:
    async def refused(query: Query) -> Hits:
        raise TypeError("search() got an unexpected keyword argument 'topic'")

    query = read_query("admin", "boat", NOON, UTC)
    groups: dict[str, Callable[[Query], Awaitable[Hits]]] = {"refused": refused}
    with pytest.raises(TypeError, match="unexpected keyword"):
        await gather(query, groups, None)


async def test_a50_what_was_said_right_before_the_end_is_there_at_the_next_start(tmp_path: Path) -> None:
    async with open_app(OFFLINE, tmp_path, lambda notice: None, embed=False) as app:
        for number in range(5):
            text = f"the boiler number {number} needs water"
            await app.orchestrator.run(Incoming("admin", "c", text, app.backends.clock.now(), source="test"))
    async with open_app(OFFLINE, tmp_path, lambda notice: None, embed=False) as app:
        kept = await app.backends.journal.recent("admin", "c", 99)
        assert len(kept) == 10
        for number in range(5):
            found = await app.memory.search("admin", f"boiler number {number}", app.backends.clock.now(), 5)
            assert f"the boiler number {number} needs water" in [one.episode.text for one in found.results]


@tool
async def list_files() -> str:
    """List the files."""
    return "\n".join(f"-rw-r--r-- 1 ana ana 4096 quetzalcoatl-{number}.log" for number in range(300))


async def test_a52_the_output_of_a_tool_is_in_no_message_of_the_archive() -> None:
    calls = Reply("", tool_calls=(ToolCall("1", "list_files", "{}"),))
    model = ScriptedModel((calls, "There are 300 files."))
    async with memory_app(model=model) as app:
        app.acting.outfit.add(lambda: [list_files])
        result = await say(app, "which files are there?")
        assert any("quetzalcoatl" in message.content for message in model.requests[-1].messages)
        kept = await app.backends.journal.recent("admin", "test", 99)
        found = await app.memory.search("admin", "quetzalcoatl", app.backends.clock.now(), 99)
    assert [episode.text for episode in kept] == ["which files are there?", "There are 300 files."]
    assert result.text == "There are 300 files."
    assert all("quetzalcoatl" not in one.episode.text for one in found.results)


async def test_f_b12_nothing_that_could_not_be_read_again_can_stand_among_the_facts(tmp_path: Path) -> None:
    async with open_app(OFFLINE, tmp_path, lambda notice: None, embed=False) as app:
        for key in ("city", "cat"):
            await app.facts.promote("admin", key, f"value of {key}")
    with closing(sqlite3.connect(tmp_path / "journal.db")) as journal:
        for column, value in (("since", "'{'"), ("value", "x'ff'"), ("key", "NULL"), ("owner_id", "'x'")):
            with pytest.raises(sqlite3.IntegrityError):
                journal.execute(f"UPDATE fact SET {column} = {value} WHERE key = 'cat'")
        journal.execute("UPDATE fact SET value = '{broken' WHERE key = 'cat'")
        journal.commit()
    async with open_app(OFFLINE, tmp_path, lambda notice: None, embed=False) as app:
        assert {fact.key: fact.value for fact in await app.facts.read("admin")} == {
            "cat": "{broken",
            "city": "value of city",
        }
        await app.facts.promote("admin", "cat", "Zmeura")
        assert await app.facts.drop("admin", "city") is not None
        assert [fact.value for fact in await app.facts.read("admin")] == ["Zmeura"]


async def test_o25_each_message_tells_through_which_door_it_came() -> None:
    async with memory_app() as app:
        now = app.backends.clock.now()
        for source in ("terminal", "telegram"):
            await app.orchestrator.run(Incoming("admin", "c", f"hello by {source}", now, source=source))
            await app.settled()
        await use(app, "store_memory", content="a note")
        kept = await app.backends.journal.recent("admin", "c", 9)
        (note,) = await app.backends.journal.recent("admin", NOTES, 9)
    assert [episode.source for episode in kept] == ["terminal", "terminal", "telegram", "telegram"]
    assert note.source == "tool"
    assert note.meta["provenance"] == "assistant"
    assert note.meta["memory_type"] == "greeting"


async def test_o35_a_key_that_the_model_invented_ends_no_fact_and_it_is_told_those_that_are_there() -> None:
    async with memory_app() as app:
        for key in ("city", "sister's name"):
            await app.facts.promote("admin", key, "something")
        for invented in ("user_city", "name", "sister", "*", ""):
            answer = await use(app, "forget_fact", key=invented)
            assert not answer.ok
            assert set(answer.facts) == {"city", "sister's name"}
        assert len(await app.facts.read("admin")) == 2
        assert (await use(app, "forget_fact", key="city")).ok
        assert (await use(app, "forget_memory", number=4711)).message == "Nothing matches."


async def archived(app: App, *texts: str) -> None:
    new = [
        NewEpisode("admin", "old", Role.USER, text, NOON, f"x{number}", passages=split_passages(text))
        for number, text in enumerate(texts)
    ]
    await app.memory.archive.append(new)
    await app.memory.archive.embed()


ZEBRAS = tuple(f"Zebra {number} sleeps in the savannah." for number in range(40))


@pytest.mark.parametrize("reflex", ["auto", "always"])
async def test_memory_25_nothing_irrelevant_is_shown_and_the_one_relevant_thing_is_not_hidden(reflex: str) -> None:
    settings = Settings.model_validate({"recall": {"reflex": reflex}})
    async with memory_app(settings) as app:
        await archived(app, *ZEBRAS)
        nothing = await say(app, "When does the boiler need water?", chat="a")
        assert nothing.recalled == ()
        await archived(app, *ZEBRAS, "The boiler in the cellar needs water every week.")
        found = await say(app, "How often does the boiler need water?", chat="b")
        assert "The boiler in the cellar needs water every week." in [one.episode.text for one in found.recalled]
        assert not [one for one in found.recalled if one.episode.text in ZEBRAS]


async def test_memory_25_on_demand_the_nearest_are_shown_with_how_relevant_they_are() -> None:
    async with memory_app() as app:
        await archived(app, *ZEBRAS)
        found = await app.memory.search("admin", "When does the boiler need water?", NOON, 5)
        assert len(found.results) == 5
        assert max(one.relevance for one in found.results) < app.settings.recall.min_relevance


async def test_f_b27_what_a_search_on_demand_showed_the_model_is_counted() -> None:
    async with memory_app() as app:
        told = await say(app, "The boiler in the cellar needs water every week.")
        answer = await use(app, "search_memory", query="boiler water", limit=1)
        await app.settled()
        (shown,) = answer.found
        uses = await app.backends.uses.of("admin", [told.question.id, told.answer.id])
        assert {number: use.count for number, use in uses.items()} == {shown.number: 1}
