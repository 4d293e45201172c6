"""What the Telegram bot holds: many chats over the fake Bot API, answered by the bot as `goat telegram` starts it.

The bot is a process of its own with the real embedder; its model is a scripted endpoint that takes a fixed time. Each
message carries a mark that its answer repeats, so that a lost, doubled or reordered answer shows on the screens.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any, Final

import tomli_w

from goat.bench.report import Figure, percentile
from goat.testing.bot_api import Call, FakeBotApi, Person
from goat.testing.llm_answers import Said, says
from goat.testing.llm_server import LlmServer, Prompt

MODEL_SECONDS: Final = 0.2
GOAL_MS: Final = 150.0
MEMORY_GOAL_MIB: Final = 20.0
STEP: Final = 1.25
"""How much faster or slower each try of the search is than the one before, until the goal lies between two."""

HALVINGS: Final = 2
"""How often the stretch between those two is halved: the rate is then right to 6 %."""

TRY_SECONDS: Final = 30.0
SLOWEST: Final = 0.5
"""The rate below which none is looked for."""

PROMPTS_KEPT: Final = 16
"""What the scripted model remembers of what it was asked; the fake must not slow down as the bench goes on."""

BASELINE_SHARE: Final = 0.2
"""The part of all messages after which the first look at the memory is taken: 2,000 of 10,000."""

_PATIENCE_SECONDS: Final = 120.0
_MARK: Final = "#"
_SAYINGS: Final = (
    "I parked the car on level {} near the lift.",
    "My sister comes to visit us on the {}th of May.",
    "What did I say about the boat last week?",
    "Please remind me to buy {} eggs and some bread.",
    "The new office is in room {} on the left side.",
    "Am vorbit cu medicul, programarea este la ora {}.",
    "Where did I leave the keys of the garage?",
    "We paid {} euros for the tickets to Vienna.",
    "The dog was ill yesterday, but today it is fine.",
    "Câte zile mai sunt până la vacanță?",
    "My bus leaves at {} minutes past six.",
    "I would like to learn to play the piano.",
    "Anna lives at number {} in the Rose Street.",
    "Which book did Mihai recommend to me?",
)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Load:
    """What is offered: so many chats, messages of each, at so many a second in all. Then, with `search`, at other rates
    until the highest that keeps the goal is known, and more until there were `total`, for the memory."""

    chats: int = 200
    messages: int = 20
    rate: float = 6.0
    total: int = 10_000
    search: bool = True


@dataclass(slots=True)
class Phase:
    """Some messages offered at one rate; times are milliseconds beside the model."""

    rate: float
    beside_ms: list[float] = field(default_factory=list)
    lost: int = 0

    @property
    def p95(self) -> float:
        """The time within which 95 of 100 answers came; endless where some never came."""
        return percentile(self.beside_ms, 95) if self.beside_ms and not self.lost else float("inf")

    def holds(self) -> bool:
        """Whether the goal is kept."""
        return self.p95 <= GOAL_MS


class Crowd:
    """The people. What they said and what they were answered, by the marks."""

    def __init__(self, api: FakeBotApi, chats: int) -> None:
        self._api = api
        self._people = [api.person(str(number)) for number in range(chats)]
        self._said: dict[int, list[str]] = {person.id: [] for person in self._people}
        self._offered: dict[str, float] = {}
        self._random = Random(7)
        self._open: list[Call] = []
        self.answered: dict[str, float] = {}

    @property
    def ids(self) -> list[int]:
        """The people's numbers."""
        return [person.id for person in self._people]

    async def watch(self, answered: Callable[[int], None]) -> None:
        """Note for ever when answers come; `answered` is told how many there are by now."""
        while True:
            changed = self._api.world.changed
            self._open += self._api.calls
            self._api.calls.clear()  # the log would only grow
            ended = [call for call in self._open if call.status]
            self._open = [call for call in self._open if not call.status]
            for call in ended:
                if call.method == "sendMessage" and call.status == 200:
                    self.answered.setdefault(_mark(str(call.params["text"])), perf_counter())
                    answered(len(self.answered))
            await changed.wait()

    async def offer(self, count: int, rate: float, say: Say, what: str) -> Phase:
        """Say `count` messages, evenly, each in the next chat, and wait until all are answered.

        `say` is told how far `what` has come.
        """
        before, marks, began = len(self.answered), [], perf_counter()
        for number in range(count):
            await asyncio.sleep(max(0.0, began + number / rate - perf_counter()))
            marks.append(self._say(self._people[number % len(self._people)]))
            if number % max(1, round(rate)) == 0:
                say(f"{what}: {len(self.answered) - before:,} of {count:,} answered")
        wanted, deadline = set(marks), perf_counter() + _PATIENCE_SECONDS
        while wanted - self.answered.keys() and perf_counter() < deadline:  # noqa: ASYNC110 - a bound
            await asyncio.sleep(0.05)
        came = [mark for mark in marks if mark in self.answered]
        beside = [(self.answered[mark] - self._offered[mark] - MODEL_SECONDS) * 1000 for mark in came]
        return Phase(rate, beside, count - len(came))

    def _say(self, person: Person) -> str:
        mark = f"{person.user.first_name}.{len(self._said[person.id])}"
        self._said[person.id].append(mark)
        words = self._random.choice(_SAYINGS).format(self._random.randint(2, 30))
        self._offered[mark] = perf_counter()
        person.says(f"{words} {_MARK}{mark}")
        return mark

    def faults(self) -> tuple[int, int, int]:
        """How many answers are lost, doubled, and not in their order, on the screens as they stand."""
        lost = doubled = reordered = 0
        for person in self._people:
            said = self._said[person.id]
            seen = [_mark(text) for text in self._api.screen(person).answers]
            lost += len(set(said) - set(seen))
            doubled += len(seen) - len(set(seen))
            first = list(dict.fromkeys(seen))
            reordered += sum(a != b for a, b in zip(first, [mark for mark in said if mark in first], strict=False))
        return lost, doubled, reordered


def _mark(text: str) -> str:
    return text.rpartition(_MARK)[2].split()[0] if _MARK in text else text


def _echo(prompt: Prompt) -> Said:
    """An answer that repeats the mark of the message."""
    said = str(prompt.messages[-1]["content"])
    return says(f"Thank you, I will remember that. {_MARK}{_mark(said)}", pieces=4).slow(first=MODEL_SECONDS)


@asynccontextmanager
async def _bot(api: FakeBotApi, model: LlmServer, people: Sequence[int], home: Path) -> AsyncIterator[int]:
    """The bot's process, receiving; its id."""
    settings: dict[str, Any] = {
        "telegram": {
            "api_url": api.url,
            "admin_chat_id": people[0],
            "guests": [str(number) for number in people[1:]],
            "during_turn": "queue",
        },
        "model": {"provider": "other", "name": "test-model", "base_url": model.base_url},
    }
    (home / "goat2.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
    environ = {**os.environ, "GOAT_HOME": str(home), "TELEGRAM_BOT_TOKEN": api.token}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "goat", "telegram", cwd=home, env=environ, stdout=subprocess.DEVNULL
    )
    try:
        receiving = asyncio.ensure_future(api.until(lambda: bool(api.calls_of("getUpdates")), _PATIENCE_SECONDS))
        ended = asyncio.ensure_future(process.wait())
        await asyncio.wait({receiving, ended}, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if process.returncode is not None:
            receiving.cancel()
            raise RuntimeError(f"the bot ended with exit code {process.returncode} before it received anything")
        await receiving
        yield process.pid
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def memory_mib(process: int) -> float:
    """The memory that a process holds now; 0 where the system does not tell."""
    status = Path(f"/proc/{process}/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return next((int(line.split()[1]) / 2**10 for line in lines if line.startswith("VmRSS:")), 0.0)
    if sys.platform == "win32":
        return 0.0
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=False).stdout
    return int(told.strip() or 0) / 2**10


async def measure(load: Load, say: Say) -> list[Figure]:
    """Offer the load and give the figures."""
    with tempfile.TemporaryDirectory(prefix="goat-bench-") as folder, LlmServer(keep=PROMPTS_KEPT) as model:
        model.always(_echo)
        async with FakeBotApi(f"{1_000_000_000 + os.getpid()}:a-token-of-the-bench") as api:
            crowd = Crowd(api, load.chats)
            say("starting the bot")
            async with _bot(api, model, crowd.ids, Path(folder)) as process:
                return await _offered(load, say, crowd, process)


async def _offered(load: Load, say: Say, crowd: Crowd, process: int) -> list[Figure]:
    early = int(load.total * BASELINE_SHARE)
    memory: list[float] = []

    def look(count: int) -> None:
        if count >= early and not memory:
            memory.append(memory_mib(process))

    watching = asyncio.create_task(crowd.watch(look), name="watch")
    try:
        await crowd.offer(min(load.chats, 10), load.rate, say, "warming up")  # the first ones load the model
        count = load.chats * load.messages
        phase = await crowd.offer(count, load.rate, say, f"{load.rate:g} a second, {_minutes(count, load.rate)}")

        async def tried(rate: float) -> Phase:
            return await crowd.offer(max(1, int(rate * TRY_SECONDS)), rate, say, f"trying {rate:.1f} a second")

        best = await highest_rate(phase, tried) if load.search else 0.0
        rest = load.total - len(crowd.answered)
        if rest > 0:
            rate = best or load.rate
            await crowd.offer(rest, rate, say, f"more for the memory, {_minutes(rest, rate)}")
        memory.append(memory_mib(process))
    finally:
        watching.cancel()
    return _figures(load, phase, best, memory, early, crowd)


def _minutes(count: int, rate: float) -> str:
    return f"about {count / rate / 60:.0f} min"


async def highest_rate(phase: Phase, attempt: Callable[[float], Awaitable[Phase]]) -> float:
    """The highest rate at which the answers come within the goal; 0 where not even the slowest keeps it.

    From how it went in `phase` the attempts go up or down in steps until the goal lies between two, and then halve what
    is between them.
    """
    if phase.holds():
        low, high = phase.rate, phase.rate * STEP
        while (await attempt(high)).holds():
            low, high = high, high * STEP
    else:
        low, high = phase.rate / STEP, phase.rate
        while not (await attempt(low)).holds():
            low, high = low / STEP, low
            if low < SLOWEST:
                return 0.0
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if (await attempt(middle)).holds() else (low, middle)
    return low


def _figures(load: Load, phase: Phase, best: float, memory: Sequence[float], early: int, crowd: Crowd) -> list[Figure]:
    at = f"at {load.rate:g} a second"
    lost, doubled, reordered = crowd.faults()
    figures = [
        Figure(f"of {load.chats} chats: answers lost", lost, "", 0, digits=0),
        Figure("· doubled", doubled, "", 0, digits=0),
        Figure("· out of order", reordered, "", 0, digits=0),
        Figure(f"{load.chats * load.messages:,} messages {at}, beside the model, p50", _p(phase, 50), "ms"),
        Figure(f"{load.chats * load.messages:,} messages {at}, beside the model, p95", _p(phase, 95), "ms", GOAL_MS),
    ]
    if load.search:
        figures.append(Figure(f"highest rate with p95 within {GOAL_MS:g} ms", best, "messages/s"))
    if len(memory) > 1 and memory[-1]:
        grown = memory[-1] - memory[0]
        figures.append(Figure(f"memory after {early:,} messages", memory[0], "MiB"))
        figures.append(Figure(f"memory after {load.total:,} messages, beyond that", grown, "MiB", MEMORY_GOAL_MIB))
    return figures


def _p(phase: Phase, share: float) -> float:
    return percentile(phase.beside_ms, share) if phase.beside_ms else float("nan")


def run(load: Load, say: Say) -> list[Figure]:
    """Run the bench."""
    return asyncio.run(measure(load, say))
