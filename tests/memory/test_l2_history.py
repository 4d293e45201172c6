"""L2: what is kept, what is trimmed, and the first message."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise

from goat.app import App
from goat.memory.keys import working_key
from goat.records.episodes import Incoming
from goat.records.models import Reply
from goat.settings import Settings
from goat.settings.sections import WorkingSettings
from goat.testing.app import memory_app, say
from goat.testing.models import ScriptedModel

SMALL = Settings(working=WorkingSettings(max_messages=6, trim_surplus=4))


async def kept(app: App) -> int:
    return len(await app.backends.working.tail(working_key("admin", "test"), 100))


async def shown(app: App) -> list[str]:
    head = await app.backends.journal.head()
    return [message.text for message in (await app.memory.prompt_layers("admin", "test", head + 1000)).history]


async def test_a44_the_list_is_trimmed_only_when_the_surplus_is_exceeded_and_never_below_the_limit() -> None:
    async with memory_app(SMALL) as app:
        lengths = []
        for number in range(9):
            await say(app, f"message {number}")
            lengths.append(await kept(app))
    assert lengths == [2, 4, 6, 8, 10, 6, 8, 10, 6]


async def test_a41_one_message_beyond_the_limit_costs_one_message_and_not_the_list() -> None:
    async with memory_app(Settings(working=WorkingSettings(max_messages=20, trim_surplus=1))) as app:
        for number in range(11):
            await say(app, f"message {number}")
        texts = [
            json.loads(item)["text"] for item in await app.backends.working.tail(working_key("admin", "test"), 100)
        ]
    assert len(texts) == 20
    assert texts[0] == "message 1"
    assert texts[-2:] == ["message 10", "All right."]


async def test_a42_a_trim_writes_nothing_into_the_archive_again() -> None:
    async with memory_app(SMALL) as app:
        for number in range(12):
            await say(app, f"message {number}")
        assert await kept(app) < 24
        counts = await app.backends.journal.counts("admin", app.backends.embedder.name)
        said = await app.backends.journal.recent("admin", "test", 100)
    assert counts.episodes == len(said) == 24
    assert len({episode.uid for episode in said}) == 24


async def test_a43_exchanges_that_end_at_once_overwrite_nothing_of_one_another() -> None:
    async with memory_app(Settings(working=WorkingSettings(max_messages=40, trim_surplus=4))) as app:
        exchanges = [await say(app, f"message {number}") for number in range(18)]
        await app.backends.working.delete(working_key("admin", "test"))
        await asyncio.gather(*(app.memory.remember_exchange([one.question], one.answer) for one in exchanges))
        items = await app.backends.working.tail(working_key("admin", "test"), 100)
    texts = [json.loads(item)["text"] for item in items]
    assert sorted(text for text in texts if text != "All right.") == sorted(f"message {n}" for n in range(18))
    assert len(texts) == 36


async def test_f_b34_the_first_message_of_the_chat_stays_after_every_trim() -> None:
    async with memory_app(SMALL) as app:
        await say(app, "I am Ana and I sail")
        for number in range(20):
            await say(app, f"message {number}")
        history = (await app.memory.prompt_layers("admin", "test", 1000)).history
        assert history[0].text == "I am Ana and I sail"
        assert history[1].after_gap
        assert history[-2].text == "message 19"


async def test_f_b34_the_first_message_is_found_again_when_the_working_store_lost_everything() -> None:
    async with memory_app(SMALL) as app:
        await say(app, "I am Ana and I sail")
        for number in range(10):
            await say(app, f"message {number}")
        await app.backends.working.delete(working_key("admin", "test"))
        texts = await shown(app)
    assert texts[0] == "I am Ana and I sail"
    assert texts[-2:] == ["message 9", "All right."]


async def test_f_b35_a_message_keeps_its_own_time_and_a_failed_turn_keeps_its_message() -> None:
    async with memory_app(model=ScriptedModel([ValueError("a fault"), "fine"])) as app:
        try:
            await say(app, "first")
        except ValueError:
            app.backends.clock.move(60)
        await say(app, "second")
        history = (await app.memory.prompt_layers("admin", "test", 1000)).history
    assert [message.text for message in history] == ["first", "second", "fine"]
    assert (history[1].at - history[0].at).total_seconds() == 60


async def test_the_bytes_before_the_data_message_only_grow_between_two_trims() -> None:
    model = ScriptedModel()
    async with memory_app(SMALL, model=model) as app:
        for number in range(24):
            await say(app, f"what about message {number}")
            app.backends.clock.move(30)
    before = [[(m.role, m.content) for m in request.messages[:-2]] for request in model.requests]
    grew = [later[: len(earlier)] == earlier for earlier, later in pairwise(before)]
    assert sum(grew) >= len(grew) * 2 / 3 - 1


async def test_telegram_h4_a_new_conversation_holds_nothing_of_the_old_one_and_memory_all_of_it() -> None:
    async with memory_app(SMALL) as app:
        for number in range(8):
            await say(app, f"old message {number}")
        await app.memory.begin_anew("admin", "test")
        assert await shown(app) == []
        assert (await app.memory.thread("admin", "test")).value.topic_id == ""
        await say(app, "new message")
        assert await shown(app) == ["new message", "All right."]
        assert len(await app.overview.recent("admin", 100)) == 18
        await app.memory.begin_anew("admin", "test")
        assert await shown(app) == []


async def test_telegram_h4_a_new_conversation_stays_new_when_the_list_is_lost() -> None:
    async with memory_app(SMALL) as app:
        for number in range(8):
            await say(app, f"old message {number}")
        await app.memory.begin_anew("admin", "test")
        await say(app, "new message")
        await app.backends.working.delete(working_key("admin", "test"))
        assert await shown(app) == ["new message", "All right."]
        for number in range(20):
            await say(app, f"newer message {number}")
        assert not [text for text in await shown(app) if text.startswith("old")]


async def test_telegram_c5_an_answer_that_comes_after_a_new_beginning_is_not_in_the_new_conversation() -> None:
    async with memory_app(SMALL) as app:
        question = await app.memory.receive(Incoming("admin", "test", "old", app.backends.clock.now()))
        await app.memory.begin_anew("admin", "test")
        answer = await app.memory.answer(question, "", Reply("late answer"), app.backends.clock.now())
        await app.memory.remember_exchange([question.episode], answer.episode)
        assert await shown(app) == []
        await say(app, "new message")
        assert await shown(app) == ["new message", "All right."]
        await app.backends.working.delete(working_key("admin", "test"))
        assert await shown(app) == ["new message", "All right."]


async def test_a_new_beginning_of_a_chat_that_never_began_is_fine() -> None:
    async with memory_app(SMALL) as app:
        await app.memory.begin_anew("admin", "test")
        await say(app, "first message")
        assert await shown(app) == ["first message", "All right."]


async def test_where_several_talk_the_conversation_says_who_said_what() -> None:
    model = ScriptedModel()
    async with memory_app(SMALL, model=model) as app:
        for who, text in (("Ana", "the boat is in Sulina"), ("Ben", "and where is the key?")):
            await app.orchestrator.run(Incoming("g", "g", text, app.backends.clock.now(), speaker=who))
            await app.settled()
        said = [message.content for message in model.requests[-1].messages if message.role == "user"]
        assert said[0].endswith("Ana: the boat is in Sulina")
        assert said[-1] == "Ben: and where is the key?"
        await app.backends.working.delete(working_key("g", "g"))
        rebuilt = (await app.memory.prompt_layers("g", "g", 1000)).history
        assert (rebuilt[0].speaker, rebuilt[0].text) == ("Ana", "the boat is in Sulina")
