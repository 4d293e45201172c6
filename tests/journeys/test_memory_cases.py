"""What people complain of in the memory of agents, as far as it takes a whole GOAT to show that it cannot happen."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goat.adapters.embedder_hashing import HashingEmbedder
from goat.adapters.history import open_history
from goat.adapters.journal_memory import MemoryArchive, MemoryEmbeddings, MemoryJournal, MemoryTransfer
from goat.adapters.locks_local import LocalLocks
from goat.adapters.model_fallback import FallbackModel
from goat.adapters.permanent_memory import MemoryPermanentStore
from goat.adapters.tokens_estimate import EstimatedTokens
from goat.adapters.vector_memory import MemoryVectorIndex
from goat.app import App, assemble, open_app
from goat.errors import BackendUnavailable, HistoryError, ModelError, ModelFault
from goat.memory.importer import Aim, survey
from goat.memory.l1_facts import Facts, Kept
from goat.memory.senders import choose_sides
from goat.ports.stores import LexicalIndex
from goat.records.episodes import Episode, NewEpisode, Role
from goat.records.models import ChatMessage, ModelRequest, Reply, ToolCall
from goat.records.search import Floats
from goat.records.turns import Notice
from goat.retrieval.passages import split_passages
from goat.settings import Settings
from goat.settings.sections import RecallSettings
from goat.testing.app import memory_app, say
from goat.testing.clock import FakeClock
from goat.testing.faults import Away, Counted
from goat.testing.models import ScriptedModel
from goat.tools.tool import ToolContext, tool

PATIENT = Settings(recall=RecallSettings(deadline_ms=60_000))
"""A slow machine finds no less."""


def _quiet(notice: Notice) -> None:
    return


async def kept(app: App, owner: str = "admin") -> list[Episode]:
    """Everything that the archive holds of an owner."""
    found: list[Episode] = []
    while page := await app.backends.transfer.scan(owner, found[-1].id if found else 0, 1000):
        found += [change.episode for change in page if change.episode]
    return found


async def found(app: App, query: str, limit: int = 5) -> list[str]:
    recall = await app.memory.search("admin", query, app.backends.clock.now(), limit)
    return [result.episode.text for result in recall.results]


def last_words(request: ModelRequest) -> str:
    return request.messages[-1].content


# What is kept


async def test_memory_1_only_what_was_said_is_archived_however_often_it_is_recalled() -> None:
    model = ScriptedModel([lambda request: f"You told me: {last_words(request)}"])
    async with memory_app(PATIENT, model=model) as app:
        said = ["the blue boat lies in Sulina", *["where is the blue boat?"] * 20, "and what colour has it?"]
        for text in said:
            await say(app, text)
            app.backends.clock.move(60)
        archived = await kept(app)
        assert [one.text for one in archived if one.role is Role.USER] == said
        assert [one.text for one in archived if one.role is Role.ASSISTANT] == [f"You told me: {text}" for text in said]
        assert any(app.settings.recall.header in message.content for one in model.requests for message in one.messages)
        system = model.requests[-1].messages[0].content
        for one in archived:  # neither the system prompt nor the recalled block comes back as a memory
            assert app.settings.recall.header not in one.text
            assert system not in one.text
        assert await app.backends.permanent.facts("admin") == []


KEYS = st.sampled_from(["city", "dog", "job", "tea", "sister", "car"])
VALUES = st.sampled_from(["Rome", "Paris", "a pilot", "green", "none"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(KEYS, VALUES), max_size=25))
def test_memory_4_a_fact_ends_only_where_its_own_key_gets_another_value(changes: list[tuple[str, str]]) -> None:
    async def lived() -> None:
        clock, store = FakeClock(), MemoryPermanentStore()
        facts = Facts(store, clock, EstimatedTokens(), 2000, LocalLocks())
        expected: dict[str, list[str]] = {}
        for key, value in changes:
            clock.move(60)
            outcome = (await facts.promote("ana", key, value)).outcome
            values = expected.setdefault(key, [])
            assert outcome is (Kept.SAME if values[-1:] == [value] else Kept.CHANGED if values else Kept.SET)
            values += [] if outcome is Kept.SAME else [value]
        held = (await store.everything("ana")).facts
        assert {key: [one.value for one in held if one.key == key] for key in expected} == expected
        assert sorted(one.key for one in held if one.until is None) == sorted(expected)

    asyncio.run(lived())


async def test_memory_23_a_turn_is_one_call_of_the_model_and_an_import_none(tmp_path: Path) -> None:
    async with HashingEmbedder() as embedder:
        model, counted = ScriptedModel(["Fine."]), Counted(embedder)
        async with memory_app(PATIENT, model=model, embedder=counted) as app:
            for number in range(5):
                await say(app, f"message {number}")
            assert len(model.requests) == 5
            asked = counted.calls["embed_query"]
            path = tmp_path / "history.jsonl"
            lines = [{"text": f"line {n}", "at": "2024-05-08T12:00:00Z"} for n in range(200)]
            path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            source = open_history(path)
            read = await survey(source, skip_bad=False)
            await app.importer.run(source, Aim("admin", choose_sides(read.senders, path, "")), False)
            await app.memory.archive.embed()
            assert len(await kept(app)) == 210
        assert len(model.requests) == 5
        assert counted.calls["embed_query"] == asked
        assert counted.calls["embed_passages"] <= 30  # in batches, each passage once


# Rewriting, cursors, resets


async def test_telegram_h1_a_rewrite_that_was_cut_off_changes_nothing_and_a_short_one_is_undone() -> None:
    whole = "You are the careful keeper of my house, and you know all of its forty rooms."
    rewrite = ToolCall("1", "set_identity", json.dumps({"identity_prompt": "You are"}))
    cut = ToolCall("1", "set_identity", rewrite.arguments[:-6])
    answers = [Reply("", (cut,), model="m", finish_reason="length"), Reply("Cut off.", model="m")]
    model = ScriptedModel([*answers, Reply("", (rewrite,), model="m", finish_reason="tool_calls"), "Done."])
    async with memory_app(PATIENT, model=model) as app:
        await app.identity.set("admin", whole, app.backends.clock.now())
        await app.facts.promote("admin", "house", "forty rooms")
        app.backends.clock.move(60)
        await say(app, "rewrite who you are: be shorter")
        assert await app.identity.read("admin") == whole
        await say(app, "do it again")
        assert await app.identity.read("admin") == "You are"
        app.backends.clock.move(60)
        await app.undo.last("admin")
        assert await app.identity.read("admin") == whole
        assert [fact.value for fact in await app.backends.permanent.facts("admin")] == ["forty rooms"]


class Failing:
    """Passes everything on to an index; its `apply` fails as often as told."""

    def __init__(self, index: LexicalIndex, failures: int) -> None:
        self._index = index
        self.failures = failures
        self.sizes: list[int] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._index, name)

    async def apply(self, added: list[object], removed: list[object], cursor: int) -> None:
        self.sizes.append(len(added))
        if self.failures > 0:
            self.failures -= 1
            raise BackendUnavailable("LexicalIndex", "test", "it is away")
        await self._index.apply(added, removed, cursor)  # type: ignore[arg-type]


async def test_telegram_h2_a_cursor_moves_after_what_it_stands_for_in_bounded_steps(tmp_path: Path) -> None:
    async with open_app(PATIENT, tmp_path, _quiet, embed=False) as opened:
        failing = Failing(opened.backends.lexical, failures=1)
        app = assemble(opened.settings, replace(opened.backends, lexical=failing))
        archive = app.memory.archive
        now = opened.backends.clock.now()
        new = [
            NewEpisode(
                "admin", "home", Role.USER, f"word{n} boat", now, f"x{n}", passages=split_passages(f"word{n} boat")
            )
            for n in range(600)
        ]
        await opened.backends.journal.append(new, [], {})
        with pytest.raises(BackendUnavailable):
            await archive.follow_words()
        assert await failing.cursor() == 0
        await archive.follow_words()
        assert await failing.cursor() == await opened.backends.journal.head() == 600
        assert max(failing.sizes) <= 256
        assert "word599 boat" in await found(app, "word599")


@pytest.mark.parametrize("damage", ["UPDATE follower SET cursor = 9999", "UPDATE emb_model SET cursor = 9999"])
async def test_telegram_h2_a_cursor_beyond_the_journal_heals_at_the_next_start(damage: str, tmp_path: Path) -> None:
    async with open_app(PATIENT, tmp_path, _quiet) as app:
        await say(app, "the blue boat lies in Sulina")
    with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as journal:
        journal.execute(damage)
    async with open_app(PATIENT, tmp_path, _quiet) as app:
        await app.settled()
        await say(app, "the green boat lies in Tulcea")
        assert await found(app, "where is the green boat?") != []
        assert "the blue boat lies in Sulina" in await found(app, "where is the blue boat?")
        assert await app.check.faults() == []


async def test_telegram_h4_a_new_conversation_holds_the_facts_and_no_message_of_the_old_one() -> None:
    model = ScriptedModel(["Noted."])
    async with memory_app(PATIENT, model=model) as app:
        await say(app, "the blue boat lies in Sulina", chat="old")
        await app.facts.promote("admin", "boat", "blue")
        await say(app, "hello", chat="new")
        system, *talk, data, message = model.requests[-1].messages
        assert "boat: blue" in system.content
        assert talk == []
        assert message == ChatMessage("user", "hello")
        quoted = [line for line in data.content.splitlines() if "Sulina" in line]
        assert all(line.startswith("> ") for line in quoted)  # as a memory with its date, if at all


async def test_telegram_h5_a_message_is_one_row_though_its_turn_failed_and_it_came_three_times() -> None:
    busy = ModelError("m", "it has too many requests", "Wait.", ModelFault.BUSY)
    model = ScriptedModel([busy, "Here I am."])
    async with memory_app(PATIENT, model=model) as app:
        with pytest.raises(ModelError):
            await say(app, "hello", key="update 7")
        for _ in range(2):
            assert (await say(app, "hello", key="update 7")).text == "Here I am."
        assert [(one.role, one.text) for one in await kept(app)] == [
            (Role.USER, "hello"),
            (Role.ASSISTANT, "Here I am."),
        ]


@tool
def dump(context: ToolContext) -> str:
    """Everything at once."""
    return "line of a log\n" * 400_000


async def test_telegram_h6_a_giant_result_is_cut_and_the_persons_message_stays() -> None:
    model = ScriptedModel([Reply("", (ToolCall("1", "dump", "{}"),), model="m"), "It is a log."])
    async with memory_app(PATIENT, model=model) as app:
        app.acting.outfit.add(lambda: [dump])
        result = await say(app, "what does the log say?")
        assert result.text == "It is a log."
        sent = model.requests[-1]
        assert sum(len(message.content) for message in sent.messages) < 100_000
        assert "what does the log say?" in [message.content for message in sent.messages]
        assert any("5,600,000 characters in all" in message.content for message in sent.messages)
        assert all(len(one.text) < 1000 for one in await kept(app))


async def test_telegram_h6_a_prompt_that_stays_too_long_is_tried_twice_and_told() -> None:
    refused = ModelError("m", "the prompt is too long", "Choose a larger model.", ModelFault.TOO_LONG)
    model = ScriptedModel(["Noted.", refused])
    clock = FakeClock()
    async with memory_app(PATIENT, model=FallbackModel([model], clock), clock=clock) as app:
        await say(app, "the blue boat lies in Sulina")
        with pytest.raises(ModelError, match="too long"):
            await say(app, "and what is my question?")
        assert [last_words(request) for request in model.requests[1:]] == ["and what is my question?"] * 2
        assert len(model.requests[2].messages) < len(model.requests[1].messages)
        assert "and what is my question?" in [one.text for one in await kept(app)]


@pytest.mark.parametrize(
    "at", [{}, {"at": None}, {"at": ""}, {"at": "soon"}], ids=["missing", "null", "empty", "no time"]
)
async def test_o14_what_has_no_time_is_left_out_by_every_way_of_looking(at: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    lines = [
        {"text": "the timeless boat lies in Sulina", **at},
        {"text": "the boat of May", "at": "2024-05-08T12:00:00Z"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    source = open_history(path)
    with pytest.raises(HistoryError):
        await survey(source, skip_bad=False)
    read = await survey(source, skip_bad=True)
    assert (read.records, read.bad) == (1, 1)
    async with memory_app(PATIENT, model=ScriptedModel(["Noted."])) as app:
        await app.importer.run(source, Aim("admin", choose_sides(read.senders, path, "")), True)
        await app.memory.archive.embed()
        for query in ("the timeless boat lies in Sulina", "boat", "what was on 8 May 2024?"):
            assert await found(app, query) == ["the boat of May"]
        assert [one.text for one in await app.overview.recent("admin", 5)] == ["the boat of May"]
        await say(app, "which boat?")
        assert all(one.at.tzinfo is not None for one in await kept(app))


# Stores under load, damaged files, other models


async def test_telegram_h10_fifty_writers_at_once_each_get_their_place(tmp_path: Path) -> None:
    async with open_app(PATIENT, tmp_path, _quiet, embed=False) as app:

        async def write(number: int) -> None:
            new = NewEpisode(
                "admin", f"chat {number % 7}", Role.USER, f"text {number}", app.backends.clock.now(), f"x{number}"
            )
            await app.memory.archive.append([new])
            await app.facts.promote("admin", f"key number {number}", f"value {number}", another=True)

        await asyncio.gather(*(write(number) for number in range(50)))
        assert sorted(one.text for one in await kept(app)) == sorted(f"text {number}" for number in range(50))
        assert len(await app.backends.permanent.facts("admin")) == 50


def spoil(home: Path) -> None:
    """Damage everything that is state and not the journal itself."""
    with closing(sqlite3.connect(home / "journal.db", isolation_level=None)) as journal:
        journal.execute("UPDATE kv SET body = '{not json'")
        journal.execute("UPDATE listing SET body = 'neither'")
    for path in home.glob("vec-*.i8"):
        path.write_bytes(b"\x07" * 1001)
    (home / "logs" / "turns.jsonl").write_bytes(b"\xff\x00 half a li")
    (home / "goat.lock").write_bytes(b"garbage")


async def test_telegram_h11_with_every_state_file_damaged_it_starts_and_remembers(tmp_path: Path) -> None:
    async with open_app(PATIENT, tmp_path, _quiet) as app:
        await say(app, "the blue boat lies in Sulina")
    spoil(tmp_path)
    async with open_app(PATIENT, tmp_path, _quiet) as app:
        result = await say(app, "where does the blue boat lie?")
        assert "the blue boat lies in Sulina" in result.text
        thread = await app.memory.thread("admin", "test")
        assert thread.value.turn_count == 1  # begun anew


class OtherEmbedder(HashingEmbedder):
    """Another model, whose vectors are shorter."""

    @property
    def name(self) -> str:
        return "another model"

    @property
    def dimensions(self) -> int:
        return 64

    async def embed_query(self, text: str) -> Floats:
        return (await super().embed_query(text))[:64]

    async def embed_passages(self, texts: list[str]) -> list[Floats]:  # type: ignore[override]
        return [vector[:64] for vector in await super().embed_passages(texts)]


async def test_telegram_h12_without_an_embedding_model_and_with_another_one_everything_is_found() -> None:
    clock, archive = FakeClock(), MemoryArchive()
    shared = {
        "clock": clock,
        "journal": MemoryJournal(archive, clock),
        "embeddings": MemoryEmbeddings(archive),
        "transfer": MemoryTransfer(archive),
    }

    class Down(Away):
        name, dimensions = "down", 384

    async with memory_app(PATIENT, embedder=Down("Embedder"), **shared) as app:
        await say(app, "the blue boat lies in Sulina")
        assert "the blue boat lies in Sulina" in await found(app, "boat")
    for make in (HashingEmbedder, OtherEmbedder):
        async with (
            make() as embedder,
            memory_app(PATIENT, embedder=embedder, vectors=MemoryVectorIndex(), **shared) as app,
        ):
            await app.memory.archive.follow_words()
            await app.memory.archive.embed()
            recall = await app.memory.search("admin", "blue boats", clock.now(), 5)
            assert recall.lost == ()
            assert recall.results[0].episode.text == "the blue boat lies in Sulina"
            assert "meaning" in recall.results[0].mechanisms
    assert set(await shared["embeddings"].models()) == {HashingEmbedder().name, "another model"}  # type: ignore[attr-defined]
