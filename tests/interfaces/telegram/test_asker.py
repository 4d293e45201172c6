"""Questions about tools, put to a person by buttons."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.approvals_memory import MemoryApprovals
from goat.adapters.working_memory import MemoryWorkingStore
from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.asker import TelegramAsker
from goat.interfaces.telegram.buttons import Buttons
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.message import Me, Message, Sender, Tap, read_update
from goat.interfaces.texts import texts_for
from goat.records.models import ToolCall
from goat.records.tools import Verdict
from goat.testing.bot_api import FakeBotApi, Fault, Person
from goat.testing.bot_api import Tap as Press
from goat.testing.clock import FakeClock
from goat.tools import ToolContext, ToolDefinition, tool
from goat.tools.calls import Prepared, prepare
from goat.tools.policy import Askers, Policy, Rules
from goat.tools.redact import Redactor
from goat.tools.toolbox import Toolbox

SECRET = "sk-or-v1-0123456789abcdef0123456789"


@tool(permission="ask")
async def shell(command: str) -> str:
    """Run a command."""
    return command


RISKY = replace(shell, risk=lambda arguments: "it deletes files" if "rm" in arguments["command"] else "")


class Room:
    """A policy that asks on Telegram. What the process keeps in memory is lost by `kill`, the rest is not."""

    def __init__(self, api: FakeBotApi, client: TelegramClient, folder: Path) -> None:
        self.api = api
        self.client = client
        self.clock = FakeClock()
        self.store = MemoryWorkingStore(self.clock)
        self.approvals = MemoryApprovals()
        self.admin = 0
        self.paused: list[Address] = []
        self._waits = asyncio.Event()
        self._folder = folder
        self._read: set[int] = set()
        self._tasks: list[asyncio.Task[Prepared]] = []
        self._killed: list[asyncio.Task[Prepared]] = []
        self.kill()

    async def end(self) -> None:
        """Let nothing of it run on."""
        for task in (tasks := [*self._tasks, *self._killed]):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def kill(self) -> None:
        """Begin with what a killed process leaves: its calls are gone without a word."""
        self._killed += self._tasks
        self._tasks = []
        self.buttons = Buttons(self.store, self.client, lambda user: user == self.admin)
        self.asker = TelegramAsker(self.client, self.buttons, self.store, lambda user: user == self.admin, self._quiet)
        askers = Askers()
        askers.attach(self.asker)
        self.policy = Policy(Rules(), self.approvals, askers, self.clock, Redactor(), 3600)

    @contextmanager
    def _quiet(self, address: Address) -> Iterator[None]:
        self.paused.append(address)
        self._waits.set()
        try:
            yield
        finally:
            self.paused.remove(address)

    async def asks(
        self, place: Person, command: str = "ls", owner: str = "admin", tool: ToolDefinition = shell
    ) -> asyncio.Task[Prepared]:
        """Let a call be made in a place and wait until the question stands there."""
        address = Address(place.chat.id, place.topic)
        context = ToolContext(owner, address.name, self._folder, self.clock, admin=True)
        made = prepare(ToolCall("c", tool.name, _arguments(command)), Toolbox.of([tool]), False)
        self._waits.clear()

        async def settled() -> Prepared:
            with self.asker.turn(address, Sender(place.id, place.user.first_name, language=place.user.language or "")):
                return await self.policy.settle(made, context)

        self._tasks.append(asyncio.create_task(settled()))
        async with asyncio.timeout(30):
            await self._waits.wait()
        return self._tasks[-1]

    def arrived(self) -> list[Message | Tap]:
        """What came since the last look."""
        me = Me(self.api.bot.id, "goat_bot")
        new = [one for one in self.api.waiting if one.id not in self._read]
        self._read |= {one.id for one in new}
        read = [read_update(one.body, me) for one in new]
        return [one for one in read if isinstance(one, Message | Tap)]

    async def pressed(self, press: Press) -> str:
        """Handle the newest press; what the presser is told."""
        tap = self.arrived()[-1]
        assert isinstance(tap, Tap)
        await self.buttons.tapped(tap)
        return "" if press.answer is None else str(press.answer.get("text", ""))

    def typed(self) -> str | None:
        """Handle the newest message as a possible answer."""
        message = self.arrived()[-1]
        assert isinstance(message, Message)
        return self.asker.typed(message)


def _arguments(command: str) -> str:
    return json.dumps({"command": command})


@pytest.fixture
async def room(api: FakeBotApi, client: TelegramClient, tmp_path: Path) -> AsyncIterator[Room]:
    room = Room(api, client, tmp_path)
    yield room
    await room.end()


@pytest.fixture
def ana(api: FakeBotApi, room: Room) -> Person:
    ana = api.person("Ana")
    ana.starts()
    room.arrived()
    return ana


def prompts(room: Room, place: Person) -> list[Any]:
    """The questions that stand in a place with buttons."""
    return [one for one in room.api.screen(place).messages if one.buttons]


async def test_a_question_shows_the_whole_call_and_a_yes_lets_it_run(room: Room, ana: Person) -> None:
    call = await room.asks(ana, "ls -l *_notes.md")
    (prompt,) = prompts(room, ana)
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


async def test_a_no_runs_nothing_and_says_so(room: Room, ana: Person) -> None:
    call = await room.asks(ana)
    await room.pressed(ana.taps(prompts(room, ana)[0], "✖️ No"))
    assert "answered with no" in (await call).refusal
    assert room.api.screen(ana).last.text.endswith("\n\n✖️ Not allowed, nothing was run.")


async def test_a_question_is_put_in_the_persons_language(room: Room, api: FakeBotApi) -> None:
    ion = api.person("Ion", language="ro")
    ion.starts()
    await room.asks(ion, "rm x", tool=RISKY)
    (prompt,) = prompts(room, ion)
    assert prompt.text.startswith("Pot rula asta?")
    assert prompt.text.endswith("Atenție: it deletes files.")
    assert prompt.buttons == (("✅ Da", "✖️ Nu"),)


async def test_telegram_f1_after_a_restart_a_question_says_that_it_expired(room: Room, ana: Person) -> None:
    await room.asks(ana)
    old = prompts(room, ana)[0].message
    data = str(old.buttons[0][0]["callback_data"])
    room.kill()
    assert len(await room.policy.expire_left()) == 1
    await room.asker.expire_left()
    assert room.api.screen(ana).last.text.endswith("⌛ Expired because I was restarted; nothing was run. Ask again.")
    assert prompts(room, ana) == []
    assert await room.pressed(ana.presses(data, old)) == "This question is closed."
    assert room.approvals.verdicts == {1: Verdict.EXPIRED}
    await room.asker.expire_left()
    assert len(room.api.calls_of("editMessageText")) == 1


async def test_telegram_f1_a_tap_below_a_question_that_was_lost_takes_its_buttons_away(room: Room, ana: Person) -> None:
    await room.asks(ana)
    await room.store.delete("telegram:prompts")  # as if it had been killed before it was written down
    room.kill()
    await room.asker.expire_left()
    assert await room.pressed(ana.taps(prompts(room, ana)[0], "✅ Yes")) == "This question is closed."
    assert prompts(room, ana) == []


async def test_telegram_f2_a_tap_after_the_time_changes_nothing(room: Room, ana: Person) -> None:
    call = await room.asks(ana)
    old = prompts(room, ana)[0].message
    data = str(old.buttons[0][0]["callback_data"])
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert room.approvals.verdicts == {1: Verdict.EXPIRED}
    assert room.api.screen(ana).last.text.endswith("⌛ Expired, nothing was run.")
    assert await room.pressed(ana.presses(data, old)) == "This question is closed."
    assert room.api.screen(ana).last.text.endswith("⌛ Expired, nothing was run.")
    assert room.approvals.verdicts == {1: Verdict.EXPIRED}


async def test_telegram_f2_a_yes_that_came_too_late_is_shown_as_expired(room: Room, ana: Person) -> None:
    call = await room.asks(ana)
    room.clock.move(3601)
    await room.pressed(ana.taps(prompts(room, ana)[0], "✅ Yes"))
    assert "not answered in time" in (await call).refusal
    assert room.api.screen(ana).last.text.endswith("⌛ Expired, nothing was run.")


async def test_telegram_f2_of_two_taps_the_first_counts(room: Room, ana: Person) -> None:
    call = await room.asks(ana)
    prompt = prompts(room, ana)[0]
    yes, no = (str(button["callback_data"]) for button in prompt.message.buttons[0])
    await room.pressed(ana.presses(no, prompt.message))
    assert await room.pressed(ana.presses(yes, prompt.message)) == "This question is closed."
    assert (await call).refusal
    assert room.approvals.verdicts == {1: Verdict.NO}


async def test_telegram_f3_a_question_is_put_where_the_turn_is(room: Room, api: FakeBotApi, ana: Person) -> None:
    forum = api.forum("Club", ana, topics=("Boats",))
    await room.asks(ana.at(forum, api.topic(forum, "Boats")))
    assert api.screen(forum, api.topic(forum, "Boats")).last.buttons
    assert api.screen(ana).answers == []


async def test_telegram_f3_a_question_of_no_turn_goes_to_the_chat_of_its_owner(room: Room, ana: Person) -> None:
    context = ToolContext("admin", Address(ana.id).name, Path(), room.clock, admin=True)
    made = prepare(ToolCall("c", "shell", _arguments("ls")), Toolbox.of([shell]), False)
    call = asyncio.create_task(room.policy.settle(made, context))
    await room.api.until(lambda: bool(prompts(room, ana)), 30)
    await room.pressed(ana.taps(prompts(room, ana)[0], "✅ Yes"))
    assert (await call).refusal == ""


@pytest.mark.parametrize(
    "fault",
    [Fault.error(403, "Forbidden: bot was blocked by the user"), Fault.drop(), Fault.page(502)],
    ids=["blocked", "dropped", "no JSON"],
)
async def test_telegram_f3_a_question_that_cannot_be_put_runs_nothing(room: Room, ana: Person, fault: Fault) -> None:
    room.api.fails("sendMessage", fault)
    context = ToolContext("admin", Address(ana.id).name, Path(), room.clock, admin=True)
    made = prepare(ToolCall("c", "shell", _arguments("ls")), Toolbox.of([shell]), False)
    assert "nobody could be asked" in (await room.policy.settle(made, context)).refusal
    assert room.approvals.verdicts == {1: Verdict.EXPIRED}
    assert room.paused == []


async def test_telegram_f3_a_question_waits_while_telegram_wants_to_be_left_alone(room: Room, ana: Person) -> None:
    room.api.fails("sendMessage", Fault.too_many(1))
    await room.asks(ana)
    assert len(prompts(room, ana)) == 1


async def test_telegram_f3_nobody_types_while_a_question_waits(room: Room, ana: Person) -> None:
    call = await room.asks(ana)
    assert room.paused == [Address(ana.id)]
    await room.pressed(ana.taps(prompts(room, ana)[0], "✅ Yes"))
    await call
    assert room.paused == []


@pytest.mark.parametrize("word", ["yes", "Yes!", "да", "ok do it", "OK.", "👍", "da"])
async def test_telegram_f4_a_typed_yes_answers_the_only_question(room: Room, ana: Person, word: str) -> None:
    call = await room.asks(ana)
    ana.says(word)
    assert room.typed() == ""
    assert (await call).refusal == ""


@pytest.mark.parametrize("word", ["no", "No.", "nu", "👎"])
async def test_telegram_f4_a_typed_no_answers_the_only_question(room: Room, ana: Person, word: str) -> None:
    call = await room.asks(ana)
    ana.says(word)
    assert room.typed() == ""
    assert (await call).refusal


@pytest.mark.parametrize("text", ["yes, and also list the hidden ones", "what would it do?", "yesterday", "", "okra"])
async def test_telegram_f4_other_words_are_no_answer(room: Room, ana: Person, text: str) -> None:
    await room.asks(ana)
    if text:
        ana.says(text)
    else:
        ana.sends_photo()
    assert room.typed() is None
    assert len(prompts(room, ana)) == 1


async def test_telegram_f4_without_a_question_a_yes_is_a_message(room: Room, ana: Person) -> None:
    ana.says("yes")
    assert room.typed() is None


async def test_telegram_f4_with_two_questions_a_yes_must_answer_one(room: Room, ana: Person) -> None:
    first, second = await room.asks(ana, "one"), await room.asks(ana, "two")
    ana.says("yes")
    assert "Several questions are open" in (room.typed() or "")
    assert not first.done()
    assert not second.done()
    ana.replies_to(prompts(room, ana)[1], "yes")
    assert room.typed() == ""
    assert (await second).refusal == ""
    ana.says("no")
    assert room.typed() == ""
    assert (await first).refusal


async def test_telegram_f4_a_yes_that_answers_another_message_is_a_message(room: Room, ana: Person) -> None:
    await room.asks(ana)
    ana.replies_to(ana.says("shall we meet?"), "yes")
    assert room.typed() is None


async def test_telegram_f4_a_risk_is_taken_by_the_button_only(room: Room, ana: Person) -> None:
    call = await room.asks(ana, "rm -rf build", tool=RISKY)
    (prompt,) = prompts(room, ana)
    assert prompt.text.endswith("\n\nNote: it deletes files.")
    ana.says("yes")
    assert "press its button" in (room.typed() or "")
    ana.replies_to(prompt, "yes")
    assert "press its button" in (room.typed() or "")
    assert not call.done()
    await room.pressed(ana.taps(prompt, "✅ Yes"))
    assert (await call).refusal == ""


async def test_telegram_f4_a_risk_can_be_refused_by_a_word(room: Room, ana: Person) -> None:
    call = await room.asks(ana, "rm -rf build", tool=RISKY)
    ana.says("no")
    assert room.typed() == ""
    assert (await call).refusal


async def test_telegram_f5_a_secret_is_blacked_out_and_the_whole_call_is_what_is_approved(
    room: Room, ana: Person
) -> None:
    call = await room.asks(ana, f"curl -H 'Authorization: {SECRET}' x")
    assert all(SECRET not in text for text in room.api.screen(ana).texts)
    assert all(SECRET not in str(one.params) for one in room.api.calls)
    (question,) = await room.approvals.waiting()
    await room.pressed(ana.taps(prompts(room, ana)[0], "✅ Yes"))
    prepared = await call
    assert prepared.digest == question.digest
    assert prepared.arguments["command"].count(SECRET) == 1


async def test_a_call_too_long_for_one_message_is_shown_whole(room: Room, ana: Person) -> None:
    command = "👍 " * 1_900
    await room.asks(ana, command)
    shown = "".join(text.removeprefix("May this run?\n\n") for text in room.api.screen(ana).answers)
    assert shown.replace("shell\n  command: ", "").count("👍") == 1_900
    sent = [one for one in room.api.screen(ana).messages if one.from_bot]
    assert len(sent) > 1
    assert [bool(one.buttons) for one in sent] == [one is sent[-1] for one in sent]


async def test_telegram_f7_in_a_group_only_the_asker_and_the_admin_decide(
    room: Room, api: FakeBotApi, ana: Person
) -> None:
    ben, boss = api.person("Ben"), api.person("Boss")
    room.admin = boss.id
    crew = api.group("Crew", ana, ben, boss)
    call = await room.asks(ana.at(crew), owner=f"telegram:{crew.id}")
    (prompt,) = prompts(room, ana.at(crew))
    assert await room.pressed(ben.at(crew).taps(prompt, "✅ Yes")) == "This is for somebody else to decide."
    ben.at(crew).says("yes")
    assert room.typed() is None
    ben.at(crew).replies_to(prompt, "yes")
    assert room.typed() is None
    assert not call.done()
    await room.pressed(boss.at(crew).taps(prompt, "✅ Yes"))
    assert (await call).refusal == ""


async def test_open_questions_can_be_put_again(room: Room, ana: Person) -> None:
    call = await room.asks(ana, "one")
    ((text, (yes, _)),) = await room.asker.again(Address(ana.id), ana.id, texts_for("en"))
    assert "command: one" in text
    assert await room.asker.again(Address(ana.id), 5, texts_for("en")) == []
    await room.pressed(ana.presses(yes.data, prompts(room, ana)[0].message))
    assert (await call).refusal == ""
    assert await room.asker.again(Address(ana.id), ana.id, texts_for("en")) == []


async def test_a_message_that_cannot_be_changed_any_more_stops_nothing(room: Room, ana: Person) -> None:
    call = await room.asks(ana)
    room.api.fails("editMessageText", Fault.error(400, "Bad Request: message to edit not found"))
    await room.pressed(ana.taps(prompts(room, ana)[0], "✅ Yes"))
    assert (await call).refusal == ""
    assert not room.asker.reaches("admin", "terminal")
