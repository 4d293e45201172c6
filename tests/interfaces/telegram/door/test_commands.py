"""The commands, as a person sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any

import pytest

from goat.interfaces.telegram.commands import NAMES
from goat.records.models import ModelRequest
from goat.records.usage import ModelCall, Usage
from goat.settings import Settings
from goat.testing.bot_api import FakeBotApi, Fault, Person

Bots = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.fixture
def ana(api: FakeBotApi) -> Person:
    return api.person("Ana")


async def told(bot: Any, who: Person, text: str) -> str:
    """What the bot says to a command or message, files apart."""

    def said() -> list[str]:
        return [answer for answer in bot.api.screen(who).answers if answer]

    before = len(said())
    who.says(text)
    await bot.api.until(lambda: len(said()) > before, 30)
    return said()[before]


@pytest.mark.parametrize("language", ["en", "ro"])
async def test_every_command_of_the_menu_has_an_answer(api: FakeBotApi, bots: Bots, language: str) -> None:
    ana = api.person("Ana", language=language)
    async with bots(api) as bot:
        for name in NAMES:
            answer = await told(bot, ana, f"/{name}")
            assert answer.strip()
            assert "{" not in answer
            assert "There is no command" not in answer
        assert bot.model.requests == []


async def test_the_person_is_answered_in_their_language(api: FakeBotApi, bots: Bots) -> None:
    ana, ion = api.person("Ana", language="en"), api.person("Ion", language="ro")
    async with bots(api, guests=(str(ion.id),)) as bot:
        assert await told(bot, ana, "/facts") == "No facts are kept. What was said is found all the same."
        assert await told(bot, ion, "/facts") == "Nu păstrez niciun fapt. Ce s-a spus se găsește oricum."
        assert (await told(bot, ion, "/help")).splitlines()[0] == "/start – începe"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("/stop", "I am not working on anything here."),
        ("/STOP", "I am not working on anything here."),
        ("/stop@goat_bot", "I am not working on anything here."),
        (" /stop", "I am not working on anything here."),
        ("/stop\nplease", "I am not working on anything here."),
        ("/unknown x", "There is no command /unknown. /help shows all."),
        ("/etc/passwd is a file", "You said: /etc/passwd is a file"),
        ("/stop@other_bot", "You said: /stop@other_bot"),
        ("/", "You said: /"),
    ],
)
async def test_telegram_c6_what_a_text_with_a_slash_leads_to(bot: Any, ana: Person, text: str, answer: str) -> None:
    assert await told(bot, ana, text) == answer


async def test_telegram_c6_in_a_group_the_commands_of_other_bots_are_theirs(api: FakeBotApi, bots: Bots) -> None:
    ana = api.person("Ana")
    crew = api.group("Crew", ana)
    async with bots(api, groups=(str(crew.id),)) as bot:
        for text in ("/stop@other_bot", "/weather", "/weather@other_bot now"):
            ana.at(crew).says(text)
        assert await told(bot, ana.at(crew), "/stop") == "I am not working on anything here."
        assert await told(bot, ana.at(crew), "/weather@goat_bot") == "There is no command /weather. /help shows all."
        await bot.idle()
        assert len(api.screen(crew).answers) == 2
        assert bot.model.requests == []


async def test_why_explains_the_last_answer_of_this_chat(bot: Any, ana: Person) -> None:
    assert await told(bot, ana, "/why") == "Nothing was answered yet in this conversation."
    await told(bot, ana, "my boat Zefir lies in Sulina")
    await told(bot, ana, "where is my boat?")
    assert (await told(bot, ana, "/why")).startswith("Thread: ")


async def test_forget_asks_by_buttons_and_forgets(bot: Any, ana: Person) -> None:
    await told(bot, ana, "my word is falcon")
    shown = await told(bot, ana, "/forget falcon")
    assert "my word is falcon" in shown
    question = bot.api.screen(ana).last
    assert question.buttons == (("Forget for good", "Keep"),)
    ana.taps(question, "Forget for good")
    await bot.until(lambda: "Forgotten for good" in bot.api.screen(ana).last.text)
    assert bot.api.screen(ana).last.buttons == ()
    assert await bot.app.overview.recent("admin", 10) == []


async def test_a_list_shows_the_words_of_an_answer_without_its_marks(bot: Any, ana: Person) -> None:
    async def marked(request: ModelRequest) -> str:
        return "It lies at **berth 14** by `14 March`, 2**3 metres ~~deep~~."

    bot.model.answer = marked
    await told(bot, ana, "my falcon **sleeps**")
    shown = await told(bot, ana, "/forget berth")
    assert "GOAT: It lies at berth 14 by 14 March, 2**3 metres deep." in shown
    assert "my falcon **sleeps**" in await told(bot, ana, "/forget falcon")


async def test_forget_keeps_what_is_to_be_kept(bot: Any, ana: Person) -> None:
    await told(bot, ana, "my word is falcon")
    await told(bot, ana, "/forget falcon")
    ana.taps(bot.api.screen(ana).last, "Keep")
    await bot.until(lambda: bot.api.screen(ana).last.text == "Nothing was forgotten.")
    assert len(await bot.app.overview.recent("admin", 10)) == 2


async def test_telegram_c5_a_new_conversation_ends_the_turn_and_holds_nothing_of_it(bot: Any, ana: Person) -> None:
    asked = asyncio.Event()

    async def slow(request: ModelRequest) -> str:
        if "old" in request.messages[-1].content:
            asked.set()
            await asyncio.Event().wait()
        return "fresh: " + " | ".join(one.content for one in request.messages[1:-2])

    bot.model.answer = slow
    ana.says("an old question")
    await asyncio.wait_for(asked.wait(), 30)
    assert (await told(bot, ana, "/new")).startswith("A new conversation.")
    assert await told(bot, ana, "hello") == "fresh:"
    await bot.idle()
    assert len(bot.api.screen(ana).answers) == 2


async def test_the_export_is_a_file_that_an_import_reads(bot: Any, ana: Person) -> None:
    await told(bot, ana, "my boat Zefir lies in Sulina")
    assert "all of your memory: 2 messages" in await told(bot, ana, "/export")
    (file,) = [one.media.file for one in bot.api.screen(ana).messages if one.media is not None]
    assert file.name.startswith("goat-memory-")
    assert b"my boat Zefir lies in Sulina" in file.content


async def test_an_export_that_cannot_be_sent_says_what_to_do(bot: Any, ana: Person) -> None:
    bot.api.fails("sendDocument", Fault.error(413, "Request Entity Too Large"))
    assert "goat export FILE" in await told(bot, ana, "/export")


async def test_the_identity_is_shown_set_and_taken_back(bot: Any, ana: Person) -> None:
    assert (await told(bot, ana, "/identity")).startswith("You are GOAT")
    assert (await told(bot, ana, "/identity You are a pirate.")).startswith("From now on: You are a pirate.")
    assert (await told(bot, ana, "/identity")).startswith("You are a pirate.")
    assert "again" in await told(bot, ana, "/undo")
    assert (await told(bot, ana, "/identity")).startswith("You are GOAT")
    await told(bot, ana, "/identity You are a pirate.")
    await told(bot, ana, "/identity default")
    assert (await told(bot, ana, "/identity")).startswith("You are GOAT")


async def test_whoami_and_status_say_what_they_know(bot: Any, ana: Person) -> None:
    who = await told(bot, ana, "/whoami")
    assert who.splitlines()[0] == f"You are Ana, number {ana.id}, the admin here."
    assert f"this chat is telegram:{ana.id}" in who
    status = await told(bot, ana, "/status")
    assert "0 messages remembered" in status
    assert "No language model is configured" in status
    await told(bot, ana, "hello")
    assert "2 messages remembered" in await told(bot, ana, "/status")


async def test_usage_tells_tokens_and_cost_of_the_owner_alone(bot: Any, ana: Person) -> None:
    now = datetime.now(UTC)
    for owner, tokens in (("admin", 1200), ("admin", 300), ("somebody", 9_000)):
        call = ModelCall(now, now.date(), owner, "c", "x", "deepseek", "flash", Usage(tokens, 10, 0, 0.5))
        await bot.app.backends.usage.record(call)
    lines = (await told(bot, ana, "/usage")).splitlines()
    assert lines[0] == "Today: 2 calls, 1,500 → 20 tokens, $1.00"
    assert lines[1] == "Last 30 days: 2 calls, 1,500 → 20 tokens, $1.00"


async def test_the_model_is_named_with_what_stands_behind_it(api: FakeBotApi, bots: Bots) -> None:
    chosen = {"provider": "ollama", "name": "qwen3:4b"}
    settings = Settings.model_validate({"model": chosen})
    async with bots(api, settings=settings) as bot:
        answer = await told(bot, api.person("Ana"), "/model")
        assert answer.startswith("ollama/qwen3:4b answers. Behind it: nothing.")


async def test_in_a_group_only_the_admin_gives_away_or_forgets_what_is_the_groups(api: FakeBotApi, bots: Bots) -> None:
    ana, ben = api.person("Ana"), api.person("Ben")
    crew = api.group("Crew", ana, ben)
    async with bots(api, groups=(str(crew.id),), guests=(str(ben.id),)) as bot:
        for text in ("/forget everything", "/export", "/undo", "/identity You are mine."):
            assert await told(bot, ben.at(crew), text) == "In a group only my admin may do that."
        assert (await told(bot, ben.at(crew), "/identity")).startswith("You are GOAT")
        assert "nothing" in (await told(bot, ana.at(crew), "/forget everything")).lower()


async def test_a_guest_sees_nothing_of_the_admins_memory(api: FakeBotApi, bots: Bots) -> None:
    ana, ben = api.person("Ana"), api.person("Ben")
    async with bots(api, guests=(str(ben.id),)) as bot:
        await told(bot, ana, "my word is falcon")
        for name in ("memory", "topics", "why", "forget falcon", "status", "usage"):
            assert "falcon" not in await told(bot, ben, f"/{name}")


async def test_telegram_e9_the_menu_is_set_in_every_language(api: FakeBotApi, bots: Bots, ana: Person) -> None:
    async with bots(api) as bot:
        await bot.until(lambda: len(api.world.commands) == 4)
        english, romanian = api.world.commands["default", ""], api.world.commands["default", "ro"]
        assert [one["command"] for one in english] == list(NAMES)
        assert [one["command"] for one in romanian] == list(NAMES)
        assert english[0]["description"] == "begin"
        assert romanian[0]["description"] == "începe"
        own = api.world.commands[f"{ana.id}:chat", ""]
        assert len(own) > len(english)


async def test_telegram_e9_without_a_menu_the_commands_work(api: FakeBotApi, bots: Bots, ana: Person) -> None:
    api.fails("setMyCommands", Fault.error(400, "Bad Request: BOT_COMMANDS_TOO_MUCH"), calls=None)
    async with bots(api) as bot:
        assert await told(bot, ana, "/stop") == "I am not working on anything here."
        await bot.until(lambda: any("menu" in notice for notice in bot.notices))
