"""Histories become memory: once, whole, with the times and the words of those who spoke."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.history import open_history
from goat.app import App
from goat.errors import HistoryError
from goat.memory.importer import BATCH, IMPORTED, Aim, Imported, survey
from goat.memory.senders import Senders, choose_sides
from goat.records.episodes import Episode, Role
from goat.records.history import HistoryRecord
from goat.testing.app import memory_app
from goat.testing.telegram_export import write_telegram_export

NOON = datetime(2024, 5, 8, 12, tzinfo=UTC)


async def bring(app: App, path: Path, me: str | None = None, skip_bad: bool = False, **aim: Any) -> Imported:
    """The whole of an import, as the command does it."""
    source = open_history(path)
    found = await survey(source, skip_bad)
    sides = choose_sides(found.senders, path, me)
    return await app.importer.run(source, Aim(**{"owner": "admin", "sides": sides, **aim}), skip_bad)


async def kept(app: App, owner: str = "admin") -> list[Episode]:
    found: list[Episode] = []
    while page := await app.backends.transfer.scan(owner, found[-1].id if found else 0, 1000):
        found += [change.episode for change in page if change.episode]
    return found


def lines(folder: Path, *objects: dict[str, Any], name: str = "history.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps({"at": NOON.isoformat(), **one}) + "\n" for one in objects), encoding="utf-8")
    return path


async def test_every_record_of_an_odd_telegram_archive_is_kept_with_its_words_time_chat_and_key(tmp_path: Path) -> None:
    facts = write_telegram_export(tmp_path / "result.json", 1_300, seed=5, archive=True)
    records = list(open_history(tmp_path / "result.json").read())
    async with memory_app() as app:
        imported = await bring(app, tmp_path / "result.json")
        episodes = await kept(app)
        assert imported == Imported(new=facts.records, chats=facts.chats)
        assert [(e.text, e.at, e.chat, e.key) for e in episodes] == [(r.text, r.at, r.chat, r.key) for r in records]
        assert {(e.owner, e.role, e.source, e.tags) for e in episodes} == {
            ("admin", Role.USER, "telegram", (IMPORTED,))
        }


async def test_memory_17_a_message_has_the_time_of_its_sender_not_that_of_the_import(tmp_path: Path) -> None:
    path = lines(tmp_path, {"text": "We moved to Iași.", "at": "2016-02-29T08:15:30.000250+02:00"})
    async with memory_app() as app:
        await bring(app, path)
        [episode] = await kept(app)
        assert episode.at == datetime(2016, 2, 29, 6, 15, 30, 250, tzinfo=UTC)
        recall = await app.memory.search("admin", "Where did we move?", NOON, 5)
        assert [result.episode.at for result in recall.results] == [episode.at]


async def test_memory_12_two_imports_of_one_history_add_nothing(tmp_path: Path) -> None:
    facts = write_telegram_export(tmp_path / "result.json", 1_200, seed=2, archive=True)
    async with memory_app() as app:
        await bring(app, tmp_path / "result.json")
        first, head = await kept(app), await app.backends.journal.head()
        again = await bring(app, tmp_path / "result.json")
        assert again == Imported(known=facts.records, chats=facts.chats)
        assert await kept(app) == first
        assert await app.backends.journal.head() == head


async def test_a51_a_longer_export_of_the_same_chat_adds_what_is_new(tmp_path: Path) -> None:
    first = [{"text": f"message {number}", "speaker": "Ana"} for number in range(3)]
    async with memory_app() as app:
        await bring(app, lines(tmp_path, *first))
        longer = lines(tmp_path, {"text": "before"}, *first, {"text": "after"}, name="longer.jsonl")
        assert await bring(app, longer) == Imported(new=2, known=3, chats=1)
        texts = [episode.text for episode in await kept(app)]
        assert texts == ["message 0", "message 1", "message 2", "before", "after"]


async def test_a_message_that_stands_twice_in_a_file_is_kept_once(tmp_path: Path) -> None:
    async with memory_app() as app:
        imported = await bring(app, lines(tmp_path, {"text": "same"}, {"text": "same"}))
        assert (imported.new, imported.known) == (1, 1)


async def test_an_imported_message_is_found_by_its_words_at_once(tmp_path: Path) -> None:
    facts = write_telegram_export(tmp_path / "result.json", 1_100, seed=3)
    async with memory_app() as app:
        await bring(app, tmp_path / "result.json")
        for planted in facts.planted:
            recall = await app.memory.search("admin", f"What is the code of {planted.ask}?", NOON, 3)
            assert planted.text in [result.episode.text for result in recall.results]
            assert recall.results[0].episode.key == planted.key


async def test_what_an_export_tells_beyond_the_words_is_kept(tmp_path: Path) -> None:
    group = {
        "name": "Family",
        "type": "private_supergroup",
        "id": 15,
        "messages": [
            message(1, action="topic_created", title="Garden", type="service", actor="Ana", actor_id="user2"),
            message(2, text="tomatoes", reply_to_message_id=1, edited="2020-01-01T10:00:00"),
            message(3, text="yes", reply_to_message_id=2),
            message(4, text="", file="x", media_type="voice_message", duration_seconds=12),
        ],
    }
    path = tmp_path / "result.json"
    path.write_text(json.dumps(group), encoding="utf-8")
    async with memory_app() as app:
        await bring(app, path, me="")
        _, second, third, fourth = await kept(app)
        head = {"chat_title": "Family", "sender_id": "user2"}
        assert second.meta == {**head, "forum_topic": "Garden", "edited": "yes"}
        assert third.meta == {**head, "forum_topic": "Garden", "reply_to": second.key}
        assert fourth.meta == {**head, "kind": "media", "media": "[voice message 0:12]"}


def message(number: int, **fields: Any) -> dict[str, Any]:
    at = {"date": "2020-01-01T09:00:00", "date_unixtime": "1577869200"}
    return {"id": number, "type": "message", **at, "from": "Ana", "from_id": "user2", "text": "", **fields}


async def test_a_line_that_stands_for_media_is_no_search_result_unless_it_names_something(tmp_path: Path) -> None:
    chat = {
        "name": "Ana",
        "type": "personal_chat",
        "id": 2,
        "messages": [
            message(1, photo="(not included)"),
            message(2, file="files/bilanț.pdf", file_name="bilanț.pdf"),
            message(3, text="see the photo", photo="(not included)"),
        ],
    }
    (tmp_path / "result.json").write_text(json.dumps(chat), encoding="utf-8")
    async with memory_app() as app:
        await bring(app, tmp_path / "result.json")
        changes = await app.backends.transfer.scan("admin", 0, 10)
        indexed = [change.episode.text for change in changes if change.episode and change.passages]
        assert indexed == ["[file: bilanț.pdf]", "see the photo"]


async def test_a_question_and_its_answers_are_one_exchange_and_every_other_message_is_its_own(tmp_path: Path) -> None:
    path = lines(
        tmp_path,
        {"text": "q1", "role": "user", "chat": "a"},
        {"text": "q2", "role": "user", "chat": "b"},
        {"text": "a1", "role": "assistant", "chat": "a"},
        {"text": "a1 more", "role": "assistant", "chat": "a"},
        {"text": "a2", "role": "assistant", "chat": "b"},
        {"text": "q3", "role": "user", "chat": "a"},
        {"text": "unasked", "role": "assistant", "chat": "c"},
    )
    async with memory_app() as app:
        await bring(app, path)
        by_exchange: dict[str, list[str]] = {}
        for episode in await kept(app):
            by_exchange.setdefault(episode.exchange_id, []).append(episode.text)
        assert list(by_exchange.values()) == [["q1", "a1", "a1 more"], ["q2", "a2"], ["q3"], ["unasked"]]


async def test_two_owners_may_import_the_same_history_and_do_not_meet(tmp_path: Path) -> None:
    path = lines(tmp_path, {"text": "the word is heliotrope", "role": "user"})
    async with memory_app() as app:
        await bring(app, path, owner="ana")
        await bring(app, path, owner="bob")
        assert (len(await kept(app, "ana")), len(await kept(app, "bob"))) == (1, 1)
        assert (await app.memory.search("carol", "heliotrope", NOON, 5)).results == ()


# What is wrong with a file


async def test_memory_30_a_bad_record_is_found_before_anything_is_written(tmp_path: Path) -> None:
    good = [{"text": f"message {number}"} for number in range(2 * BATCH)]
    path = lines(tmp_path, *good, {"text": "bad", "at": "yesterday"})
    async with memory_app() as app:
        with pytest.raises(HistoryError) as caught:
            await bring(app, path)
        assert caught.value.record == 2 * BATCH + 1
        assert await app.backends.journal.head() == 0


async def test_with_skip_bad_the_rest_is_imported_and_the_bad_ones_are_counted(tmp_path: Path) -> None:
    mixed = [{"text": f"m{number}", "at": "never" if number % 3 == 0 else NOON.isoformat()} for number in range(45)]
    path = lines(tmp_path, *mixed)
    found = await survey(open_history(path), skip_bad=True)
    assert (found.records, found.bad) == (30, 15)
    assert [bad.number for bad in found.first_bad] == [1, 4, 7, 10, 13, 16, 19, 22, 25, 28]
    async with memory_app() as app:
        assert (await bring(app, path, skip_bad=True)).new == 30


async def test_a_truncated_export_gives_all_that_stands_before_the_break(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_telegram_export(path, 800, seed=1)
    path.write_bytes(path.read_bytes()[:-20_000])
    async with memory_app() as app:
        with pytest.raises(HistoryError, match="--skip-bad"):
            await bring(app, path)
        imported = await bring(app, path, skip_bad=True)
        assert 600 < imported.new < 800


async def test_a_failure_in_the_middle_closes_the_file_and_keeps_what_was_committed(tmp_path: Path) -> None:
    closed = False

    class Broken:
        format, size = "broken", 1

        def read(self, on_bad: object = None) -> Iterator[HistoryRecord]:
            nonlocal closed
            try:
                for number in range(1, 3 * BATCH):
                    if number == 2 * BATCH + 7:
                        raise HistoryError(tmp_path, number, "the disk failed", "Check the disk.")
                    yield HistoryRecord("test", f"k{number}", "c", f"m{number}", NOON, number, number)
            finally:
                closed = True

        def values(self, on_bad: object, /) -> Iterator[Any]:
            return iter(())

    async with memory_app() as app:
        aim = Aim("admin", Senders().with_owner(None))
        with pytest.raises(HistoryError, match="the disk failed"):
            await app.importer.run(Broken(), aim, False)
        assert closed
        assert len(await kept(app)) == 2 * BATCH


async def test_progress_never_falls_and_ends_at_the_end_of_the_file(tmp_path: Path) -> None:
    write_telegram_export(tmp_path / "result.json", 1_800, seed=1)
    source = open_history(tmp_path / "result.json")
    checked: list[tuple[int, int]] = []
    written: list[tuple[int, int]] = []
    found = await survey(source, False, lambda position, count: checked.append((position, count)))
    async with memory_app() as app:
        aim = Aim("admin", choose_sides(found.senders, tmp_path, None))
        await app.importer.run(source, aim, False, lambda position, count: written.append((position, count)))
    for told in (checked, written):
        assert told == sorted(told)
        assert told[-1][1] == found.records
        assert 0.9 * source.size < told[-1][0] <= source.size
