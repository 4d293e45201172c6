"""An answer while it is written, and what of it stands in the chat in the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from goat.interfaces.telegram.address import CHANNEL, Address
from goat.interfaces.telegram.envelope import Envelope
from goat.records.deliveries import Outcome, Preview
from goat.testing.bot_api import Fault, Person

WORDS = "These are the words of an answer that is long enough to be shown before it is complete. "


class Written:
    """A turn whose answer is being written."""

    def __init__(self, desk: Any, egress: Any, live: Any, address: Address, envelope: Envelope) -> None:
        self.desk = desk
        self.live = live
        self.text = ""
        self._egress = egress
        self._address = address
        self._envelope = envelope

    async def writes(self, piece: str) -> None:
        """The model writes; then the time until the next change passes, however long it is."""
        self.text += piece
        self.live.on_text(piece)
        await self.desk.asleep(1)
        self.desk.clock.move(60)

    async def shows(self, count: int) -> None:
        """Wait until the preview was shown or changed so many times in all."""
        calls = lambda: len(self.desk.api.calls_of("sendMessage")) + len(self.desk.api.calls_of("editMessageText"))  # noqa: E731
        await self.desk.until(lambda: calls() >= count)

    async def commits(self) -> None:
        """The answer is complete and kept."""
        await self.desk.commit(self._address, self.text, self._envelope)


@asynccontextmanager
async def turn(desk: Any, egress: Any, to: Person, name: str = "t", **envelope: Any) -> AsyncIterator[Written]:
    """A turn that answers somebody where he is."""
    address, sent = Address(to.chat.id, to.topic), Envelope(turn=name, **envelope)
    async with egress.turn(str(address.chat), address, sent) as live:
        yield Written(desk, egress, live, address, sent)


def failed(desk: Any) -> list[int]:
    return [call.status for call in desk.api.calls_of("editMessageText") if call.status != 200]


async def test_an_answer_grows_in_one_message(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            await written.writes(WORDS)
            await desk.until(lambda: desk.api.screen(ana).answers == [WORDS.strip()])
            await written.writes("**And more.** ")
            await desk.until(lambda: desk.api.screen(ana).answers == [f"{WORDS}And more."])
            await written.writes("The end.")
            await written.commits()
        await desk.delivered(egress)
    [seen] = [seen for seen in desk.api.screen(ana).messages if seen.from_bot]
    assert seen.text == f"{WORDS}And more. The end."
    assert seen.marked("bold") == ["And more."]


async def test_a_short_answer_is_sent_once(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            await written.writes("Yes.")
            await written.commits()
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == ["Yes."]
    assert len(desk.api.calls_of("sendMessage")) == 1
    assert desk.api.calls_of("editMessageText") == []


async def test_a_private_chat_is_changed_each_second_and_a_group_every_three(desk: Any, ana: Person) -> None:
    group = desk.api.group("Group", ana)
    async with desk.egress() as egress:
        for place, seconds in ((ana, 1.0), (ana.at(group), 3.0)):
            async with turn(desk, egress, place, name=str(seconds)) as written:
                await desk.until(lambda: desk.clock.waits == [4.0])  # typing alone
                written.live.on_text(WORDS)
                for _ in range(2):
                    await desk.until(lambda wait=seconds: min(desk.clock.waits) == wait)
                    desk.clock.move(seconds)
                    desk.clock.move(4)
                    await written.shows(1)


async def test_the_newest_text_wins(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            await written.writes(WORDS)
            await written.shows(1)
            desk.api.fails("editMessageText", Fault.slow(0.2))
            await written.writes("1 ")
            await desk.until(lambda: len(desk.api.calls_of("editMessageText")) == 1)
            for number in range(2, 50):
                written.text += f"{number} "
                written.live.on_text(f"{number} ")
            await desk.asleep(1)
            desk.clock.move(60)
            await desk.until(lambda: desk.api.screen(ana).answers == [written.text.strip()])
            await written.commits()
        await desk.delivered(egress)
    assert (
        len(desk.api.calls_of("editMessageText")) == 3
    )  # the slow one, the newest, and the last, which changes nothing


async def test_telegram_b14_edits_that_are_put_off_are_left_out_and_the_final_text_arrives(
    desk: Any, ana: Person
) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            await written.writes(WORDS)
            await written.shows(1)
            for number in range(6):
                if number % 2:
                    desk.api.fails("editMessageText", Fault.too_many(5))
                before = len(desk.api.calls_of("editMessageText"))
                await written.writes(f"{number} ")
                await desk.until(lambda count=before: len(desk.api.calls_of("editMessageText")) > count)
            assert failed(desk) == [429] * 3
            assert max(desk.clock.waits) >= 5  # what was put off waits as long as it was told to, and more
            await written.commits()
        desk.clock.move(60)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [written.text.strip()]


async def test_telegram_b14_a_final_edit_that_is_put_off_comes_later(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            await written.writes(WORDS)
            await written.shows(1)
            written.text += "The end."
            await written.commits()
            desk.api.fails("editMessageText", Fault.too_many(30), calls=2)
        for _ in range(2):
            await desk.asleep(30)
            assert desk.api.screen(ana).answers == [WORDS.strip()]
            desk.clock.move(30)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [f"{WORDS}The end."]


async def test_telegram_b15_of_a_long_answer_exactly_its_parts_remain(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            for number in range(30):
                before = len(desk.api.calls)
                await written.writes(f"Paragraph {number}. " + "x" * 180 + "\n\n")
                if number < 15:
                    await desk.until(lambda count=before: len(desk.api.calls) > count)
            await written.commits()
        await desk.delivered(egress)
    answers = desk.api.screen(ana).answers
    assert [len(answer) > 1000 for answer in answers] == [True, True]
    assert "\n\n".join(answers) == written.text.strip()


async def test_telegram_b15_an_answer_that_becomes_a_file_leaves_no_preview(desk: Any, ana: Person) -> None:
    code = "```python\n" + "print('some line')\n" * 1000 + "```"
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            await written.writes(code[:1000])
            await written.shows(1)
            assert len(desk.api.screen(ana).answers) == 1
            written.text = code
            await written.commits()
        await desk.delivered(egress)
    [seen] = [seen for seen in desk.api.screen(ana).messages if seen.from_bot]
    assert (seen.media.kind, seen.text) == ("document", "")


@pytest.mark.parametrize("failure", [RuntimeError("the model fell over"), asyncio.CancelledError()])
async def test_what_was_written_before_a_failure_stays_and_says_that_it_is_cut(
    desk: Any, ana: Person, failure: BaseException
) -> None:
    async with desk.egress() as egress:
        with pytest.raises(type(failure)):
            async with turn(desk, egress, ana) as written:
                await written.writes(WORDS)
                await written.shows(1)
                raise failure
        await egress.say(str(ana.id), Address(ana.id), "That did not work.")
        await desk.answer(egress, ana, "The next answer.", Envelope(turn="u"))
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [f"{WORDS.strip()} […]", "That did not work.", "The next answer."]


async def test_a_preview_of_a_killed_process_becomes_the_answer_of_its_turn(desk: Any, ana: Person) -> None:
    preview = await desk.client.send_text(Address(ana.id), "These are")
    await desk.outbox.keep_preview(CHANNEL, str(ana.id), Address(ana.id).name, Preview("t", preview))
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            await written.writes(WORDS)
            await desk.until(lambda: desk.api.screen(ana).answers == [WORDS.strip()])
            await written.writes("The end.")
            await written.commits()
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [f"{WORDS}The end."]
    assert desk.api.screen(ana).last.id == preview


async def test_the_preview_of_another_turn_is_left_alone(desk: Any, ana: Person) -> None:
    preview = await desk.client.send_text(Address(ana.id), "An older answer, cut off")
    await desk.outbox.keep_preview(CHANNEL, str(ana.id), Address(ana.id).name, Preview("older", preview))
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            await written.writes(WORDS)
            await written.shows(2)
            await written.commits()
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == ["An older answer, cut off", WORDS.strip()]


async def test_a_preview_waits_until_the_answer_before_is_delivered(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana, name="1") as first:
            await first.writes(WORDS)
            await first.shows(1)
            await first.commits()
            desk.api.fails("editMessageText", Fault.too_many(500))
        await desk.asleep(500)
        async with turn(desk, egress, ana, name="2") as second:
            second.live.on_text("Second: " + WORDS)
            second.text = "Second: " + WORDS
            await desk.asleep(1)
            desk.clock.move(5)
            await second.commits()
        assert desk.api.screen(ana).answers == [WORDS.strip()]
        desk.clock.move(500)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [WORDS.strip(), f"Second: {WORDS}".strip()]


@pytest.mark.parametrize(
    ("fault", "answers"),
    [
        (Fault.error(400, "Bad Request: NO_PREVIEWS_HERE"), ["the end"]),
        (Fault.drop(), ["the end"]),
        (Fault.page(500), ["the end"]),
    ],
)
async def test_a_preview_that_fails_is_given_up_and_the_answer_comes(
    desk: Any, ana: Person, fault: Fault, answers: list[str]
) -> None:
    desk.api.fails("sendMessage", fault)
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            await written.writes(WORDS)
            await written.shows(1)
            await written.desk.until(lambda: desk.api.calls_of("sendMessage")[0].error or fault.way == "drop")
            written.text = "the end"
            await written.commits()
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == answers
    assert len(desk.api.calls_of("sendMessage")) == 2


async def test_a_preview_that_somebody_deleted_is_replaced_by_the_answer(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            await written.writes(WORDS)
            await written.shows(1)
            ana.deletes(desk.api.screen(ana).last)
            await written.commits()
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [WORDS.strip()]
    assert await desk.undelivered() == []


async def test_a_final_edit_whose_outcome_is_unknown_is_repeated(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            await written.writes(WORDS)
            await written.shows(1)
            written.text += "The end."
            await written.commits()
            desk.api.fails("editMessageText", Fault.drop().after_effect())
            desk.api.fails("editMessageText", Fault.page(502))
        for seconds in (0.75, 1.5):
            await desk.asleep(seconds)
            desk.clock.move(60)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [f"{WORDS}The end."]
    assert await desk.undelivered() == []


async def test_a_final_edit_that_never_gets_an_answer_is_given_up_as_unknown(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            await written.writes(WORDS)
            await written.shows(1)
            written.text += "The end."
            await written.commits()
            desk.api.fails("editMessageText", Fault.page(502), calls=None)
        await desk.answer(egress, ana, "next")
        for _ in range(10):
            await desk.asleep(0.75)
            desk.clock.move(100)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [WORDS.strip(), "next"]
    assert [outcome for outcome, _ in await desk.outcomes()] == [Outcome.UNKNOWN]


async def test_in_a_group_the_preview_replies_to_the_question_already(desk: Any, ana: Person) -> None:
    there = ana.at(desk.api.group("Group", ana))
    question = there.says("a question")
    async with desk.egress() as egress:
        async with turn(desk, egress, there, reply_to=question.id) as written:
            await written.writes(WORDS)
            await written.shows(1)
            await written.commits()
        await desk.delivered(egress)
    [seen] = [seen for seen in desk.api.screen(there).messages if seen.from_bot]
    assert (seen.text, seen.reply_to) == (WORDS.strip(), question.id)
