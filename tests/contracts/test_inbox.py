"""The contracts of the ports Inbox and Admissions, over every adapter."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.adapters.inbox_memory import MemoryAdmissions, MemoryInbox
from goat.adapters.journal import SqlAdmissions, SqlInbox, journal_database
from goat.ports.edges import Admissions, Inbox
from goat.records.arrivals import Admitted, Invitation, NewArrival, Role
from goat.testing.clock import START, FakeClock

BOT, OTHER = "telegram:1", "telegram:2"
ANA = Admitted(7, Role.GUEST, "telegram:7", "Ana", START)
CODE = Invitation(b"salt", b"digest", Role.GUEST, START + timedelta(hours=1))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
async def doors(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[tuple[Inbox, Admissions]]:
    if request.param == "memory":
        yield MemoryInbox(clock), MemoryAdmissions()
        return
    async with journal_database(tmp_path, clock) as database:
        yield SqlInbox(database, clock), SqlAdmissions(database)


@pytest.fixture
def inbox(doors: tuple[Inbox, Admissions]) -> Inbox:
    return doors[0]


@pytest.fixture
def admissions(doors: tuple[Inbox, Admissions]) -> Admissions:
    return doors[1]


def update(number: int, text: str = "hi") -> NewArrival:
    return NewArrival(number, {"update_id": number, "message": {"text": text}})


async def test_telegram_h5_a_delivery_that_comes_twice_stands_once(inbox: Inbox) -> None:
    first = await inbox.take(BOT, [update(1), update(2), update(1)])
    assert [one.number for one in first] == [1, 2]
    assert await inbox.take(BOT, [update(2), update(3)]) == (await inbox.waiting(BOT))[2:]
    assert [one.number for one in await inbox.waiting(BOT)] == [1, 2, 3]


async def test_a72_an_empty_inbox_is_looked_at_and_never_waited_for(inbox: Inbox) -> None:
    assert await asyncio.wait_for(inbox.waiting(BOT), 30) == []
    (one,) = await inbox.take(BOT, [update(1)])
    await inbox.done([one.id], "answered")
    assert await asyncio.wait_for(inbox.waiting(BOT), 30) == []


async def test_what_is_taken_comes_back_as_it_was(inbox: Inbox) -> None:
    odd = update(5, 'ță 👍🏽 "\\" \x00 \ud83d')
    taken = await inbox.take(BOT, [odd])
    assert await inbox.waiting(BOT) == taken
    assert taken[0].body == odd.body


async def test_telegram_a8_bots_have_inboxes_of_their_own(inbox: Inbox) -> None:
    await inbox.take(BOT, [update(900_000_000)])
    assert [one.number for one in await inbox.take(OTHER, [update(100), update(900_000_000)])] == [100, 900_000_000]
    assert [one.number for one in await inbox.waiting(BOT)] == [900_000_000]


async def test_what_is_done_waits_no_more_and_is_still_recognised(inbox: Inbox) -> None:
    one, two = await inbox.take(BOT, [update(1), update(2)])
    await inbox.done([one.id, 4711], "answered")
    await inbox.done([one.id], "again")
    assert await inbox.waiting(BOT) == [two]
    assert await inbox.take(BOT, [update(1)]) == []


async def test_telegram_a15_every_beginning_is_counted(inbox: Inbox) -> None:
    one, two, three = await inbox.take(BOT, [update(1), update(2), update(3)])
    assert await inbox.begin([one.id, two.id]) == 1
    assert await inbox.begin([two.id, three.id]) == 2
    assert [(a.tries, a.turn) for a in await inbox.waiting(BOT)] == [(1, one.id), (2, two.id), (1, two.id)]


async def test_beginning_what_is_done_changes_nothing(inbox: Inbox) -> None:
    (one,) = await inbox.take(BOT, [update(1)])
    await inbox.done([one.id], "answered")
    await inbox.begin([one.id])
    assert await inbox.waiting(BOT) == []


@given(st.lists(st.lists(st.integers(0, 12), max_size=6), max_size=6))
def test_any_redelivery_gives_each_number_once_in_the_order_of_arrival(batches: list[list[int]]) -> None:
    async def play() -> None:
        inbox = MemoryInbox(FakeClock())
        new = [one.number for batch in batches for one in await inbox.take(BOT, [update(n) for n in batch])]
        assert new == list(dict.fromkeys(number for batch in batches for number in batch))
        assert [one.number for one in await inbox.waiting(BOT)] == new

    asyncio.run(play())


def bytes_of(home: Path) -> bytes:
    return b"".join(file.read_bytes() for file in home.glob("journal.db*"))


async def test_the_words_of_what_is_done_leave_the_file(tmp_path: Path, clock: FakeClock) -> None:
    async with journal_database(tmp_path, clock) as database:
        inbox = SqlInbox(database, clock)
        (one,) = await inbox.take(BOT, [update(1, "the secret word is xylophone")])
        await inbox.done([one.id], "answered")
    assert b"xylophone" not in bytes_of(tmp_path)


async def test_numbers_are_recognised_for_days_and_then_let_go(tmp_path: Path, clock: FakeClock) -> None:
    async with journal_database(tmp_path, clock) as database:
        inbox = SqlInbox(database, clock)
        (one,) = await inbox.take(BOT, [update(1)])
        await inbox.done([one.id], "answered")
        clock.move(2 * 86_400)
        assert await inbox.take(BOT, [update(1)]) == []
        clock.move(2 * 86_400)
        await inbox.take(BOT, [update(2)])
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        assert connection.execute("SELECT number FROM inbox").fetchall() == [(2,)]


async def test_the_newer_entry_for_a_number_stands(admissions: Admissions) -> None:
    ben = replace(ANA, number=8, owner="telegram:8", since=START - timedelta(days=1))
    await admissions.admit(BOT, ANA)
    await admissions.admit(BOT, ben)
    promoted = replace(ANA, role=Role.ADMIN, owner="admin")
    await admissions.admit(BOT, promoted)
    assert await admissions.everybody(BOT) == [ben, promoted]
    assert await admissions.everybody(OTHER) == []


async def test_somebody_can_be_dismissed_once(admissions: Admissions) -> None:
    await admissions.admit(BOT, ANA)
    assert not await admissions.dismiss(OTHER, 7)
    assert await admissions.dismiss(BOT, 7)
    assert not await admissions.dismiss(BOT, 7)
    assert await admissions.everybody(BOT) == []


async def test_telegram_e7_a_code_lets_one_person_in_once(admissions: Admissions) -> None:
    code = await admissions.invite(BOT, CODE)
    assert await admissions.invitations(BOT, START) == [code]
    assert not await admissions.redeem(OTHER, code.id, ANA)
    assert await admissions.redeem(BOT, code.id, ANA)
    assert not await admissions.redeem(BOT, code.id, replace(ANA, number=8))
    assert not await admissions.redeem(BOT, 4711, ANA)
    assert await admissions.everybody(BOT) == [ANA]
    assert await admissions.invitations(BOT, START) == []


async def test_telegram_e7_expired_and_withdrawn_codes_are_not_offered(admissions: Admissions) -> None:
    early = await admissions.invite(BOT, CODE)
    late = await admissions.invite(BOT, replace(CODE, expires=START + timedelta(hours=3)))
    assert await admissions.invitations(BOT, START + timedelta(hours=1)) == [late]
    await admissions.withdraw(OTHER, early.id)
    assert await admissions.invitations(BOT, START) == [early, late]
    await admissions.withdraw(BOT, early.id)
    assert await admissions.invitations(BOT, START) == [late]
    assert not await admissions.redeem(BOT, early.id, ANA)
