"""Which of the messages that wait are one."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.interfaces.telegram.chunk import units
from goat.interfaces.telegram.gathering import ALBUM_SECONDS, PASTE_SECONDS, Front, front, joined
from goat.interfaces.telegram.message import Me, Message, read_update
from goat.testing.bot_api import FakeBotApi, Person
from goat.testing.clock import FakeClock

Heard = Callable[[FakeBotApi], list[Message]]
PICTURE = b"\xff\xd8\xff\xe0" + bytes(60)


def report(length: int) -> str:
    """A text of lines, of so many characters."""
    return "".join(f"A line of the long report, number {number}.\n" for number in range(length))[:length]


async def test_telegram_a11_a_paste_that_the_app_split_is_one_message(heard: Heard) -> None:
    api, text = FakeBotApi(), report(9_000)
    parts = api.person().pastes(text)
    assert [units(part.text) for part in parts] == [4096, 4096, 808]
    messages = heard(api)
    assert front(messages, 0.0) == Front(3)
    assert joined(messages).text == text
    assert joined(messages).id == messages[0].id


async def test_telegram_a11_parts_that_were_split_at_a_line_end_are_joined_by_one(heard: Heard) -> None:
    api = FakeBotApi()
    ana = api.person()
    first, second = report(4_050).strip(), "The end of it."
    ana.says(first)
    ana.says(second)
    assert joined(heard(api)).text == f"{first}\n{second}"


@pytest.mark.parametrize("length", [1, 3_999])
async def test_telegram_a11_a_message_that_is_not_full_never_waits(heard: Heard, length: int) -> None:
    api = FakeBotApi()
    api.person().says("x" * length)
    assert front(heard(api), 0.0) == Front(1)


async def test_telegram_a11_behind_a_full_message_the_rest_is_waited_for(heard: Heard) -> None:
    api = FakeBotApi()
    api.person().says("x" * 4_000)
    assert front(heard(api), 0.0) == Front(1, PASTE_SECONDS)
    assert front(heard(api), 1.5) == Front(1, PASTE_SECONDS - 1.5)
    assert front(heard(api), PASTE_SECONDS) == Front(1)
    assert front(heard(api), math.inf) == Front(1)


OTHERS: dict[str, Callable[[Person, Person], object]] = {
    "a command": lambda ana, ben: ana.says("/stop"),
    "a photo": lambda ana, ben: ana.sends_photo(caption="look"),
    "a forward": lambda ana, ben: ana.forwards("somebody's words", "Somebody"),
    "an answer": lambda ana, ben: ana.replies_to(ana.chat.messages[2], "so it is"),
    "somebody else": lambda ana, ben: ben.at(ana.chat).says("what is that?"),
    "an edit": lambda ana, ben: ana.edits(ana.chat.messages[2], "another text"),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
async def test_telegram_a11_what_is_something_else_does_not_join_a_paste(
    heard: Heard, other: Callable[[Person, Person], object]
) -> None:
    api = FakeBotApi()
    ana, ben = api.person("Ana"), api.person("Ben")
    in_group = ana.at(api.group("Crew", ana, ben))
    in_group.says("x" * 4_096)
    other(in_group, ben)
    assert front(heard(api), 0.0) == Front(1)


async def test_telegram_a11_a_message_of_a_later_time_does_not_join_a_paste(heard: Heard) -> None:
    clock = FakeClock()
    api = FakeBotApi(clock=clock)
    ana = api.person()
    ana.says("x" * 4_096)
    clock.move(10)
    ana.says("later")
    assert front(heard(api), 0.0) == Front(1)


async def test_telegram_a12_an_album_is_one_message_with_its_caption(heard: Heard) -> None:
    api = FakeBotApi()
    ana = api.person()
    ana.sends_album([PICTURE] * 3, caption="my boat")
    assert front(heard(api), 0.0) == Front(3, ALBUM_SECONDS)
    assert front(heard(api), ALBUM_SECONDS) == Front(3)
    whole = joined(heard(api))
    assert whole.text == "my boat"
    assert [one.kind for one in whole.attachments] == ["photo"] * 3
    ana.says("what is it?")
    assert front(heard(api), 0.0) == Front(3)
    assert front(heard(api)[3:], 0.0) == Front(1)


async def test_telegram_a12_a_full_album_and_one_at_a_stop_do_not_wait(heard: Heard) -> None:
    api = FakeBotApi()
    api.person().sends_album([PICTURE] * 10)
    assert front(heard(api), 0.0) == Front(10)
    assert front(heard(api)[:4], math.inf) == Front(4)


async def test_telegram_a12_two_albums_are_two_messages(heard: Heard) -> None:
    api = FakeBotApi()
    ana = api.person()
    ana.sends_album([PICTURE] * 2, caption="one")
    ana.sends_album([PICTURE] * 2, caption="two")
    assert front(heard(api), 0.0) == Front(2)
    assert joined(heard(api)[2:]).text == "two"


def test_nothing_waits_in_an_empty_lane() -> None:
    assert front([], 0.0) == Front(0)


@given(
    st.lists(
        st.one_of(
            st.text(alphabet="ab 👍\n", min_size=1, max_size=9_000).filter(lambda text: text.strip()),
            st.integers(2, 10),
            st.just("/stop"),
        ),
        max_size=5,
    )
)
def test_telegram_a11_a12_every_message_is_taken_once_and_in_order(sent: list[str | int]) -> None:
    clock = FakeClock()
    api = FakeBotApi(clock=clock)
    ana = api.person()
    for one in sent:
        if isinstance(one, int):
            ana.sends_album([PICTURE] * one)
        else:
            ana.pastes(one)
        clock.move(60)
    me = Me(api.bot.id, str(api.bot.username))
    waiting = [one for one in (read_update(update.body, me) for update in api.waiting) if isinstance(one, Message)]
    taken: list[str | int] = []
    while waiting:
        found = front(waiting, math.inf)
        assert found.count >= 1
        whole = joined(waiting[: found.count])
        taken.append(whole.text or len(whole.attachments))
        waiting = waiting[found.count :]
    assert taken == sent
