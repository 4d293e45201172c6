"""What the indexes and the pipeline over them keep, find, forget and stand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from goat.adapters.embedder_hashing import HashingEmbedder
from goat.app import App, open_app
from goat.memory.enrich import entities_in
from goat.records.episodes import NewEpisode, Role
from goat.records.search import Hits, Where
from goat.records.turns import Notice
from goat.retrieval.gather import gather
from goat.retrieval.passages import split_passages
from goat.retrieval.pipeline import SEARCH
from goat.retrieval.query import Query, read_query
from goat.retrieval.terms import analyse
from goat.settings import Settings
from goat.testing.app import memory_app, say
from goat.testing.faults import Away, Counted, Hanging


def message(text: str, at: datetime, number: int = 0, chat: str = "notes", topic: str = "") -> NewEpisode:
    return NewEpisode(
        owner="admin",
        chat=chat,
        role=Role.USER,
        text=text,
        at=at + timedelta(minutes=number),
        exchange_id=f"{chat}-{number}",
        topic_id=topic,
        passages=split_passages(text),
    )


async def keep(app: App, *messages: NewEpisode) -> None:
    """Archive messages and wait for the word index, which a busy machine may leave to the background."""
    await app.memory.archive.append(messages)
    await app.settled()


async def found(app: App, text: str, where: Where | None = None) -> list[str]:
    recall = await app.memory.search("admin", text, app.backends.clock.now(), 20, where or Where())
    return [one.episode.text for one in recall.results]


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """GOAT over its real stores."""
    notices: list[Notice] = []
    async with open_app(Settings(), tmp_path, notices.append) as opened:
        yield opened


async def test_a17_what_words_and_meaning_both_find_stands_once_with_both_labels(app: App) -> None:
    text = "The boiler needs water every week."
    await keep(app, message(text, app.backends.clock.now()))
    await app.memory.archive.embed()
    recall = await app.memory.search("admin", "when does the boiler need water", app.backends.clock.now(), 20)
    (only,) = recall.results
    assert {"words", "meaning"} <= set(only.mechanisms)


async def test_a18_what_is_learnt_of_a_message_later_stands_in_a_lexical_result_too() -> None:
    async with memory_app(vectors=Away("VectorIndex")) as app:
        said = await say(app, "the boiler needs water every week")
        recall = await app.memory.search("admin", "boiler water", app.backends.clock.now(), 20)
        (answered, *_) = await app.backends.journal.episodes("admin", [said.question.id])
    question = next(one.episode for one in recall.results if one.episode.id == said.question.id)
    assert question.topic_id == answered.topic_id != ""


async def test_a18_a_result_of_words_alone_gets_the_boost_of_the_names_it_shares_with_the_question() -> None:
    async with memory_app(vectors=Away("VectorIndex")) as app:
        told = await say(app, "we sail with Ana on Sunday")
        other = await say(app, "we sail with nobody on Monday", chat="other")
        recall = await app.memory.search("admin", "When do we sail with Ana?", app.backends.clock.now(), 20)
    assert [one.what for one in recall.lost] == ["meaning", "cosines"]
    boost = {one.episode.id: one.parts["entity"] for one in recall.results}
    assert boost[told.question.id] > boost[other.question.id] == 0


@pytest.mark.parametrize(
    ("stored", "asked"),
    [("întîlnirea din iulie", "intilnirea din iulie"), ("ţară şi oraş", "țară și oraș"), ("Straße", "strasse")],
)
def test_a21_accents_and_both_romanian_forms_fold_alike_in_index_and_query(stored: str, asked: str) -> None:
    assert set(analyse(stored)) & set(analyse(asked))
    assert sorted(analyse(stored)) == sorted(analyse(asked))


@pytest.mark.parametrize("text", ["demisia.", "(demisia)", "«demisia»", "demisia,", "demisia!?", "„demisia”"])
def test_a22_punctuation_does_not_stick_to_a_word(text: str) -> None:
    assert analyse(text) == analyse("demisia")


async def test_a45_f_b28_a_search_that_was_made_before_finds_what_was_written_since(app: App) -> None:
    now = app.backends.clock.now()
    assert await found(app, "the blue boat") == []
    await keep(app, message("The blue boat lies in Sulina.", now))
    assert await found(app, "the blue boat") == ["The blue boat lies in Sulina."]
    await keep(app, message("The blue boat was sold.", now, 1))
    assert set(await found(app, "the blue boat")) == {"The blue boat lies in Sulina.", "The blue boat was sold."}


async def test_a45_a_search_that_was_made_before_a_message_was_read_for_names_shows_them_afterwards(app: App) -> None:
    async def noted() -> list[list[str]]:
        recall = await app.memory.search("admin", "the boat", app.backends.clock.now(), 20)
        return [[entity.text for entity in entities_in(one.episode.meta)] for one in recall.results]

    await keep(app, replace(message("The boat of Ana lies in Cluj.", app.backends.clock.now()), to_enrich=True))
    assert await noted() == [[]]
    await app.memory.archive.enrich()
    assert await noted() == [["Ana", "Cluj"]]


async def test_f_b29_text_and_filter_never_run_into_one_another(app: App) -> None:
    now = app.backends.clock.now()
    inside, outside = message("hi 1 boat", now, 1, chat="2"), message("hi 12 boat", now, 2, chat="other")
    await keep(app, inside, outside)
    assert await found(app, "hi 1 boat", Where(chat="2")) == ["hi 1 boat"]
    assert "hi 12 boat" in await found(app, "hi 12 boat")
    assert await found(app, "hi 1 boat", Where(chat="2")) == ["hi 1 boat"]


async def test_f_b30_the_groups_look_at_the_same_time() -> None:
    meeting = asyncio.Barrier(2)

    async def group(query: Query) -> Hits:
        await meeting.wait()
        raise AssertionError("both met")

    query = read_query("admin", "boat", datetime.now().astimezone(), datetime.now().astimezone().tzinfo)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="both met"):
        await asyncio.wait_for(gather(query, {"one": group, "other": group}, None), 30)


async def test_f_b30_a_turn_embeds_its_message_once() -> None:
    async with HashingEmbedder() as embedder:
        counted = Counted(embedder)
        async with memory_app(embedder=counted) as app:
            await say(app, "when does the boiler need water")
            assert counted.calls["embed_query"] == 1


async def test_f_b32_the_lines_on_tools_in_l2_never_reach_the_archive() -> None:
    async with memory_app() as app:
        said = await say(app, "when does the boiler need water")
        reply = next(e for e in await app.memory.exchange(said.question) if e.role is Role.ASSISTANT)
        await app.memory.remember_exchange([said.question], reply, evidence="quetzalcoatl was looked up")
        kept = await app.memory.exchange(said.question)
        recall = await app.memory.search("admin", "quetzalcoatl", app.backends.clock.now(), 20)
    assert all("quetzalcoatl" not in episode.text for episode in kept)
    assert all("quetzalcoatl" not in one.episode.text for one in recall.results)


async def test_f_b33_a_name_with_a_comma_stays_whole(app: App) -> None:
    now = app.backends.clock.now()
    name = "Washington, D.C."
    named = replace(message(f"We met in {name} in May.", now), speaker="Smith, John", tags=(name, "trip"))
    await keep(app, named, message("George Washington crossed the river.", now, 1))
    await app.memory.archive.embed()
    recall = await app.memory.search("admin", name, now, 20)
    assert recall.results[0].episode.text == named.text
    assert recall.results[0].episode.tags == (name, "trip")
    assert recall.results[0].episode.speaker == "Smith, John"


async def test_memory_24_a_write_does_not_wait_for_the_embedding_model() -> None:
    async with memory_app() as app:
        hanging = Hanging()
        app.memory.archive._embedder = hanging  # type: ignore[assignment]
        await asyncio.wait_for(app.memory.archive.append([message("The blue boat.", app.backends.clock.now())]), 30)
        assert await found(app, "blue boat") == ["The blue boat."]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "🚢🌊😀",
        "xyzzy plugh ᚠᚢᚦᚨᚱᚲ",
        "ⴰⵣⵓⵍ ⵎⴰⵏⵣⴰⴽⵉⵏ",
        "boat " * 20_000,
        "\u200b\u202e",
        "a" * 100_000,
        '" OR 1=1 --',
    ],
    ids=["empty", "blank", "emoji", "runes", "tifinagh", "long", "invisible", "one word", "quotes"],
)
async def test_a_query_of_any_kind_is_answered(app: App, text: str) -> None:
    await keep(app, message("The blue boat lies in Sulina. 🚢", app.backends.clock.now()))
    await app.memory.archive.embed()
    recall = await app.memory.search("admin", text, app.backends.clock.now(), 20)
    assert recall.lost == ()
    assert all(0 <= one.relevance <= 1 for one in recall.results)


async def test_a39_eight_writers_and_eight_readers_lose_and_duplicate_nothing(app: App) -> None:
    now, gone = app.backends.clock.now(), set[str]()
    vector = (await app.memory.embed("boat sails")).value
    assert vector is not None

    async def write(writer: int) -> None:
        for number in range(15):
            text = f"boat number w{writer}n{number}x sails"
            (kept,) = await app.memory.archive.append([message(text, now, number, chat=f"writer {writer}")])
            app.memory.archive.follow_meaning()
            if number % 7 == writer % 7:
                await app.forgetter.forget(await app.forgetter.by_ids("admin", [kept.episode.id]))
                gone.add(text)

    async def read(reader: int) -> None:
        asked = app.memory.query("admin", "boat sails", now, vector if reader % 2 else None)
        for _ in range(10):
            before = set(gone)
            recall = await app.memory.recall(asked, replace(SEARCH, limit=500), within=None)
            ids = [one.episode.id for one in recall.results]
            assert len(ids) == len(set(ids))
            assert before.isdisjoint(one.episode.text for one in recall.results)
            assert {one.what for one in recall.lost} <= (set() if reader % 2 else {"meaning"})
            await asyncio.sleep(0)

    await asyncio.gather(*(write(n) for n in range(8)), *(read(n) for n in range(8)))
    await app.settled()
    await app.memory.archive.embed()
    written = {f"boat number w{writer}n{number}x sails" for writer in range(8) for number in range(15)}
    expected = sorted(written - gone)
    assert len(gone) == 18
    for asked in (app.memory.query("admin", "boat sails", now, given) for given in (None, vector)):
        everything = await app.memory.recall(asked, replace(SEARCH, limit=500))
        assert sorted(one.episode.text for one in everything.results) == expected
        by_meaning = ["meaning" in one.mechanisms for one in everything.results]
        assert all(by_meaning) if asked.vector is not None else not any(by_meaning)
    for text in expected[::10]:
        assert (await found(app, text))[0] == text
