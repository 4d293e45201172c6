"""Messages that a person changes after they were sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from goat.interfaces.telegram.edits import KEPT, Edits
from goat.interfaces.telegram.message import Message
from goat.testing.bot_api import FakeBotApi
from goat.testing.clock import FakeClock

Heard = Callable[[FakeBotApi], list[Message]]


@pytest.mark.parametrize(
    ("said", "edited", "after_seconds", "before"),
    [
        ("berth 13", "berth 14", 5, "berth 13"),
        ("berth 13", "berth 14", 3_000, "berth 13"),
        ("berth 13", "berth 13", 5, None),
        ("berth 13", "/stop", 5, None),
        ("/stop", "/new", 5, None),
        ("/stop", "stop, please", 5, None),
        ("berth 13", "berth 14", 2 * 86_400, None),
    ],
)
async def test_telegram_a13_which_edits_say_something(
    heard: Heard, said: str, edited: str, after_seconds: float, before: str | None
) -> None:
    clock = FakeClock()
    api, edits = FakeBotApi(clock=clock), Edits(clock)
    ana = api.person()
    message = ana.says(said)
    edits.heard(heard(api)[0])
    clock.move(after_seconds)
    ana.edits(message, edited)
    edit = heard(api)[-1]
    assert edit.edited
    assert edits.judge(edit) == before


async def test_telegram_a13_a_second_edit_is_compared_with_the_first(heard: Heard) -> None:
    api = FakeBotApi()
    edits = Edits(api.world.clock)
    ana = api.person()
    message = ana.says("one")
    edits.heard(heard(api)[0])
    for text, before in (("two", "one"), ("two", None), ("three", "two")):
        ana.edits(message, text)
        assert edits.judge(heard(api)[-1]) == before


async def test_telegram_a13_a_message_that_is_not_known_is_not_answered_anew(heard: Heard) -> None:
    api = FakeBotApi()
    edits = Edits(api.world.clock)
    ana = api.person()
    ana.edits(ana.says("before the start"), "changed")
    assert edits.judge(heard(api)[-1]) is None
    ana.says("x")
    sent = heard(api)[-1]
    for number in range(KEPT):
        edits.heard(replace(sent, id=number))
    assert edits.judge(replace(sent, id=0, text="y", edited=True)) == "x"
    edits.heard(replace(sent, id=KEPT))
    assert edits.judge(replace(sent, id=0, text="z", edited=True)) is None
    assert edits.judge(replace(sent, id=1, text="y", edited=True)) == "x"
