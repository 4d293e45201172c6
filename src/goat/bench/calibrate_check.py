"""The enriching check of `goat calibrate threads`: real turns in a home of their own."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from goat.app import App
from goat.bench.calibrate import Pair
from goat.memory.enriching import Written
from goat.records.episodes import Incoming, NewEpisode, Role
from goat.retrieval.passages import split_passages

OWNER = "calibration"

TALKED = 2
"""Messages of the pair that are said before the text is stored: a question and the same in other words, so that the
chat is on one topic whatever the bands make of later messages."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A written text: whether it belongs to its thread, and whether the held list had it when the write returned."""

    pair: Pair
    held: bool

    @property
    def right(self) -> bool:
        """Texts on the thread are held at once, others are only filed."""
        return self.held == (self.pair.expected == "enriching")


async def check(app: App, pairs: list[Pair]) -> list[Checked]:
    """Begin each pair's thread in a chat of its own, store its text and look into the held list."""
    return [await _check(app, pair) for pair in pairs]


async def _check(app: App, pair: Pair) -> Checked:
    chat = uuid4().hex
    owner = f"{OWNER} {chat}"
    clock = app.backends.clock
    for text in pair.left[:TALKED]:
        await app.orchestrator.run(Incoming(owner, chat, text, clock.now(), source="calibration"))
        await app.settled()
    stored = NewEpisode(
        owner=owner,
        chat=chat,
        role=Role.USER,
        text=pair.right,
        at=clock.now(),
        exchange_id=uuid4().hex,
        source="calibration",
        passages=split_passages(pair.right),
    )
    (appended,) = await app.memory.archive.append([stored])
    await app.enriching.enrich(owner, chat, Written(pair.right, appended.episode.id))
    thread = (await app.memory.thread(owner, chat)).value
    return Checked(pair, any(one.episode_id == appended.episode.id for one in thread.held))
