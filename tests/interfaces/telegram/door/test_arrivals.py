"""From the update to the end of its handling: nothing twice, nothing for ever, nothing that is out of date."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.clock_system import SystemClock
from goat.adapters.inbox_memory import MemoryAdmissions, MemoryInbox
from goat.adapters.journal_memory import MemoryArchive, MemoryJournal
from goat.adapters.outbox_memory import MemoryOutbox
from goat.records.models import ModelRequest, Reply
from goat.testing.bot_api import FakeBotApi


def kept_stores() -> dict[str, Any]:
    """Stores that outlive a bot, so that the next one finds what it left."""
    clock = SystemClock("UTC")
    archive = MemoryArchive()
    return {
        "journal": MemoryJournal(archive, clock),
        "outbox": MemoryOutbox(archive.replies, clock),
        "inbox": MemoryInbox(clock),
        "admissions": MemoryAdmissions(),
    }


def said_at(api: FakeBotApi, person: Any, text: str, hours_ago: float) -> None:
    """A message that was sent some hours ago, waiting on Telegram's side."""
    message = person.says(text)
    waiting = api.waiting[-1]
    at = api.world.clock.now() - timedelta(hours=hours_ago)
    message.at = at
    waiting.body["message"]["date"] = int(at.timestamp())


async def test_a51_an_update_that_comes_again_is_answered_once(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    stores = kept_stores()
    async with bots(api, **stores) as bot:
        message = ana.says("hello")
        await api.answers(ana, 1, 60)
        await bot.idle()
        api.inject({"message": message.as_json()}, 1001)
        api.inject({"message": message.as_json()}, 1001)
        await bot.idle()
    async with bots(api, **stores) as bot:
        api.inject({"message": message.as_json()}, 1001)
        await bot.until(lambda: not api.waiting)
        await bot.idle()
        assert bot.model.requests == []
    assert api.screen(ana).answers == ["You said: hello"]


async def test_f_b19_a_turn_that_a_stop_cut_off_is_answered_by_the_next_process(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    stores = kept_stores()
    async with bots(api, **stores) as bot:
        hang = asyncio.Event()

        async def never(_: ModelRequest) -> str:
            await hang.wait()
            return ""

        bot.model.answer = never
        ana.says("hello")
        ana.says("and more")
        await bot.until(lambda: bot.model.requests and not api.waiting)
        await bot.end()
    assert api.screen(ana).answers == []
    async with bots(api, **stores) as bot:
        await bot.idle()
        assert bot.model.requests
    assert "and more" in "".join(api.screen(ana).answers)
    texts = [episode.text for episode in await stores["journal"].recent("admin", f"telegram:{ana.id}", 10)]
    assert texts.count("hello") == texts.count("and more") == 1


async def test_telegram_a13_an_edit_that_was_being_answered_is_answered_by_the_next_process(
    bots, api: FakeBotApi
) -> None:
    ana = api.person("Ana")
    stores = kept_stores()
    async with bots(api, **stores) as bot:
        hang = asyncio.Event()

        async def never(_: ModelRequest) -> str:
            await hang.wait()
            return ""

        bot.model.answer = never
        message = ana.says("what is 2 + 2?")
        await bot.until(lambda: len(bot.model.requests) == 1)
        ana.edits(message, "what is 2 + 3?")
        await bot.until(lambda: len(bot.model.requests) == 2)
        await bot.end()
    async with bots(api, **stores) as bot:
        await bot.idle()
    (answer,) = api.screen(ana).answers
    assert "what is 2 + 3?" in "".join(m.content for m in bot.model.requests[-1].messages)
    assert answer.startswith("You said:")


async def test_telegram_a3_a_stale_backlog_is_answered_in_one_reply(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    for n in range(40):
        said_at(api, ana, f"question {n}", 9 - n / 100)
    async with bots(api, backlog_hours=6) as bot:

        async def answer(request: ModelRequest) -> str:
            asked = [one.content for one in request.messages if one.content.startswith("question")]
            return f"To all {len(asked)}."

        bot.model.answer = answer
        await bot.idle()
        notice, reply = api.screen(ana).answers
        assert notice.startswith("While I was away 40 messages came, the first 9 h ago.")
        assert reply == "To all 40."
        assert len(bot.model.requests) == 1
        kept = await bot.app.backends.journal.recent("admin", f"telegram:{ana.id}", 60)
        assert [one.text for one in kept][:40] == [f"question {n}" for n in range(40)]


async def test_telegram_a3_what_is_fresh_is_answered_as_ever_after_the_backlog(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    said_at(api, ana, "old one", 9)
    said_at(api, ana, "old two", 8)
    ana.says("fresh")
    async with bots(api, during_turn="queue") as bot:
        await bot.idle()
        notice, both, fresh = api.screen(ana).answers
        assert "2 messages" in notice
        assert both == "You said: old two"
        assert fresh == "You said: fresh"


@pytest.mark.parametrize("command", ["/stop", "/new", "/stop all"])
async def test_telegram_a3_an_old_control_command_is_never_carried_out(bots, api: FakeBotApi, command: str) -> None:
    ana = api.person("Ana")
    said_at(api, ana, "a question", 0.01)
    said_at(api, ana, command, 0.005)
    async with bots(api) as bot:
        await bot.idle()
        told, answer = sorted(api.screen(ana).answers)
        assert told.startswith(f"{command.split()[0]} came while I was not running")
        assert answer == "You said: a question"


async def test_telegram_a4_a_command_that_was_begun_before_a_restart_is_not_repeated(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    stores = kept_stores()
    async with bots(api, **stores) as bot:
        ana.says("hello")
        await bot.idle()
        await bot.end()
    ana.says("/facts")
    (taken,) = await stores["inbox"].take("telegram:4242", [_arrival(api)])
    await stores["inbox"].begin([taken.id])
    async with bots(api, **stores) as bot:
        await bot.idle()
    assert api.screen(ana).answers[1:] == [
        "/facts was cut off by a restart. See whether it took effect, and send it again if not."
    ]


def _arrival(api: FakeBotApi) -> Any:
    from goat.records.arrivals import NewArrival

    update = api.waiting[-1]
    return NewArrival(update.id, update.body)


async def test_telegram_a4_an_edited_command_is_not_carried_out(bot) -> None:
    ana = bot.api.person("Ana")
    message = ana.says("/whoami")
    await bot.api.answers(ana, 1, 60)
    ana.edits(message, "/new")
    await bot.idle()
    assert len(bot.api.screen(ana).answers) == 1


async def test_telegram_a14_unknown_updates_are_skipped_and_the_next_is_answered(bot) -> None:
    api, ana = bot.api, bot.api.person("Ana")
    api.world.updates.allowed = None
    api.inject({"widget_query": {"id": "1", "from": {"id": 5}}})
    await bot.until(lambda: not api.waiting)
    message = ana.says("hello").as_json()
    for broken in (
        {**message, "entities": [{"type": "of_tomorrow", "offset": 0, "length": 2}]},
        {**message, "chat": {"id": "x"}},
        {**message, "from": None},
        {key: value for key, value in message.items() if key != "date"},
    ):
        api.inject({"message": {**broken, "message_id": 900}})
    api.inject({"callback_query": {"id": "q", "from": message["from"], "inline_message_id": "i", "data": "d"}})
    ana.says("still there?")
    await bot.until(lambda: "You said: still there?" in api.screen(ana).answers)
    await bot.idle()
    assert not bot.running.done()


async def test_telegram_a14_an_update_of_an_impossible_time_is_skipped_by_every_process(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    stores = kept_stores()
    message = ana.says("hello").as_json()
    api.inject({"message": {**message, "message_id": 900, "date": 10**17}})
    for _ in range(2):  # also when it is found in the inbox by the next process
        async with bots(api, **{**stores, "clock": Impatient()}) as bot:
            await api.answers(ana, 1, 60)
            await bot.idle()
    assert api.screen(ana).answers == ["You said: hello"]
    assert any(outcome.startswith("skipped") for outcome in stores["inbox"].outcomes.values())


async def test_telegram_a15_a_poison_update_is_tried_three_times_then_told_and_the_next_is_answered(
    bots, api: FakeBotApi
) -> None:
    ana = api.person("Ana")
    tries = 0
    async with bots(api, clock=Impatient()) as bot:

        async def answer(request: ModelRequest) -> str | Reply:
            nonlocal tries
            if request.question == "poison":
                tries += 1
                raise RuntimeError("it broke")
            return f"You said: {request.messages[-1].content}"

        bot.model.answer = answer
        ana.says("poison")
        await api.answers(ana, 1, 60)
        ana.says("hello")
        given_up, hello = await api.answers(ana, 2, 60)
        await bot.idle()
    assert tries == 3
    assert given_up.startswith("I tried three times and could not answer this")
    assert hello == "You said: hello"
    assert any("it broke" in notice for notice in bot.notices)


class Impatient(SystemClock):
    """The machine's time, with pauses of under ten seconds left out."""

    def __init__(self) -> None:
        super().__init__("UTC")

    async def sleep(self, seconds: float) -> None:
        """Wait only where it is long."""
        await super().sleep(seconds if seconds >= 10 else 0.01)


async def test_telegram_a15_an_update_that_ended_the_process_three_times_is_put_aside(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    stores = kept_stores()
    ana.says("the message of death")
    (taken,) = await stores["inbox"].take("telegram:4242", [_arrival(api)])
    for _ in range(3):
        await stores["inbox"].begin([taken.id])
    async with bots(api, **stores) as bot:
        (told,) = await api.answers(ana, 1, 60)
        await bot.idle()
        assert told.startswith("I tried three times and could not answer this")
        assert bot.model.requests == []
        assert stores["inbox"].outcomes[taken.id].startswith("parked")


async def test_telegram_a17_a_group_that_becomes_a_supergroup_keeps_its_leave_and_its_memory(
    bots, api: FakeBotApi
) -> None:
    ana = api.person("Ana")
    group = api.group("Home", ana, supergroup=False)
    stores = kept_stores()
    async with bots(api, **stores) as bot:
        ana.at(group).says("/allow@goat_bot")
        await api.answers(group, 1, 60)
        ana.at(group).says("@goat_bot the key is under the mat")
        await api.answers(group, 2, 60)
        await bot.idle()
        new = api.migrate(group)
        ana.at(new).says("@goat_bot hello")
        await api.answers(new, 1, 60)
        await bot.idle()
        owner = f"telegram:{group.id}"
        last = await stores["journal"].recent(owner, f"telegram:{new.id}", 5)
        assert last[0].text == "@goat_bot hello"
        assert await stores["journal"].recent(f"telegram:{new.id}", f"telegram:{new.id}", 5) == []


async def test_telegram_a17_an_answer_on_its_way_follows_the_group_and_arrives_once(bots, api: FakeBotApi) -> None:
    ana = api.person("Ana")
    group = api.group("Home", ana, supergroup=False)
    async with bots(api, groups=(str(group.id),)) as bot:
        go_on = asyncio.Event()

        async def answer(_: ModelRequest) -> str:
            await go_on.wait()
            return "Here it is."

        bot.model.answer = answer
        ana.at(group).says("@goat_bot fetch it")
        await bot.until(lambda: bot.model.requests)
        new = api.migrate(group)
        go_on.set()
        assert await api.answers(new, 1, 60) == ["Here it is."]
        await bot.idle()
        assert api.screen(new).answers == ["Here it is."]


async def test_telegram_a18_a_chat_that_shut_the_bot_out_is_given_up_and_the_others_go_on(
    bots, api: FakeBotApi
) -> None:
    ana, ben = api.person("Ana"), api.person("Ben")
    async with bots(api, guests=(str(ben.id),)) as bot:
        go_on = asyncio.Event()

        async def answer(request: ModelRequest) -> str:
            await go_on.wait()
            return "Done."

        bot.model.answer = answer
        ana.says("/whoami")  # a bot may write only to somebody who has opened it
        await api.answers(ana, 1, 60)
        ben.says("do it")
        await bot.until(lambda: bot.model.requests)
        ben.blocks_bot()
        go_on.set()
        await bot.until(lambda: any("nothing can be said in" in notice for notice in bot.notices))
        ana.says("hello")
        await bot.until(lambda: "Done." in api.screen(ana).answers)
        await bot.idle()
        sent = [call for call in api.calls_of("sendMessage") if str(call.params["chat_id"]) == str(ben.id)]
        assert len(sent) <= 1
        await bot.until(lambda: any("could not be delivered" in text for text in api.screen(ana).answers))


async def test_f_b67_an_edited_message_is_taken_for_what_it_is(bot) -> None:
    ana = bot.api.person("Ana")
    message = ana.says("what is 2 + 2?")
    await bot.api.answers(ana, 1, 60)
    ana.edits(message, "what is 2 + 3?")
    assert "what is 2 + 3?" in (await bot.api.answers(ana, 2, 60))[1]
    photo = ana.sends_photo(caption="look")
    await bot.idle()
    ana.edits(photo, "look there")
    ana.says("and now?")
    await bot.until(lambda: any("and now?" in text for text in bot.api.screen(ana).answers))
    assert not bot.notices


async def test_o42_the_bot_ends_in_order_and_leaves_nothing_running(bots, api: FakeBotApi, tmp_path: Path) -> None:
    before = {task for task in asyncio.all_tasks() if not task.done()}
    async with bots(api) as bot:
        ana = api.person("Ana")
        ana.says("hello")
        await api.answers(ana, 1, 60)
        await bot.idle()
        await bot.end()
        assert not bot.running.cancelled()
        assert bot.running.exception() is None
        left = {task.get_name() for task in asyncio.all_tasks() if not task.done()} - {
            task.get_name() for task in before
        }
        assert not any(name.startswith(("lane", "turn", "deliver", "typing", "receiving", "update")) for name in left)
