"""The contract of the port Approvals, over every adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from goat.adapters.approvals_memory import MemoryApprovals
from goat.adapters.journal import SqlApprovals, journal_database
from goat.ports.edges import Approvals
from goat.records.tools import Question, Verdict
from goat.testing.clock import FakeClock

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
ASKED = Question(0, "ana", "home", "shell_run", "shell_run\n  command: ls", "ab12", NOON, NOON + timedelta(seconds=90))


@pytest.fixture(params=["memory", "sqlite"])
async def approvals(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Approvals]:
    if request.param == "memory":
        yield MemoryApprovals()
        return
    async with journal_database(tmp_path, FakeClock()) as database:
        yield SqlApprovals(database)


async def test_a_question_waits_until_it_has_a_verdict(approvals: Approvals) -> None:
    first = await approvals.open(ASKED)
    second = await approvals.open(replace(ASKED, tool="write_file", reason="it is large", once=True))
    assert await approvals.waiting() == [first, second]
    assert await approvals.close(first.id, Verdict.NO, NOON)
    assert await approvals.waiting() == [second]


async def test_telegram_f1_the_first_verdict_stands(approvals: Approvals) -> None:
    question = await approvals.open(replace(ASKED, once=True))
    assert await approvals.close(question.id, Verdict.EXPIRED, NOON)
    assert not await approvals.close(question.id, Verdict.YES, NOON)
    assert not await approvals.close(4711, Verdict.YES, NOON)
    assert not await approvals.granted("ana", "shell_run")


async def test_a_grant_holds_for_its_owner_and_tool_only(approvals: Approvals) -> None:
    question = await approvals.open(replace(ASKED, once=True))
    assert not await approvals.granted("ana", "shell_run")
    await approvals.close(question.id, Verdict.YES, NOON)
    assert await approvals.granted("ana", "shell_run")
    assert not await approvals.granted("ana", "write_file")
    assert not await approvals.granted("ben", "shell_run")


async def test_a_yes_to_one_call_grants_no_other(approvals: Approvals) -> None:
    question = await approvals.open(ASKED)
    await approvals.close(question.id, Verdict.YES, NOON)
    assert not await approvals.granted("ana", "shell_run")
