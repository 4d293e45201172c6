"""A whole memory goes out and comes back equal."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.history import open_history
from goat.adapters.history_jsonl import JsonLinesWriter
from goat.app import App
from goat.errors import HistoryError
from goat.memory.importer import Aim, Imported, survey
from goat.memory.senders import Senders, choose_sides
from goat.memory.transfer import Exported
from goat.records.episodes import Change, NewEpisode, Role
from goat.records.memory import PermanentHistory
from goat.retrieval.passages import split_passages
from goat.testing.app import memory_app, say
from goat.testing.telegram_export import write_telegram_export

NOON = datetime(2024, 5, 8, 12, tzinfo=UTC)


async def export(app: App, path: Path, owners: Sequence[str] = ("admin",), named: bool = False) -> Exported:
    with path.open("w", encoding="utf-8", newline="") as out:
        return await app.exporter.run(JsonLinesWriter(out), owners, named, {"made_by": "test"})


async def bring(app: App, path: Path, owner: str = "admin", **aim: Any) -> Imported:
    source = open_history(path)
    found = await survey(source, False)
    return await app.importer.run(source, Aim(owner, choose_sides(found.senders, path, None), **aim), False)


async def held(app: App, owner: str = "admin") -> list[tuple[object, ...]]:
    """Everything of an owner's archive but the numbers, which are each home's own."""
    found: list[Change] = []
    while page := await app.backends.transfer.scan(owner, found[-1].episode_id if found else 0, 500):
        found += page
    return [
        (replace(c.episode, id=0), tuple((p.part, p.span) for p in c.passages)) for c in found if c.episode is not None
    ]


def said(number: int, **fields: Any) -> NewEpisode:
    text = fields.pop("text", f"message {number}")
    plain = {"owner": "admin", "chat": "home", "role": Role.USER, "at": NOON + timedelta(minutes=number)}
    return NewEpisode(
        **{**plain, "text": text, "exchange_id": f"x{number}", "passages": split_passages(text), **fields}
    )


async def lived(app: App) -> None:
    """A memory with talk of its own, an import, odd episodes, facts and identities with a past."""
    await say(app, "my boat is called Zmeura")
    await say(app, "and it lies in Sulina", key="delivered-7")
    await app.backends.journal.append(
        [
            said(
                1,
                text="Ștefan 🐐 \u202e שלום\r\n\tend ",
                speaker="Ana",
                meta={"reply_to": "k", "ü": "漢"},
                topic_id="t",
            ),
            said(
                2, role=Role.ASSISTANT, text="> a quotation only", passages=(), tags=("a", "b"), source="bot", key="9"
            ),
            said(3, text="", chat="", exchange_id="", topic_id="t"),
            said(3, text="same text, no key"),
            said(3, text="same text, no key"),
        ]
    )
    permanent, (first, *_) = app.backends.permanent, await app.backends.transfer.scan("admin", 0, 1)
    await permanent.put_fact("admin", "boat", "Mure", NOON, None)
    await permanent.put_fact("admin", "boat", "Zmeura", NOON + timedelta(days=1), first.episode_id)
    await permanent.put_fact("admin", "gone", "x", NOON, None)
    await permanent.drop_fact("admin", "gone", NOON + timedelta(days=2))
    await permanent.put_identity("admin", "You are kind.", NOON)
    await permanent.put_identity("admin", "You are Zmeura.", NOON + timedelta(days=1))


async def test_an_export_makes_an_equal_memory_elsewhere(tmp_path: Path) -> None:
    async with memory_app() as old, memory_app() as new:
        await lived(old)
        exported = await export(old, tmp_path / "all.jsonl")
        assert exported == Exported(episodes=9, values=5)
        await say(new, "somebody else was here before", owner="bob")  # other numbers than in the old home
        imported = await bring(new, tmp_path / "all.jsonl")
        assert (imported.new, imported.known, imported.values) == (9, 0, 5)
        assert await held(new) == await held(old)
        assert await _without_numbers(new) == await _without_numbers(old)
        source = (await new.backends.permanent.facts("admin"))[0].source_episode
        [episode] = await new.backends.journal.episodes("admin", [source or 0])
        assert episode.text == "my boat is called Zmeura"


async def _without_numbers(app: App) -> PermanentHistory:
    history = await app.backends.permanent.everything("admin")
    return replace(history, facts=tuple(replace(fact, source_episode=None) for fact in history.facts))


async def test_memory_12_an_export_that_comes_back_to_its_own_home_adds_nothing(tmp_path: Path) -> None:
    async with memory_app() as app:
        await lived(app)
        before = await held(app), await app.backends.permanent.everything("admin")
        await export(app, tmp_path / "all.jsonl")
        assert await bring(app, tmp_path / "all.jsonl") == Imported(known=9, chats=3)
        assert (await held(app), await app.backends.permanent.everything("admin")) == before


async def test_what_was_forgotten_since_the_export_does_not_come_back(tmp_path: Path) -> None:
    async with memory_app() as app:
        await lived(app)
        await export(app, tmp_path / "all.jsonl")
        [first] = await app.backends.transfer.scan("admin", 0, 1)
        await app.backends.forgetting.forget("admin", [first.episode_id])
        imported = await bring(app, tmp_path / "all.jsonl")
        assert (imported.new, imported.known, imported.forgotten) == (0, 8, 1)
        assert len(await held(app)) == 8


async def test_the_original_history_and_our_export_of_it_are_the_same_messages(tmp_path: Path) -> None:
    facts = write_telegram_export(tmp_path / "result.json", 700, seed=4, archive=True)
    async with memory_app() as old, memory_app() as new:
        await bring(old, tmp_path / "result.json")
        await export(old, tmp_path / "all.jsonl")
        await bring(new, tmp_path / "all.jsonl")
        assert await held(new) == await held(old)
        assert (await bring(new, tmp_path / "result.json")).known == facts.records


async def test_memory_14_an_export_of_more_than_ten_thousand_messages_holds_every_one(tmp_path: Path) -> None:
    async with memory_app() as old, memory_app() as new:
        await old.backends.journal.append([said(number, passages=()) for number in range(10_777)])
        written: list[int] = []
        out = io.StringIO()
        exported = await old.exporter.run(JsonLinesWriter(out), ["admin"], False, {}, written.append)
        (tmp_path / "all.jsonl").write_text(out.getvalue(), encoding="utf-8")
        assert (exported.episodes, written[-1]) == (10_777, 10_777)
        assert written == sorted(written)
        assert (await bring(new, tmp_path / "all.jsonl")).new == 10_777
        assert [episode for episode, *_ in await held(new)] == [episode for episode, *_ in await held(old)]


# Owners


async def two_people(app: App, path: Path, named: bool = True) -> None:
    await app.backends.journal.append([said(1, owner="ana"), said(2, owner="bob"), said(3, owner="ana")])
    for owner in ("ana", "bob"):
        await app.backends.permanent.put_fact(owner, "name", owner, NOON, None)
    await export(app, path, await app.exporter.owners(), named)


async def test_an_export_of_several_people_gives_each_their_own(tmp_path: Path) -> None:
    async with memory_app() as old, memory_app() as new:
        await two_people(old, tmp_path / "all.jsonl")
        imported = await bring(new, tmp_path / "all.jsonl", owner="carol", everybody=True)
        assert (imported.new, imported.of_others, imported.values) == (3, 0, 2)
        for owner in ("ana", "bob"):
            assert await held(new, owner) == await held(old, owner)
            assert [fact.value for fact in await new.backends.permanent.facts(owner)] == [owner]
        assert await held(new, "carol") == []


async def test_f_b20_of_an_export_of_several_people_one_owner_gets_nothing_of_the_others(tmp_path: Path) -> None:
    async with memory_app() as old, memory_app() as new:
        await two_people(old, tmp_path / "all.jsonl")
        imported = await bring(new, tmp_path / "all.jsonl", owner="bob")
        assert (imported.new, imported.of_others, imported.values) == (1, 2, 1)
        assert await new.exporter.owners() == ["bob"]
        assert await new.backends.permanent.facts("ana") == []


async def test_one_persons_export_may_become_another_owners_memory(tmp_path: Path) -> None:
    async with memory_app() as app:
        await lived(app)
        await export(app, tmp_path / "all.jsonl")
        assert (await bring(app, tmp_path / "all.jsonl", owner="bob")).new == 9
        assert (await bring(app, tmp_path / "all.jsonl", owner="bob")).known == 9
        ours, theirs = await held(app), await held(app, "bob")
        assert [replace(e, uid="", owner="") for e, *_ in ours] == [replace(e, uid="", owner="") for e, *_ in theirs]  # type: ignore[type-var]
        assert (await app.backends.permanent.facts("bob"))[0].source_episode in [
            change.episode_id for change in await app.backends.transfer.scan("bob", 0, 100)
        ]


# Facts


async def test_facts_and_identity_can_be_left_out(tmp_path: Path) -> None:
    async with memory_app() as old, memory_app() as new:
        await lived(old)
        await export(old, tmp_path / "all.jsonl")
        imported = await bring(new, tmp_path / "all.jsonl", values=False)
        assert (imported.new, imported.values) == (9, 0)
        assert await new.backends.permanent.everything("admin") == PermanentHistory()


async def test_memory_30_a_bad_fact_is_found_before_anything_is_written(tmp_path: Path) -> None:
    async with memory_app() as old, memory_app() as new:
        await lived(old)
        await export(old, tmp_path / "all.jsonl")
        with (tmp_path / "all.jsonl").open("a", encoding="utf-8") as out:
            out.write('{"type": "fact", "key": "x", "value": 7, "since": 1}\n')
        with pytest.raises(HistoryError, match="its value is 7"):
            await bring(new, tmp_path / "all.jsonl")
        assert await new.backends.journal.head() == 0
        source = open_history(tmp_path / "all.jsonl")
        imported = await new.importer.run(source, Aim("admin", Senders().with_owner(None)), skip_bad=True)
        assert (imported.new, imported.values) == (9, 5)
