"""What is shown and told while the outbox is away: the turn goes on, and the log says what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from goat.adapters.outbox_memory import MemoryOutbox
from goat.errors import BackendUnavailable
from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.egress import Egress
from goat.interfaces.telegram.envelope import Envelope
from goat.records.deliveries import Preview
from goat.testing.bot_api import Person

WORDS = "These are the words of an answer that is long enough to be shown before it is complete. "
FULL = "Outbox (SQLite) cannot be used: the disk is full"


class Full(MemoryOutbox):
    """An outbox that keeps no previews once its disk is full."""

    full = False
    kept = 0

    async def keep_preview(self, channel: str, owner: str, chat: str, shown: Preview | None) -> None:
        """Fail once the disk is full."""
        if self.full:
            raise BackendUnavailable("Outbox", "SQLite", "the disk is full")
        await super().keep_preview(channel, owner, chat, shown)
        self.kept += 1


@pytest.fixture
def outbox(desk: Any) -> Full:
    """The outbox of the desk."""
    desk.outbox = Full(desk.archive.replies, desk.clock)
    return desk.outbox


async def test_a_text_that_broke_off_and_cannot_be_let_go_is_told(desk: Any, ana: Person, outbox: Full) -> None:
    place = Address(ana.id)

    async def breaks_off(egress: Egress) -> None:
        async with egress.turn("ana", place, Envelope(turn="t")) as live:
            live.on_text(WORDS)
            await desk.until(lambda: outbox.kept == 1, passing=0.5)
            outbox.full = True
            raise ValueError("the model broke off")

    async with desk.egress() as egress:
        with pytest.raises(ValueError, match="the model broke off"):
            await breaks_off(egress)
    assert desk.api.screen(ana).answers == [f"{WORDS.strip()} […]"]
    told = f"The text in {place.name} that broke off is kept as one being written, until the next answer. {FULL}"
    assert [(notice.subject, notice.text) for notice in desk.notices] == [("Telegram", told)]


async def test_an_answer_that_cannot_be_shown_while_it_is_written_comes_whole(
    desk: Any, ana: Person, outbox: Full
) -> None:
    place, envelope = Address(ana.id), Envelope(turn="t")
    outbox.full = True
    async with desk.egress() as egress:
        async with egress.turn(str(ana.id), place, envelope) as live:
            live.on_text(WORDS)
            await desk.until(lambda: len(desk.notices) == 1, passing=0.5)
            assert desk.api.screen(ana).answers == []
            await desk.commit(place, WORDS, envelope)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [WORDS.strip()]
    unseen = f"The answer in {place.name} is not seen while it is written; it comes when it is complete. {FULL}"
    assert [notice.text for notice in desk.notices] == [unseen]
