"""Buttons that mean the same after a restart."""

from __future__ import annotations

from typing import Any

import pytest

from goat.adapters.working_memory import MemoryWorkingStore
from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.buttons import KEPT_SECONDS, Buttons, Meaning
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.message import Me, Tap, read_update
from goat.testing.bot_api import FakeBotApi, Fault, Person
from goat.testing.bot_api import Tap as Press
from goat.testing.clock import FakeClock
from goat.testing.faults import Away


class Panel:
    """Buttons over a store that outlives them; `done` are the values of the presses that had their effect."""

    def __init__(self, api: FakeBotApi, client: TelegramClient) -> None:
        self.api = api
        self.clock = FakeClock()
        self.store = MemoryWorkingStore(self.clock)
        self.done: list[str] = []
        self._client = client
        self.restart()

    def restart(self, admin: int = 1, store: Any = None) -> None:
        """Forget everything but the store."""
        self.buttons = Buttons(store or self.store, self._client, lambda user: user == admin)
        self.buttons.on("choose", self._chosen)

    async def _chosen(self, tap: Tap, meaning: Meaning) -> str:
        self.done.append(meaning.value)
        return f"chosen: {meaning.value}"

    async def put(self, place: Person, label: str = "Yes", value: str = "yes", **meaning: Any) -> None:
        """Send a message with one button."""
        address = Address(place.chat.id, place.topic)
        button = await self.buttons.make(label, Meaning("choose", value, address.name, **meaning))
        await self._client.send_text(address, "Well?", buttons=((button,),))

    async def handle(self, press: Press) -> str:
        """Handle what was pressed; what the presser is told."""
        raw = next(one.body for one in self.api.waiting if one.body.get("callback_query", {}).get("id") == press.id)
        tap = read_update(raw, Me(self.api.bot.id, "goat_bot"))
        assert isinstance(tap, Tap)
        await self.buttons.tapped(tap)
        return "" if press.answer is None else str(press.answer.get("text", ""))


@pytest.fixture
def panel(api: FakeBotApi, client: TelegramClient) -> Panel:
    return Panel(api, client)


@pytest.fixture
def ana(api: FakeBotApi) -> Person:
    ana = api.person("Ana")
    ana.starts()
    return ana


def pressed(api: FakeBotApi, who: Person, label: str = "Yes", place: Person | None = None) -> Press:
    """Press a button of the newest message."""
    return who.taps(api.screen(place or who).last, label)


async def test_telegram_e10_a_button_has_its_effect_and_the_press_is_answered(panel: Panel, ana: Person) -> None:
    await panel.put(ana)
    assert await panel.handle(pressed(panel.api, ana)) == "chosen: yes"
    assert panel.done == ["yes"]


@pytest.mark.parametrize("value", ["x" * 200, "ș" * 200, "👍" * 50, ""])
async def test_telegram_e10_the_data_fits_whatever_the_button_means(panel: Panel, ana: Person, value: str) -> None:
    await panel.put(ana, "ș" * 100, value)
    (label,) = panel.api.screen(ana).last.buttons[0]
    assert len(label) <= 40
    data = str(panel.api.screen(ana).last.message.buttons[0][0]["callback_data"])
    assert 1 <= len(data.encode()) <= 64
    await panel.handle(pressed(panel.api, ana, label))
    assert panel.done == [value]


async def test_telegram_e10_an_old_button_works_after_a_restart(panel: Panel, ana: Person) -> None:
    await panel.put(ana)
    panel.restart()
    assert await panel.handle(pressed(panel.api, ana)) == "chosen: yes"


async def test_telegram_e10_one_that_is_too_old_says_so(panel: Panel, ana: Person) -> None:
    await panel.put(ana)
    panel.clock.move(KEPT_SECONDS + 1)
    assert await panel.handle(pressed(panel.api, ana)) == "This button is too old."
    assert panel.done == []


async def test_telegram_e10_pressed_twice_it_has_its_effect_once(panel: Panel, ana: Person) -> None:
    await panel.put(ana, once=True)
    first, second = pressed(panel.api, ana), pressed(panel.api, ana)
    assert await panel.handle(first) == "chosen: yes"
    panel.restart()
    assert await panel.handle(second) == "That was done already."
    assert panel.done == ["yes"]


async def test_telegram_e10_a_press_that_is_answered_too_late_has_its_effect(panel: Panel, ana: Person) -> None:
    await panel.put(ana)
    late = Fault.error(400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
    panel.api.fails("answerCallbackQuery", late)
    assert await panel.handle(pressed(panel.api, ana)) == ""
    assert panel.done == ["yes"]


async def test_telegram_e10_a_press_below_a_message_that_cannot_be_reached_counts(panel: Panel, ana: Person) -> None:
    await panel.put(ana)
    data = str(panel.api.screen(ana).last.message.buttons[0][0]["callback_data"])
    assert await panel.handle(ana.presses(data, inline_message_id="far away")) == "chosen: yes"


@pytest.mark.parametrize("data", ["", "nonsense", "x" * 64, "{}", "telegram:prompts"])
async def test_telegram_e10_data_that_nobody_made_has_no_effect(panel: Panel, ana: Person, data: str) -> None:
    await panel.put(ana)
    last = panel.api.screen(ana).last.message
    assert await panel.handle(ana.presses(data, last)) == "This button is too old."
    assert panel.done == []


async def test_telegram_e6_a_button_counts_in_its_own_chat_only(panel: Panel, ana: Person, api: FakeBotApi) -> None:
    ben = api.person("Ben")
    await panel.put(ana)
    data = str(api.screen(ana).last.message.buttons[0][0]["callback_data"])
    copy = ben.says("a copy of the message")
    assert await panel.handle(ben.presses(data, copy)) == "This button is too old."
    assert panel.done == []


async def test_telegram_f7_a_button_of_one_person_is_nobody_elses(panel: Panel, ana: Person, api: FakeBotApi) -> None:
    ben = api.person("Ben", language="ro")
    crew = ana.at(api.group("Crew", ana, ben))
    await panel.put(crew, user=ana.id)
    assert await panel.handle(pressed(api, ben, place=crew)) == "Altcineva trebuie să decidă asta."
    assert panel.done == []
    assert await panel.handle(pressed(api, ana, place=crew)) == "chosen: yes"


async def test_telegram_f7_the_admin_may_press_every_button(panel: Panel, ana: Person) -> None:
    await panel.put(ana, user=5)
    panel.restart(admin=ana.id)
    assert await panel.handle(pressed(panel.api, ana)) == "chosen: yes"


async def test_a_store_that_is_away_is_told(panel: Panel, ana: Person) -> None:
    await panel.put(ana)
    panel.restart(store=Away("WorkingStore"))
    assert await panel.handle(pressed(panel.api, ana)) == "I cannot reach my memory just now. Try again."


async def test_telegram_e10_whoever_presses_is_told_no_more_than_telegram_shows(panel: Panel, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    ana.starts()
    await panel.put(ana, value="👍 " * 300)
    told = await panel.handle(ana.taps(api.screen(ana).last, "Yes"))
    assert told.startswith("chosen: 👍 👍")
    assert told.endswith("👍…")
    assert len(told) <= 200
