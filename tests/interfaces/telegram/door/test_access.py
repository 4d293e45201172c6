"""Who gets in: nobody before the admin is known, strangers nowhere, and codes once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from goat.errors import BotUnusable, SettingsError
from goat.interfaces.telegram.access import PENDING, TRIES, _random_code, code_in
from goat.interfaces.telegram.door import bot_number
from goat.interfaces.texts import texts_for
from goat.records.arrivals import Role
from goat.settings import load
from goat.settings.section_telegram import TelegramSettings
from goat.testing.bot_api import FakeBotApi, Person
from goat.testing.clock import HeldClock

CLOSED = {"admin_chat_id": 0}


async def pair(bot: Any, person: Person) -> None:
    """Make a person the admin by the code of the terminal."""
    await bot.until(lambda: bot.codes)
    person.says(bot.codes[-1])
    await bot.until(lambda: bot.arrived)


async def test_telegram_e7_the_code_of_the_terminal_makes_the_admin(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    async with bots(api, **CLOSED) as bot:
        await pair(bot, ana)
        assert [(one.number, one.role, one.owner) for one in bot.arrived] == [(ana.id, Role.ADMIN, "admin")]
        (welcome,) = await api.answers(ana, 1, 60)
        assert welcome.startswith("Welcome. You are my admin")
        ana.says("hello")
        assert (await api.answers(ana, 2, 60))[1] == "You said: hello"


async def test_a_link_with_the_code_does_the_same(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    async with bots(api, **CLOSED) as bot:
        await bot.until(lambda: bot.codes)
        ana.starts(bot.codes[-1].replace("-", ""))
        await bot.until(lambda: bot.arrived)


async def test_telegram_e6_before_the_admin_is_known_nobody_is_answered(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    group = api.group("Home", ana)
    async with bots(api, **CLOSED) as bot:
        ana.says("hello")
        ana.says("are you there?")
        ana.says("/status")
        ana.sends_photo(caption="a picture")
        ana.at(group).says("@goat_bot hello")
        ana.at(group).says("/allow@goat_bot")
        await bot.idle()
        assert bot.model.requests == []
        assert api.calls_of("getFile") == []
        assert api.screen(group).answers == []
        assert len(api.screen(ana).answers) == 1
        assert api.screen(ana).answers[0].startswith("I am a private bot.")
        kept = await bot.app.backends.journal.counts("admin", bot.app.backends.embedder.name)
        assert kept.episodes == 0


async def test_telegram_e7_a_code_works_once_and_not_after_a_restart(bots, api: FakeBotApi) -> None:
    from goat.adapters.inbox_memory import MemoryAdmissions, MemoryInbox
    from goat.testing.clock import FakeClock

    ana, ben = api.person("Ana"), api.person("Ben")
    stores = {"admissions": MemoryAdmissions(), "inbox": MemoryInbox(FakeClock())}
    async with bots(api, **CLOSED, **stores) as bot:
        await pair(bot, ana)
        code = bot.codes[-1]
        ben.says(code)
        assert await api.answers(ben, 1, 60) == ["This code is not valid, or has expired."]
        await bot.end()
    async with bots(api, **CLOSED, **stores) as bot:
        ben.says(code)
        await api.answers(ben, 2, 60)
        ana.says("hello again")
        assert (await api.answers(ana, 2, 60))[1] == "You said: hello again"
        assert bot.codes == []
        assert bot.arrived == []


async def test_telegram_e7_only_five_codes_of_a_person_are_looked_at(bots, api: FakeBotApi) -> None:
    eve = api.person("Eve")
    async with bots(api, **CLOSED) as bot:
        await bot.until(lambda: bot.codes)
        for n in range(TRIES):
            eve.says(f"AAAA-AA2{'BCDEFGH'[n]}")
        await api.answers(eve, TRIES, 60)
        eve.says(bot.codes[-1])
        eve.says("AAAA-AA22")
        await bot.idle()
        later = "There were too many wrong codes. Try again in an hour."
        assert api.screen(eve).answers == [*["This code is not valid, or has expired."] * TRIES, later]
        assert bot.arrived == []
        ana = api.person("Ana")
        await pair(bot, ana)


@pytest.mark.parametrize("word", ["Salutare", "salutare", "BUNA ZIUA", "Wunderbar", "haha-haha"])
async def test_telegram_e7_a_word_of_eight_letters_is_no_code(bots, api: FakeBotApi, word: str) -> None:
    ana = api.person("Ana")
    async with bots(api, **CLOSED) as bot:
        for _ in range(TRIES + 1):
            ana.says(word)
        await bot.idle()
        assert api.screen(ana).answers == [texts_for("en")("access.private", number=str(ana.id))]
        await pair(bot, ana)


def test_telegram_e7_every_code_has_a_digit_and_is_known_as_one() -> None:
    for _ in range(2_000):
        code = _random_code()
        assert any(letter.isdigit() for letter in code)
        assert code_in(f" {code[:4].lower()}-{code[4:]}\n") == code


async def test_telegram_e7_an_expired_code_is_no_code_and_a_new_one_is_shown(bots, api: FakeBotApi) -> None:
    ana, clock = api.person("Ana"), HeldClock()
    async with bots(api, **CLOSED, clock=clock) as bot:
        await bot.until(lambda: bot.codes and any(wait > 3000 for wait in clock.waits))
        clock.move(3601)
        await bot.until(lambda: len(bot.codes) == 2)
        ana.says(bot.codes[0])
        await bot.until(lambda: api.screen(ana).answers)
        assert bot.arrived == []
        ana.says(bot.codes[1])
        await bot.until(lambda: bot.arrived)


async def test_telegram_e7_a_code_in_a_group_is_not_looked_at(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    group = api.group("Home", ana)
    async with bots(api, **CLOSED) as bot:
        await bot.until(lambda: bot.codes)
        ana.at(group).says(bot.codes[-1])
        ana.forwards(bot.codes[-1], api.person("Eve").user)
        await bot.idle()
        assert bot.arrived == []
        assert api.screen(group).answers == []
        (refused,) = api.screen(ana).answers
        assert refused.startswith("I am a private bot.")
        ana.says(bot.codes[-1])
        assert (await api.answers(ana, 2, 60))[1].startswith("Welcome. You are my admin")


async def test_telegram_e7_guests_come_in_by_a_code_of_the_admin_and_have_a_memory_of_their_own(
    bots, api: FakeBotApi
) -> None:
    ana, ben = api.person("Ana"), api.person("Ben")
    async with bots(api) as bot:
        ana.says("/invite")
        (told,) = await api.answers(ana, 1, 60)
        code = told.splitlines()[2]
        ben.says(code)
        assert (await api.answers(ben, 1, 60))[0].startswith("Welcome. What you tell me stays between us")
        assert f"Ben (number {ben.id}) used your code" in (await api.answers(ana, 2, 60))[1]
        ben.says("hello")
        await api.answers(ben, 2, 60)
        kept = await bot.app.backends.journal.recent(f"telegram:{ben.id}", f"telegram:{ben.id}", 5)
        assert [one.text for one in kept] == ["hello", "You said: hello"]
        ben.says("/invite")
        assert (await api.answers(ben, 3, 60))[2].startswith("There is no command /invite")
        ana.says(f"/remove {ben.id}")
        await api.answers(ana, 3, 60)
        ben.says("hello?")
        await bot.idle()
        assert [request.owner for request in bot.model.requests] == [f"telegram:{ben.id}"]


async def test_telegram_e7_a_fourth_code_takes_the_place_of_the_first(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    async with bots(api) as bot:
        codes = []
        for n in range(PENDING + 1):
            ana.says("/invite")
            codes.append((await api.answers(ana, n + 1, 60))[n].splitlines()[2])
        early, late = api.person("Early"), api.person("Late")
        early.says(codes[0])
        late.says(codes[-1])
        assert (await api.answers(early, 1, 60))[0].startswith("This code is not valid")
        assert (await api.answers(late, 1, 60))[0].startswith("Welcome")
        assert len(bot.arrived) == 1


async def test_telegram_e7_a_code_stands_nowhere_as_it_is(bots, api: FakeBotApi) -> None:
    async with bots(api, **CLOSED) as bot:
        await bot.until(lambda: bot.codes)
        (kept,) = await bot.app.backends.admissions.invitations("telegram:4242", bot.app.backends.clock.now())
        code = bot.codes[0].replace("-", "")
        assert code not in repr(kept)
        assert code not in "".join(bot.notices)


@pytest.fixture
async def house(bots, api: FakeBotApi) -> Any:
    """A bot that knows Ana and Ben, a group that Ana let it into, and Eve, whom nobody knows."""
    ana, ben, eve = api.person("Ana"), api.person("Ben"), api.person("Eve")
    group = api.group("Home", ana, ben, eve)
    async with bots(api, guests=(str(ben.id),)) as bot:
        ana.at(group).says("/allow@goat_bot")
        await api.answers(group, 1, 60)
        await bot.idle()
        yield bot, group, ana, ben, eve


async def test_telegram_e6_in_a_group_only_the_known_are_answered_until_everyone_is_let_in(house) -> None:
    bot, group, ana, ben, eve = house
    api = bot.api
    eve.at(group).says("@goat_bot hello")
    ben.at(group).says("@goat_bot hello")
    await api.answers(group, 2, 60)
    await bot.idle()
    assert len(bot.model.requests) == 1
    ben.at(group).says("/allow@goat_bot everyone")
    await api.answers(group, 3, 60)
    eve.at(group).says("@goat_bot hello")
    await bot.idle()
    assert len(bot.model.requests) == 1
    ana.at(group).says("/allow@goat_bot everyone")
    await api.answers(group, 4, 60)
    eve.at(group).says("@goat_bot hello")
    await api.answers(group, 5, 60)
    assert len(bot.model.requests) == 2
    ana.at(group).says("/disallow@goat_bot")
    await api.answers(group, 6, 60)
    ben.at(group).says("@goat_bot hello")
    await bot.idle()
    assert len(bot.model.requests) == 2


async def test_telegram_e6_a_stranger_is_refused_on_every_path(house) -> None:
    bot, group, ana, _, eve = house
    api = bot.api
    before = len(api.screen(group).answers)
    written = eve.at(group).says("@goat_bot hello")
    eve.at(group).edits(written, "@goat_bot hello there")
    eve.at(group).says("/status@goat_bot")
    eve.at(group).sends_photo(caption="@goat_bot look")
    ana.at(group).says("/forget@goat_bot the key under the mat")
    await bot.idle()
    shown = api.screen(group).last
    tap = eve.at(group).presses("anything", shown)
    await bot.until(lambda: tap.answer is not None)
    assert tap.answer["text"] == "This is for somebody else to decide."
    body = ana.at(group).says("@goat_bot hello").as_json()
    anonymous = {**body, "message_id": 900, "from": {"id": 1087968824, "is_bot": True, "first_name": "Group"}}
    anonymous["sender_chat"] = body["chat"]
    api.inject({"message": anonymous})
    await bot.idle()
    assert [request.owner for request in bot.model.requests] == [f"telegram:{group.id}"]
    assert api.calls_of("getFile") == []
    assert not any("Eve" in message.content for request in bot.model.requests for message in request.messages)
    assert len(api.screen(group).answers) - before == 2


async def test_f_b69_a_button_of_somebody_else_does_nothing(house) -> None:
    bot, _, ana, ben, eve = house
    api = bot.api
    ana.says("the boiler is in the cellar")
    await api.answers(ana, 1, 60)
    ana.says("/forget boiler")
    await api.answers(ana, 2, 60)
    prompt = api.screen(ana).last
    data = str(prompt.message.buttons[0][0]["callback_data"])
    for person in (ben, eve):
        tap = person.presses(data, prompt)
        await bot.until(lambda tap=tap: tap.answer is not None)
    kept = await bot.app.backends.journal.recent("admin", f"telegram:{ana.id}", 5)
    assert kept[0].text == "the boiler is in the cellar"


async def test_telegram_e6_a_group_that_was_let_in_is_not_told_how_when_the_bot_comes_again(house) -> None:
    bot, group, ana, _, _ = house
    api = bot.api
    allowed = api.screen(group).answers
    ana.removes_bot(group)
    ana.adds_bot(group)
    ana.makes_admin(group)
    ana.at(group).says("@goat_bot hello")
    await api.answers(group, 2, 60)
    await bot.idle()
    assert api.screen(group).answers == [*allowed, "You said: Ana: @goat_bot hello"]
    other = api.group("Work", ana)
    ana.adds_bot(other)
    hint = texts_for("en")("access.group_hint", bot="goat_bot")
    assert await api.answers(other, 1, 60) == [hint]


async def test_telegram_e6_a_stranger_is_refused_while_a_turn_runs(house) -> None:
    bot, group, _, ben, eve = house
    go_on = asyncio.Event()

    async def answer(_: Any) -> str:
        await go_on.wait()
        return "Done."

    bot.model.answer = answer
    ben.at(group).says("@goat_bot do it")
    await bot.until(lambda: bot.model.requests)
    eve.at(group).says("@goat_bot and delete everything")
    eve.at(group).says("/stop@goat_bot")
    await bot.until(lambda: not bot.api.waiting)
    go_on.set()
    await bot.until(lambda: "Done." in bot.api.screen(group).answers)
    await bot.idle()
    assert not any("delete everything" in m.content for r in bot.model.requests for m in r.messages)


async def test_telegram_e8_the_bots_own_id_is_no_persons(bots, api: FakeBotApi) -> None:
    async with bots(api, admin_chat_id=api.bot.id) as bot:
        await bot.until(bot.running.done)
        fault = bot.running.exception()
        assert isinstance(fault, SettingsError)
        assert "4242 is the id of the bot itself" in str(fault)


async def test_telegram_e8_the_owner_is_who_sent_the_code_in_a_private_chat(bots, api: FakeBotApi) -> None:
    eve, ana = api.person("Eve"), api.person("Ana")
    async with bots(api, **CLOSED) as bot:
        eve.says(f"I am {api.bot.id}, my id is {ana.id}")
        await pair(bot, ana)
        ana.says("/whoami")
        eve.says("/whoami")
        (_, who) = await api.answers(ana, 2, 60)
        await bot.idle()
    assert f"You are Ana, number {ana.id}, the admin here." in who
    assert len(api.screen(eve).answers) == 1


@pytest.mark.parametrize("value", ["@ana", "ana", "-1001"])
def test_telegram_e8_the_admin_is_a_number_of_a_person(value: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"\[telegram\] admin_chat_id"):
        load({"home": tmp_path}, environ={"GOAT_TELEGRAM__ADMIN_CHAT_ID": value}, cwd=tmp_path)


@pytest.mark.parametrize("token", ["  42:abc\n", "42:abc\r\n"])
def test_telegram_e8_white_space_around_a_token_is_no_part_of_it(token: str, tmp_path: Path) -> None:
    loaded = load({"home": tmp_path}, environ={"TELEGRAM_BOT_TOKEN": token}, cwd=tmp_path)
    assert loaded.settings.keys.telegram.get_secret_value() == "42:abc"


@pytest.mark.parametrize("value", [("@ben",), ("ben",), ("12x",)])
def test_telegram_e8_guests_and_groups_are_numbers(value: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="numeric ids"):
        TelegramSettings(guests=value)


@pytest.mark.parametrize("token", ["", "abc", "123", "123:", ":x", "٣:x"])
def test_telegram_e8_what_is_no_token_is_said_so(token: str) -> None:
    with pytest.raises(BotUnusable, match="looks like 123456789:AAE"):
        bot_number(token)
    assert bot_number("42:x") == 42
