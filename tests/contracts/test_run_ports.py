"""The promises of Steps, Locks, Clock and Observer, over every adapter."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from goat.adapters.clock_system import SystemClock
from goat.adapters.locks_local import LocalLocks
from goat.adapters.steps_plain import PlainSteps
from goat.errors import SettingsError
from goat.observability.recorder import Recorder
from goat.ports.run import Clock, Locks, Observer, Steps
from goat.records.turns import Notice, PrefetchRecord, TurnRecord
from goat.testing.clock import FakeClock
from goat.testing.observer import KeepingObserver

AT = datetime(2026, 3, 2, tzinfo=UTC)
PREFETCH = PrefetchRecord(AT, "o", "c", "cold", 2, True, 1.5)


@pytest.fixture(params=[PlainSteps])
def steps(request: pytest.FixtureRequest) -> Steps:
    made: Steps = request.param()
    return made


@pytest.fixture(params=[LocalLocks])
def locks(request: pytest.FixtureRequest) -> Locks:
    made: Locks = request.param()
    return made


@pytest.fixture(params=[SystemClock, FakeClock])
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Clock = request.param()
    return made


async def test_a_step_gives_the_result_of_its_effect_and_raises_what_it_raises(steps: Steps) -> None:
    async def answer() -> int:
        return 42

    async def fail() -> int:
        raise KeyError("x")

    assert await steps.run("one", answer) == 42
    with pytest.raises(KeyError):
        await steps.run("two", fail)


async def test_steps_at_once_start_in_order_and_give_their_results_in_that_order(steps: Steps) -> None:
    started: list[int] = []

    def effect(number: int) -> Callable[[], Awaitable[int]]:
        async def run() -> int:
            started.append(number)
            for _ in range(5 - number):
                await asyncio.sleep(0)
            return number

        return run

    assert await steps.run_all("many", [effect(number) for number in range(5)]) == list(range(5))
    assert started == list(range(5))


async def test_a_lock_is_held_by_one_and_given_on_in_the_order_of_asking(locks: Locks) -> None:
    inside = 0
    served: list[int] = []

    async def work(number: int) -> None:
        nonlocal inside
        async with locks.hold("a"):
            inside += 1
            assert inside == 1
            await asyncio.sleep(0)
            inside -= 1
            served.append(number)

    await asyncio.gather(*(work(number) for number in range(20)))
    assert served == list(range(20))


async def test_locks_of_other_names_do_not_wait_and_an_error_or_a_cancel_frees_the_lock(locks: Locks) -> None:
    async with locks.hold("a"), asyncio.timeout(5), locks.hold("b"):
        waiting = asyncio.create_task(_hold(locks, "a"))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
    with pytest.raises(KeyError):
        async with locks.hold("a"):
            raise KeyError
    async with asyncio.timeout(5), locks.hold("a"):
        pass


async def _hold(locks: Locks, name: str) -> None:
    async with locks.hold(name):
        await asyncio.sleep(0)


async def test_a_clock_is_aware_knows_its_zone_and_never_runs_backwards(clock: Clock) -> None:
    now, passed = clock.now(), clock.monotonic()
    assert now.utcoffset() == timedelta(0)
    assert clock.now().astimezone(clock.zone()) >= now
    await clock.sleep(0.01)
    assert clock.monotonic() > passed
    assert clock.now() > now


def test_an_unknown_zone_is_named() -> None:
    with pytest.raises(SettingsError, match="Mars/Olympus"):
        SystemClock("Mars/Olympus")


def _record() -> TurnRecord:
    return TurnRecord(
        at=AT,
        owner="o",
        chat="c",
        state="cold",
        served_by="reflex",
        confidence=0.5,
        complexity=0.1,
        budget_tokens=2000,
        prompt_tokens=300,
        layer_tokens={"L3": 10},
        results_found=1,
        results_used=1,
        stage_ms={"recall": 1.0},
        total_ms=5.0,
        model="m",
    )


@pytest.mark.parametrize("kind", ["keeping", "recorder"])
def test_an_observer_takes_everything_and_hands_notices_on(kind: str, tmp_path: Path) -> None:
    shown: list[Notice] = []
    recorder = Recorder(tmp_path / "logs", shown.append)
    keeping = KeepingObserver()
    observer: Observer = recorder if kind == "recorder" else keeping
    notice = Notice("a layer", "it is away")
    observer.turn(_record())
    observer.prefetch(PREFETCH)
    observer.notice(notice)
    recorder.close()
    if kind == "keeping":
        assert (len(keeping.turns), keeping.prefetches, keeping.notices) == (1, [PREFETCH], [notice])
    else:
        lines = [json.loads(line) for line in (tmp_path / "logs" / "turns.jsonl").read_text("utf-8").splitlines()]
        assert [line["kind"] for line in lines] == ["turn", "prefetch", "notice"]
        assert shown == [notice]


def test_a_record_that_cannot_be_written_is_a_notice_and_no_failure(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be", encoding="utf-8")
    shown: list[Notice] = []
    Recorder(tmp_path / "logs", shown.append).turn(_record())
    assert "cannot be written" in shown[0].text
