"""The contracts of the ports Uses and Enrichment, over every adapter."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goat.adapters.journal import SqlEnrichment, SqlJournal, SqlUses, journal_database
from goat.adapters.journal_memory import MemoryArchive, MemoryJournal
from goat.adapters.uses_memory import MemoryUses
from goat.ports.stores import Enrichment, Forgetting, Journal, Uses
from goat.records.episodes import Episode, NewEpisode, Role, Use
from goat.testing.clock import FakeClock

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


def said(text: str = "hello", owner: str = "ana", **more: Any) -> NewEpisode:
    return NewEpisode(owner, "home", Role.USER, text, NOON, "x1", **more)


async def append(journal: Journal, *new: NewEpisode) -> list[Episode]:
    return [appended.episode for appended in await journal.append(new)]


async def test_uses_add_up_and_the_latest_time_stands(journal: Journal, uses: Uses) -> None:
    one, two, three = await append(journal, said(), said(), said())
    await uses.count("ana", {one.id: 1, two.id: 2}, LATER)
    await uses.count("ana", {one.id: 1}, NOON)
    assert await uses.of("ana", [one.id, two.id, three.id]) == {one.id: Use(2, LATER), two.id: Use(2, LATER)}
    assert await uses.of("ana", []) == {}


async def test_f_b27_an_owner_counts_and_sees_own_episodes_only(journal: Journal, uses: Uses) -> None:
    mine, hers = await append(journal, said(owner="bob"), said(owner="ana"))
    await uses.count("bob", {mine.id: 1, hers.id: 1, 999: 1}, NOON)
    await uses.take_in("bob", {hers.id: Use(9, NOON)})
    assert await uses.of("bob", [mine.id, hers.id, 999]) == {mine.id: Use(1, NOON)}
    assert await uses.of("ana", [mine.id, hers.id]) == {}


async def test_a_count_is_no_change_that_an_index_would_follow(journal: Journal, uses: Uses) -> None:
    (one,) = await append(journal, said())
    head = await journal.head()
    await uses.count("ana", {one.id: 1}, NOON)
    assert await journal.head() == head
    assert await journal.episodes("ana", [one.id]) == [one]


async def test_counts_from_elsewhere_never_lower_a_count_or_double_it(journal: Journal, uses: Uses) -> None:
    one, two = await append(journal, said(), said())
    await uses.count("ana", {one.id: 3}, LATER)
    for _ in range(2):
        await uses.take_in("ana", {one.id: Use(2, NOON), two.id: Use(5, NOON)})
    assert await uses.of("ana", [one.id, two.id]) == {one.id: Use(3, LATER), two.id: Use(5, NOON)}


async def test_forgetting_takes_the_count_along_and_what_is_gone_is_counted_no_more(
    journal: Journal, uses: Uses, forgetting: Forgetting
) -> None:
    one, two = await append(journal, said(), said())
    await uses.count("ana", {one.id: 1, two.id: 1}, NOON)
    await forgetting.forget("ana", [one.id])
    await uses.count("ana", {one.id: 1, two.id: 1}, LATER)
    await uses.take_in("ana", {one.id: Use(4, LATER)})
    assert await uses.of("ana", [one.id, two.id]) == {two.id: Use(2, LATER)}


async def test_more_episodes_than_a_statement_carries_are_counted(journal: Journal, uses: Uses) -> None:
    ids = [one.id for one in await append(journal, *(said() for _ in range(1201)))]
    await uses.count("ana", dict.fromkeys(ids, 1), NOON)
    assert await uses.of("ana", ids) == dict.fromkeys(ids, Use(1, NOON))


COUNTS = st.lists(st.dictionaries(st.integers(1, 4), st.integers(1, 3), min_size=1), max_size=6)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(COUNTS)
async def test_both_adapters_count_alike(tmp_path: Path, counts: Iterable[dict[int, int]]) -> None:
    archive, clock = MemoryArchive(), FakeClock()
    memory = MemoryUses(archive)
    await MemoryJournal(archive, clock).append([said() for _ in range(4)])
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    async with journal_database(home, clock) as database:
        stored = SqlUses(database)
        new = await SqlJournal(database, clock).append([said() for _ in range(4)])
        ids = [one.episode.id for one in new]
        for number, times in enumerate(counts):
            at = NOON + timedelta(minutes=number)
            await memory.count("ana", times, at)
            await stored.count("ana", {ids[place - 1]: count for place, count in times.items()}, at)
        expected = await memory.of("ana", [1, 2, 3, 4])
        assert await stored.of("ana", ids) == {ids[place - 1]: use for place, use in expected.items()}


async def test_what_was_appended_to_be_enriched_waits_by_id_until_it_is_noted(
    journal: Journal, enrichment: Enrichment
) -> None:
    one, _, three = await append(journal, said(to_enrich=True), said(), said(owner="bob", to_enrich=True))
    assert await enrichment.waiting(9) == [one, three]
    assert await enrichment.waiting(1) == [one]
    assert await enrichment.note({one.id: {"language": "en"}}) == []
    assert await enrichment.waiting(9) == [three]
    (kept,) = await journal.episodes("ana", [one.id])
    assert kept.meta == {"language": "en"}


async def test_noting_adds_and_never_overwrites(journal: Journal, enrichment: Enrichment) -> None:
    (one,) = await append(journal, said(meta={"kind": "photo", "language": "ro"}, to_enrich=True))
    await enrichment.note({one.id: {"language": "en", "importance": "0.1"}})
    (kept,) = await journal.episodes("ana", [one.id])
    assert kept.meta == {"kind": "photo", "language": "ro", "importance": "0.1"}


async def test_a48_ids_that_name_no_episode_are_told_and_the_others_noted(
    journal: Journal, enrichment: Enrichment, forgetting: Forgetting
) -> None:
    one, two = await append(journal, said(to_enrich=True), said(to_enrich=True))
    await forgetting.forget("ana", [one.id])
    assert await enrichment.waiting(9) == [two]
    assert await enrichment.note({one.id: {"a": "1"}, two.id: {"a": "1"}, 999: {"a": "1"}}) == [one.id, 999]
    assert await enrichment.waiting(9) == []
    assert [kept.meta for kept in await journal.episodes("ana", [one.id, two.id])] == [{"a": "1"}]


async def test_a_redelivery_does_not_wait_anew(journal: Journal, enrichment: Enrichment) -> None:
    for _ in range(2):
        await append(journal, said(key="k", to_enrich=True))
    (one,) = await enrichment.waiting(9)
    await enrichment.note({one.id: {"a": "1"}})
    await append(journal, said(key="k", to_enrich=True))
    assert await enrichment.waiting(9) == []


async def test_counts_and_what_waits_stand_in_the_file(tmp_path: Path) -> None:
    clock = FakeClock()
    async with journal_database(tmp_path, clock) as database:
        (one,) = await append(SqlJournal(database, clock), said(to_enrich=True))
        await SqlUses(database).count("ana", {one.id: 2}, NOON)
    async with journal_database(tmp_path, clock) as database:
        assert await SqlUses(database).of("ana", [one.id]) == {one.id: Use(2, NOON)}
        assert await SqlEnrichment(database).waiting(9) == [one]
