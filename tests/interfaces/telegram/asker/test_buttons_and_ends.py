"""Questions about tools, put to a person by buttons, and how they end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from goat.adapters.working_memory import MemoryWorkingStore
from goat.errors import BackendUnavailable
from goat.interfaces.telegram.address import Address
from goat.interfaces.texts import texts_for
from goat.records.tools import Verdict
from goat.testing.bot_api import FakeBotApi, Fault, Person


class Full(MemoryWorkingStore):
    """A working store whose disk fills up when the test says so."""

    full = False

    async def get(self, key: str) -> Any:
        """Fail once the disk is full."""
        if self.full:
            raise BackendUnavailable("WorkingStore", "SQLite", "the disk is full")
        return await super().get(key)


SECRET = "sk-or-v1-0123456789abcdef0123456789"


async def test_a_question_shows_the_whole_call_and_a_yes_lets_it_run(room: Any, ana: Person) -> None:
    call = await room.asks(ana, "ls -l *_notes.md")
    (prompt,) = room.prompts(ana)
    assert prompt.text == "May this run?\n\nshell\n  command: ls -l *_notes.md"
    assert prompt.marked("pre") == ["shell\n  command: ls -l *_notes.md"]
    assert prompt.buttons == (("✅ Yes", "✖️ No"),)
    assert await room.pressed(ana.taps(prompt, "✅ Yes")) == ""
    assert (await call).refusal == ""
    assert room.approvals.verdicts == {1: Verdict.YES}
    (ended,) = room.api.screen(ana).messages[1:]
    assert ended.text == "May this run?\n\nshell\n  command: ls -l *_notes.md\n\n✅ Allowed."
    assert ended.buttons == ()
    assert ended.marked("pre") == ["shell\n  command: ls -l *_notes.md"]


async def test_a_no_runs_nothing_and_says_so(room: Any, ana: Person) -> None:
    call = await room.asks(ana)
    await room.pressed(ana.taps(room.prompts(ana)[0], "✖️ No"))
    assert "answered with no" in (await call).refusal
    assert room.api.screen(ana).last.text.endswith("\n\n✖️ Not allowed, nothing was run.")


async def test_a_question_is_put_in_the_persons_language(room: Any, api: FakeBotApi) -> None:
    ion = api.person("Ion", language="ro")
    ion.starts()
    await room.asks(ion, "rm x")
    (prompt,) = room.prompts(ion)
    assert prompt.text.startswith("Pot rula asta?")
    assert prompt.text.endswith("Atenție: șterge.")
    assert prompt.buttons == (("✅ Da", "✖️ Nu"),)


async def test_telegram_f1_after_a_restart_a_question_says_that_it_expired(room: Any, ana: Person) -> None:
    await room.asks(ana)
    old = room.prompts(ana)[0].message
    data = str(old.buttons[0][0]["callback_data"])
    room.kill()
    assert len(await room.policy.expire_left()) == 1
    await room.asker.expire_left()
    assert room.api.screen(ana).last.text.endswith("⌛ Expired because I was restarted; nothing was run. Ask again.")
    assert room.prompts(ana) == []
    assert await room.pressed(ana.presses(data, old)) == "This question is closed."
    assert room.approvals.verdicts == {1: Verdict.EXPIRED}
    await room.asker.expire_left()
    assert len(room.api.calls_of("editMessageText")) == 1


async def test_telegram_f1_a_tap_below_a_question_that_was_lost_takes_its_buttons_away(room: Any, ana: Person) -> None:
    await room.asks(ana)
    await room.store.delete("telegram:prompts")  # as if it had been killed before it was written down
    room.kill()
    await room.asker.expire_left()
    assert await room.pressed(ana.taps(room.prompts(ana)[0], "✅ Yes")) == "This question is closed."
    assert room.prompts(ana) == []


async def test_telegram_f2_a_tap_after_the_time_changes_nothing(room: Any, ana: Person) -> None:
    call = await room.asks(ana)
    old = room.prompts(ana)[0].message
    data = str(old.buttons[0][0]["callback_data"])
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert room.approvals.verdicts == {1: Verdict.CANCELLED}
    assert room.api.screen(ana).last.text.endswith("✖️ Cancelled, nothing was run.")
    assert await room.pressed(ana.presses(data, old)) == "This question is closed."
    assert room.api.screen(ana).last.text.endswith("✖️ Cancelled, nothing was run.")
    assert room.approvals.verdicts == {1: Verdict.CANCELLED}


async def test_telegram_f2_a_yes_that_came_too_late_is_shown_as_expired(room: Any, ana: Person) -> None:
    call = await room.asks(ana)
    room.clock.move(3601)
    await room.pressed(ana.taps(room.prompts(ana)[0], "✅ Yes"))
    assert "not answered in time" in (await call).refusal
    assert room.api.screen(ana).last.text.endswith("⌛ Expired, nothing was run.")


async def test_telegram_f2_of_two_taps_the_first_counts(room: Any, ana: Person) -> None:
    call = await room.asks(ana)
    prompt = room.prompts(ana)[0]
    yes, no = (str(button["callback_data"]) for button in prompt.message.buttons[0])
    await room.pressed(ana.presses(no, prompt.message))
    assert await room.pressed(ana.presses(yes, prompt.message)) == "This question is closed."
    assert (await call).refusal
    assert room.approvals.verdicts == {1: Verdict.NO}


async def test_telegram_f3_a_question_is_put_where_the_turn_is(room: Any, api: FakeBotApi, ana: Person) -> None:
    forum = api.forum("Club", ana, topics=("Boats",))
    await room.asks(ana.at(forum, api.topic(forum, "Boats")))
    assert api.screen(forum, api.topic(forum, "Boats")).last.buttons
    assert api.screen(ana).answers == []


async def test_telegram_f3_a_question_of_no_turn_goes_to_the_chat_of_its_owner(room: Any, ana: Person) -> None:
    call = asyncio.create_task(room.settle(Address(ana.id)))
    await room.api.until(lambda: bool(room.prompts(ana)), 30)
    await room.pressed(ana.taps(room.prompts(ana)[0], "✅ Yes"))
    assert (await call).refusal == ""


@pytest.mark.parametrize(
    "fault",
    [Fault.error(403, "Forbidden: bot was blocked by the user"), Fault.drop(), Fault.page(502)],
    ids=["blocked", "dropped", "no JSON"],
)
async def test_telegram_f3_a_question_that_cannot_be_put_runs_nothing(room: Any, ana: Person, fault: Fault) -> None:
    room.api.fails("sendMessage", fault)
    assert "nobody could be asked" in (await room.settle(Address(ana.id))).refusal
    assert room.approvals.verdicts == {1: Verdict.EXPIRED}
    assert room.paused == []


async def test_telegram_f3_a_question_waits_while_telegram_wants_to_be_left_alone(room: Any, ana: Person) -> None:
    room.api.fails("sendMessage", Fault.too_many(1))
    await room.asks(ana)
    assert len(room.prompts(ana)) == 1


async def test_telegram_f3_nobody_types_while_a_question_waits(room: Any, ana: Person) -> None:
    call = await room.asks(ana)
    assert room.paused == [Address(ana.id)]
    await room.pressed(ana.taps(room.prompts(ana)[0], "✅ Yes"))
    await call
    assert room.paused == []


async def test_telegram_f5_a_secret_is_blacked_out_and_the_whole_call_is_what_is_approved(
    room: Any, ana: Person
) -> None:
    call = await room.asks(ana, f"curl -H 'Authorization: {SECRET}' x")
    assert all(SECRET not in text for text in room.api.screen(ana).texts)
    assert all(SECRET not in str(one.params) for one in room.api.calls)
    (question,) = await room.approvals.waiting()
    await room.pressed(ana.taps(room.prompts(ana)[0], "✅ Yes"))
    prepared = await call
    assert prepared.digest == question.digest
    assert prepared.arguments["command"].count(SECRET) == 1


async def test_a_call_too_long_for_one_message_is_shown_whole(room: Any, ana: Person) -> None:
    command = "👍 " * 1_900
    await room.asks(ana, command)
    shown = "".join(text.removeprefix("May this run?\n\n") for text in room.api.screen(ana).answers)
    assert shown.replace("shell\n  command: ", "").count("👍") == 1_900
    sent = [one for one in room.api.screen(ana).messages if one.from_bot]
    assert len(sent) > 1
    assert [bool(one.buttons) for one in sent] == [one is sent[-1] for one in sent]


async def test_telegram_f7_in_a_group_only_the_asker_and_the_admin_decide(
    room: Any, api: FakeBotApi, ana: Person
) -> None:
    ben, boss = api.person("Ben"), api.person("Boss")
    room.admin = boss.id
    crew = api.group("Crew", ana, ben, boss)
    call = await room.asks(ana.at(crew), owner=f"telegram:{crew.id}")
    (prompt,) = room.prompts(ana.at(crew))
    assert await room.pressed(ben.at(crew).taps(prompt, "✅ Yes")) == "This is for somebody else to decide."
    ben.at(crew).says("yes")
    assert room.typed() is None
    ben.at(crew).replies_to(prompt, "yes")
    assert room.typed() is None
    assert not call.done()
    await room.pressed(boss.at(crew).taps(prompt, "✅ Yes"))
    assert (await call).refusal == ""


async def test_open_questions_are_put_again_one_in_a_message(room: Any, ana: Person) -> None:
    one, two = await room.asks(ana, "one"), await room.asks(ana, "two")
    assert await room.asker.again(Address(ana.id), 5, texts_for("en")) == 0
    assert await room.asker.again(Address(ana.id), ana.id, texts_for("en")) == 2
    copies = room.prompts(ana)[2:]
    assert [copy.text.splitlines()[-1] for copy in copies] == ["  command: one", "  command: two"]
    assert [copy.marked("pre") for copy in copies] == [["shell\n  command: one"], ["shell\n  command: two"]]
    assert [copy.buttons for copy in copies] == [(("✅ Yes", "✖️ No"),)] * 2
    await room.pressed(ana.taps(copies[1], "✅ Yes"))
    assert (await two).refusal == ""
    assert [prompt.text.splitlines()[-1] for prompt in room.prompts(ana)] == ["  command: one"] * 2
    ana.replies_to(copies[0], "no")
    assert room.typed() == ""
    assert (await one).refusal
    assert room.prompts(ana) == []
    endings = [text.splitlines()[-1] for text in room.api.screen(ana).answers]
    assert endings == ["✖️ Not allowed, nothing was run.", "✅ Allowed."] * 2
    assert await room.asker.again(Address(ana.id), ana.id, texts_for("en")) == 0


async def test_a_long_question_is_put_again_whole(room: Any, ana: Person) -> None:
    await room.asks(ana, "👍 " * 1_900)
    once = room.api.screen(ana).answers
    assert await room.asker.again(Address(ana.id), ana.id, texts_for("en")) == 1
    assert room.api.screen(ana).answers == once * 2


async def test_a_message_that_cannot_be_changed_any_more_stops_nothing(room: Any, ana: Person) -> None:
    call = await room.asks(ana)
    room.api.fails("editMessageText", Fault.error(400, "Bad Request: message to edit not found"))
    await room.pressed(ana.taps(room.prompts(ana)[0], "✅ Yes"))
    assert (await call).refusal == ""
    assert not room.asker.reaches("admin", "terminal")


async def test_a_store_that_is_away_is_told_when_a_question_ends_and_the_call_runs(room: Any, ana: Person) -> None:
    room.store = Full(room.clock)
    room.kill()
    call = await room.asks(ana)
    room.store.full = True
    ana.says("yes")
    assert room.typed() == ""
    assert (await call).refusal == ""
    assert room.api.screen(ana).answers[-1].endswith("✅ Allowed.")
    [notice] = room.notices
    assert notice.subject == "Telegram"
    assert notice.text == (
        "The end of question 1 is not kept; the next start shows it as expired. "
        "WorkingStore (SQLite) cannot be used: the disk is full"
    )


async def test_a_store_that_is_away_at_the_start_is_told_and_the_start_goes_on(room: Any, ana: Person) -> None:
    room.store = Full(room.clock)
    room.kill()
    await room.asks(ana)
    room.kill()
    room.store.full = True
    await room.asker.expire_left()
    [notice] = room.notices
    assert notice.text == (
        "Questions that the last restart closed may still show their buttons; a press says that they are closed. "
        "WorkingStore (SQLite) cannot be used: the disk is full"
    )
    assert len(room.prompts(ana)) == 1
