"""Allow, ask, deny; what is asked, what is kept, and what happens when nobody answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.approvals_memory import MemoryApprovals
from goat.errors import BackendUnavailable
from goat.records.models import ToolCall
from goat.records.tools import Question, Verdict
from goat.testing.clock import FakeClock
from goat.testing.tools import LoopBench, calls
from goat.tools import ToolContext, ToolDefinition, tool
from goat.tools.calls import Prepared, prepare
from goat.tools.policy import Askers, Policy, Rules
from goat.tools.redact import Redactor
from goat.tools.toolbox import Toolbox

ran: list[str] = []


@tool(permission="ask")
async def remove(path: str) -> str:
    """Remove a file."""
    ran.append(path)
    return "removed"


once = replace(
    remove, permission="ask_once", risk=lambda arguments: "it is the root" if arguments["path"] == "/" else ""
)


class Person:
    """Answers questions, and keeps what was shown."""

    def __init__(self, *answers: bool | Callable[[], Any]) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []
        self.ended: list[Verdict] = []

    def reaches(self, owner: str, chat: str) -> bool:
        return chat == "test"

    async def ask(self, question: Question) -> bool:
        self.asked.append(question)
        answer = self.answers.pop(0)
        return bool(await answer()) if callable(answer) else answer

    async def settled(self, question: Question, verdict: Verdict) -> None:
        self.ended.append(verdict)


class Desk:
    """A policy with its person and its journal."""

    def __init__(self, *answers: bool | Callable[[], Any], rules: Rules | None = None, seconds: float = 30) -> None:
        ran.clear()
        self.person = Person(*answers)
        self.approvals = MemoryApprovals()
        self.askers = Askers()
        self.detach = self.askers.attach(self.person)
        self.clock = FakeClock()
        redact = Redactor(["hunter2hunter2"])
        self.policy = Policy(rules or Rules(), self.approvals, self.askers, self.clock, redact, seconds)


def context(tmp_path: Path, admin: bool = True, chat: str = "test") -> ToolContext:
    return ToolContext("admin" if admin else "guest", chat, tmp_path, FakeClock(), admin=admin)


def call(tool: ToolDefinition = remove, path: str = "a.txt") -> Prepared:
    return prepare(ToolCall("c", tool.name, f'{{"path": "{path}"}}'), Toolbox.of([tool]), cut=False)


async def test_a_yes_lets_the_call_run_and_is_kept(bench: LoopBench) -> None:
    desk = Desk(True)
    await bench.run([calls(("remove", '{"path": "a.txt"}')), "Done."], [remove], gate=desk.policy)
    assert ran == ["a.txt"]
    assert desk.person.asked[0].shown == "remove\n  path: a.txt"
    assert desk.approvals.verdicts == {1: Verdict.YES}
    assert desk.person.ended == [Verdict.YES]


async def test_a_no_is_told_to_the_model_and_nothing_runs(bench: LoopBench) -> None:
    desk = Desk(False)
    await bench.run([calls(("remove", '{"path": "a.txt"}')), "Not done."], [remove], gate=desk.policy)
    assert ran == []
    assert "answered with no" in bench.results()[0]


async def test_the_questions_of_a_batch_come_first_and_in_order(bench: LoopBench) -> None:
    async def nothing_ran_yet() -> bool:
        return not ran

    desk = Desk(nothing_ran_yet, nothing_ran_yet)
    batch = calls(("remove", '{"path": "a"}'), ("remove", '{"path": "b"}'))
    await bench.run([batch, "Done."], [remove], gate=desk.policy)
    assert [question.shown[-1] for question in desk.person.asked] == ["a", "b"]
    assert ran == ["a", "b"]


async def test_telegram_f2_an_expired_question_runs_nothing_and_says_expired(tmp_path: Path) -> None:
    async def for_ever() -> bool:
        await asyncio.Event().wait()
        return True

    desk = Desk(for_ever, seconds=0.02)
    settled = await desk.policy.settle(call(), context(tmp_path))
    assert "not answered in time" in settled.refusal
    assert (desk.approvals.verdicts, desk.person.ended) == ({1: Verdict.EXPIRED}, [Verdict.EXPIRED])


async def test_telegram_f2_a_yes_after_the_time_is_no_yes(tmp_path: Path) -> None:
    desk = Desk()

    async def late() -> bool:
        desk.clock.move(31)
        return True

    desk.person.answers.append(late)
    settled = await desk.policy.settle(call(), context(tmp_path))
    assert settled.refusal
    assert desk.person.ended == [Verdict.EXPIRED]


async def test_telegram_f1_what_a_restart_left_open_is_closed_as_expired(tmp_path: Path) -> None:
    desk = Desk()
    started = asyncio.Event()

    async def stop() -> bool:
        started.set()
        await asyncio.Event().wait()
        return True

    desk.person.answers.append(stop)
    now = desk.clock.now()
    await desk.approvals.open(Question(0, "admin", "test", "remove", "remove", "d", now, now))
    assert [one.tool for one in await desk.policy.expire_left()] == ["remove"]
    assert await desk.approvals.waiting() == []
    assert not await desk.approvals.close(1, Verdict.YES, now), "a tap on the old button changes nothing"


async def test_a_cancelled_turn_closes_its_question(tmp_path: Path) -> None:
    desk = Desk()
    started = asyncio.Event()

    async def stop() -> bool:
        started.set()
        await asyncio.Event().wait()
        return True

    desk.person.answers.append(stop)
    work = asyncio.ensure_future(desk.policy.settle(call(), context(tmp_path)))
    await started.wait()
    work.cancel()
    await asyncio.wait({work})
    assert desk.approvals.verdicts == {1: Verdict.CANCELLED}


async def test_telegram_f3_where_nobody_can_be_asked_the_call_does_not_run(tmp_path: Path) -> None:
    desk = Desk(True)
    settled = await desk.policy.settle(call(), context(tmp_path, chat="elsewhere"))
    assert "nobody can be asked" in settled.refusal
    desk.detach()
    assert (await desk.policy.settle(call(), context(tmp_path))).refusal
    assert desk.person.asked == []


async def test_telegram_f5_the_question_hides_secrets_and_the_hash_is_of_the_whole_call(tmp_path: Path) -> None:
    desk = Desk(True, True)
    first, second = call(path="hunter2hunter2"), call(path="hunter2hunter3")
    for one in (first, second):
        await desk.policy.settle(one, context(tmp_path))
    assert "hunter2hunter2" not in desk.person.asked[0].shown
    assert [question.digest for question in desk.person.asked] == [first.digest, second.digest]
    assert first.digest != second.digest


async def test_telegram_i9_what_cannot_be_shown_whole_is_not_asked(tmp_path: Path) -> None:
    desk = Desk(True)
    settled = await desk.policy.settle(call(path="x" * 5000), context(tmp_path))
    assert "too long to be shown" in settled.refusal
    assert desk.person.asked == []


async def test_a_tool_asked_once_is_not_asked_again_except_for_risky_calls(tmp_path: Path) -> None:
    desk = Desk(True, True, False)
    for path, allowed in (("a", True), ("b", True), ("/", True), ("/", False)):
        settled = await desk.policy.settle(call(once, path), context(tmp_path))
        assert (not settled.refusal) is allowed
    assert [question.reason for question in desk.person.asked] == ["", "it is the root", "it is the root"]


async def test_one_owner_s_yes_does_not_cover_another(tmp_path: Path) -> None:
    open_to_all = replace(once, guests="ask_once")
    desk = Desk(True, False)
    assert not (await desk.policy.settle(call(open_to_all), context(tmp_path))).refusal
    assert (await desk.policy.settle(call(open_to_all), context(tmp_path, admin=False))).refusal


@pytest.mark.parametrize(
    ("rules", "admin", "expected"),
    [
        (Rules(), True, "ask"),
        (Rules(), False, "deny"),
        (Rules(guests=("remove",)), False, "ask"),
        (Rules(allow=("remove",)), True, "allow"),
        (Rules(allow=("remove",)), False, "deny"),
        (Rules(allow=("remove",), ask=("remove",)), True, "ask"),
        (Rules(allow=("remove",), deny=("remove",)), True, "deny"),
    ],
)
def test_settings_outrank_the_tool_and_the_strictest_entry_wins(rules: Rules, admin: bool, expected: str) -> None:
    assert rules.permission(remove, admin) == expected


async def test_denied_tools_are_neither_offered_nor_run(tmp_path: Path) -> None:
    desk = Desk(rules=Rules(deny=("remove",)))
    assert not desk.policy.offered(remove, context(tmp_path))
    assert "not allowed" in (await desk.policy.settle(call(), context(tmp_path))).refusal


async def test_without_the_journal_nothing_that_needs_leave_runs(tmp_path: Path) -> None:
    class Away(MemoryApprovals):
        async def open(self, question: Question) -> Question:
            raise BackendUnavailable("Approvals", "sql", "the disk is full")

    desk = Desk(True)
    policy = Policy(Rules(), Away(), desk.askers, desk.clock, Redactor(), 30)
    assert "disk is full" in (await policy.settle(call(), context(tmp_path))).refusal
