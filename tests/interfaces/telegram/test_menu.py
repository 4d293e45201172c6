"""The menu of commands in Telegram's form."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.menu import ABOUT_CHARS, MOST, publish, sanitised
from goat.interfaces.texts import Texts
from goat.records.turns import Notice
from goat.testing.bot_api import FakeBotApi, Fault


@given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=600)), max_size=140))
def test_telegram_e9_whatever_the_commands_are_telegram_takes_the_menu(commands: list[tuple[str, str]]) -> None:
    menu = sanitised(commands)
    assert len(menu) <= MOST
    for name, about in menu.items():
        assert re.fullmatch("[a-z0-9_]{1,32}", name)
        assert 1 <= len(about) <= ABOUT_CHARS


@pytest.mark.parametrize(
    ("name", "shown"),
    [("Do-It Now!", "do_it_now"), ("STOP", "stop"), ("x" * 40, "x" * 32), ("a" * 31 + "-b", "a" * 31)],
)
def test_telegram_e9_a_name_becomes_one_of_telegrams(name: str, shown: str) -> None:
    assert sanitised([(name, "what it does")]) == {shown: "what it does"}


def test_telegram_e9_names_that_cannot_be_shown_and_doubles_are_left_out() -> None:
    assert sanitised([("🐐", "goat"), ("stop", "one"), ("Stop", "two")]) == {"stop": "one"}


async def test_telegram_e9_130_commands_are_cut_to_a_menu_that_is_set(api: FakeBotApi, client: TelegramClient) -> None:
    told: list[Notice] = []

    def many(say: Texts) -> list[tuple[str, str]]:
        return [(f"Command-{number}", f"{say.language} " * 200) for number in range(130)]

    assert await publish(client, many, told.append)
    assert told == []
    assert len(api.world.commands["default", ""]) == MOST
    assert api.world.commands["default", "ro"][0]["description"].startswith("ro ro")


@pytest.mark.parametrize(
    "fault",
    [Fault.error(400, "Bad Request: BOT_COMMANDS_TOO_MUCH"), Fault.too_many(3), Fault.drop(), Fault.page(502)],
    ids=["refused", "too many calls", "dropped", "no JSON"],
)
async def test_telegram_e9_a_menu_that_is_not_taken_is_told_and_nothing_more(
    api: FakeBotApi, client: TelegramClient, fault: Fault
) -> None:
    told: list[Notice] = []
    api.fails("setMyCommands", fault)
    assert not await publish(client, lambda say: [("stop", "ends it")], told.append)
    assert len(told) == 1
    assert told[0].subject == "the menu of commands"
