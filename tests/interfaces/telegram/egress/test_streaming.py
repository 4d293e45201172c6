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

    def __init__(self, desk: Any, live: Any, place: Person, address: Address, envelope: Envelope) -> None:
        self.desk = desk
        self.live = live
        self.text = ""
        self._place = place
        self._address = address
        self._envelope = envelope

    def writes(self, piece: str) -> None:
        """The model writes."""
        self.text += piece
        self.live.on_text(piece)

    async def shows(self, *answers: str) -> None:
        """Let time pass until these are the bot's messages in the chat; without any, those that were written."""
        wanted = list(answers or [self.text.strip()])
        await self.desk.until(lambda: self.desk.api.screen(self._place).answers == wanted, passing=0.5)

    async def calls(self, method: str, count: int) -> None:
        """Let time pass until a method was called so many times in all."""
        await self.desk.until(lambda: len(self.desk.api.calls_of(method)) >= count, passing=0.5)

    async def commits(self) -> None:
        """The answer is complete and kept."""
        await self.desk.commit(self._address, self.text, self._envelope)


@asynccontextmanager
async def turn(desk: Any, egress: Any, to: Person, name: str = "t", **envelope: Any) -> AsyncIterator[Written]:
    """A turn that answers somebody where he is."""
    address, sent = Address(to.chat.id, to.topic), Envelope(turn=name, **envelope)
    async with egress.turn(str(address.chat), address, sent) as live:
        yield Written(desk, live, to, address, sent)


def failed(desk: Any) -> list[int]:
    return [call.status for call in desk.api.calls_of("editMessageText") if call.status != 200]


async def test_an_answer_grows_in_one_message(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            written.writes(WORDS)
            await written.shows()
            written.writes("**And more.** ")
            await written.shows(f"{WORDS}And more.")
            written.writes("The end.")
            await written.commits()
        await desk.delivered(egress)
    [seen] = [seen for seen in desk.api.screen(ana).messages if seen.from_bot]
    assert seen.text == f"{WORDS}And more. The end."
    assert seen.marked("bold") == ["And more."]


async def test_a_short_answer_is_sent_once(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            written.writes("Yes.")
            await written.calls("sendChatAction", 4)  # some seconds later
            assert desk.api.screen(ana).answers == []
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
                written.writes(WORDS)
                await desk.until(lambda pause=seconds: desk.clock.waits == [pause, 4.0])
                desk.clock.move(seconds)
                await desk.until(lambda there=place: len(desk.api.screen(there).answers) == 1)
                await desk.until(lambda pause=seconds: pause in desk.clock.waits)


async def test_the_newest_text_wins(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            written.writes(WORDS)
            await written.shows()
            desk.api.fails("editMessageText", Fault.slow(0.3))
            written.writes("0 ")
            await written.calls("editMessageText", 1)
            for number in range(1, 50):
                written.writes(f"{number} ")
            await written.shows()
            await written.commits()
        await desk.delivered(egress)
    # the slow one, the newest, and the last, which changes nothing
    assert len(desk.api.calls_of("editMessageText")) == 3


async def test_telegram_b14_edits_that_are_put_off_are_left_out_and_the_final_text_arrives(
    desk: Any, ana: Person
) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            written.writes(WORDS)
            await written.shows()
            for number in range(1, 7):
                if number % 2 == 0:
                    desk.api.fails("editMessageText", Fault.too_many(5))
                written.writes(f"{number} ")
                await written.calls("editMessageText", number)
            await written.commits()
        desk.clock.move(60)
        await desk.delivered(egress)
    assert failed(desk)[:3] == [429] * 3
    assert desk.api.screen(ana).answers == [written.text.strip()]


async def test_telegram_b14_the_time_between_edits_grows_when_they_are_put_off(desk: Any, ana: Person) -> None:
    desk.api.fails("editMessageText", Fault.too_many(2), calls=3)
    async with desk.egress() as egress, turn(desk, egress, ana) as written:
        written.writes(WORDS)
        await written.shows()
        written.writes("more")
        await written.calls("editMessageText", 3)
        await desk.until(lambda: any(4 < wait <= 8 for wait in desk.clock.waits))


async def test_telegram_b14_a_final_edit_that_is_put_off_comes_later(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            written.writes(WORDS)
            await written.shows()
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
                written.writes(f"Paragraph {number}. " + "x" * 180 + "\n\n")
                if number in (3, 9, 15):
                    await written.shows()
            await written.commits()
        await desk.delivered(egress)
    answers = desk.api.screen(ana).answers
    assert [len(answer) > 1000 for answer in answers] == [True, True]
    assert "\n\n".join(answers) == written.text.strip()


async def test_telegram_b15_an_answer_that_becomes_a_file_leaves_no_preview(desk: Any, ana: Person) -> None:
    code = "```python\n" + "print('some line')\n" * 1000 + "```"
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            written.live.on_text(code[:1000])
            await written.calls("sendMessage", 1)
            await desk.until(lambda: len(desk.api.screen(ana).answers) == 1)
            written.text = code
            await written.commits()
        await desk.delivered(egress)
    [seen] = [seen for seen in desk.api.screen(ana).messages if seen.from_bot]
    assert (seen.media.kind, seen.text) == ("document", "")


@pytest.mark.parametrize("failure", [RuntimeError("the model fell over"), asyncio.CancelledError()])
async def test_what_was_written_before_a_failure_stays_and_says_that_it_is_cut(
    desk: Any, ana: Person, failure: BaseException
) -> None:
    async def fails(egress: Any) -> None:
        async with turn(desk, egress, ana) as written:
            written.writes(WORDS)
            await written.shows()
            raise failure

    async with desk.egress() as egress:
        with pytest.raises(type(failure)):
            await fails(egress)
        await egress.say(str(ana.id), Address(ana.id), "That did not work.")
        await desk.answer(egress, ana, "The next answer.", Envelope(turn="u"))
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [f"{WORDS.strip()} […]", "That did not work.", "The next answer."]


async def test_a_preview_of_a_killed_process_becomes_the_answer_of_its_turn(desk: Any, ana: Person) -> None:
    preview = await desk.client.send_text(Address(ana.id), "These are")
    await desk.outbox.keep_preview(CHANNEL, str(ana.id), Address(ana.id).name, Preview("t", preview))
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            written.writes(WORDS)
            await written.shows()
            written.writes("The end.")
            await written.commits()
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [f"{WORDS}The end."]
    assert desk.api.screen(ana).last.id == preview


async def test_the_preview_of_another_turn_is_left_alone(desk: Any, ana: Person) -> None:
    preview = await desk.client.send_text(Address(ana.id), "An older answer, cut off")
    await desk.outbox.keep_preview(CHANNEL, str(ana.id), Address(ana.id).name, Preview("older", preview))
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            written.writes(WORDS)
            await written.shows("An older answer, cut off", WORDS.strip())
            await written.commits()
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == ["An older answer, cut off", WORDS.strip()]


async def test_a_preview_waits_until_the_answer_before_is_delivered(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana, name="1") as first:
            first.writes(WORDS)
            await first.shows()
            await first.commits()
            desk.api.fails("editMessageText", Fault.too_many(500))
        await desk.asleep(500)
        async with turn(desk, egress, ana, name="2") as second:
            second.writes("Second: " + WORDS)
            await desk.until(lambda: 1.0 in desk.clock.waits)
            desk.clock.move(50)
            await second.calls("sendChatAction", 3)
            await second.commits()
        assert desk.api.screen(ana).answers == [WORDS.strip()]
        desk.clock.move(500)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [WORDS.strip(), f"Second: {WORDS}".strip()]


@pytest.mark.parametrize("fault", [Fault.error(400, "Bad Request: NO_PREVIEWS_HERE"), Fault.drop(), Fault.page(500)])
async def test_a_preview_that_fails_is_given_up_and_the_answer_comes(desk: Any, ana: Person, fault: Fault) -> None:
    desk.api.fails("sendMessage", fault)
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            written.writes(WORDS)
            await written.calls("sendMessage", 1)
            written.writes("more")
            await written.calls("sendChatAction", 9)
            await written.commits()
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [f"{WORDS}more"]
    assert len(desk.api.calls_of("sendMessage")) == 2


async def test_a_preview_whose_formatting_is_refused_is_shown_plain(desk: Any, ana: Person) -> None:
    desk.api.fails("sendMessage", Fault.error(400, "Bad Request: can't parse entities"))
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            written.writes(f"**{WORDS.strip()}**")
            await written.shows(WORDS.strip())
            await written.commits()
        await desk.delivered(egress)
    assert desk.api.screen(ana).last.marked("bold") == [WORDS.strip()]


async def test_a_preview_that_somebody_deleted_is_replaced_by_the_answer(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            written.writes(WORDS)
            await written.shows()
            ana.deletes(desk.api.screen(ana).last)
            await written.commits()
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [WORDS.strip()]
    assert await desk.undelivered() == []


async def test_a_final_edit_whose_outcome_is_unknown_is_repeated(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        async with turn(desk, egress, ana) as written:
            written.writes(WORDS)
            await written.shows()
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
            written.writes(WORDS)
            await written.shows()
            written.text += "The end."
            await written.commits()
            desk.api.fails("editMessageText", Fault.page(502), calls=None)
        await desk.answer(egress, ana, "next")
        await desk.until(lambda: len(desk.api.screen(ana).answers) == 2, passing=20)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [WORDS.strip(), "next"]
    assert [outcome for outcome, _ in await desk.outcomes()] == [Outcome.UNKNOWN]


async def test_in_a_group_the_preview_replies_to_the_question_already(desk: Any, ana: Person) -> None:
    there = ana.at(desk.api.group("Group", ana))
    question = there.says("a question")
    async with desk.egress() as egress:
        async with turn(desk, egress, there, reply_to=question.id) as written:
            written.writes(WORDS)
            await written.shows()
            await written.commits()
        await desk.delivered(egress)
    [seen] = [seen for seen in desk.api.screen(there).messages if seen.from_bot]
    assert (seen.text, seen.reply_to) == (WORDS.strip(), question.id)


async def test_telegram_b16_groups_and_private_chats_are_streamed_without_drafts(desk: Any, ana: Person) -> None:
    desk.api.fails("sendMessageDraft", Fault.error(400, "Bad Request: TEXTDRAFT_PEER_INVALID"), calls=None)
    async with desk.egress() as egress:
        for place in (ana.at(desk.api.group("Group", ana)), ana):
            async with turn(desk, egress, place, name=str(place.chat.id)) as written:
                written.writes(WORDS)
                await written.shows()
                await written.commits()
            await desk.delivered(egress)
            assert desk.api.screen(place).answers == [WORDS.strip()]
    assert desk.api.calls_of("sendMessageDraft") == []


async def test_a_turn_that_is_ended_when_its_answer_is_committed_shows_the_answer(desk: Any, ana: Person) -> None:
    async def ends(egress: Any) -> None:
        async with turn(desk, egress, ana) as written:
            written.writes(WORDS)
            await written.shows()
            written.text += "The end."
            await written.commits()
            written.live.on_answer()
            raise asyncio.CancelledError

    async with desk.egress() as egress:
        with pytest.raises(asyncio.CancelledError):
            await ends(egress)
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers == [f"{WORDS}The end."]


async def test_an_answer_is_delivered_before_its_turn_has_ended(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress, turn(desk, egress, ana) as written:
        written.text = "Here it is."
        await written.commits()
        written.live.on_answer()
        await desk.until(lambda: desk.api.screen(ana).answers == ["Here it is."])


async def test_a_turn_that_is_ended_twice_still_hands_its_answer_over(desk: Any, ana: Person) -> None:
    async def works(egress: Any) -> None:
        async with turn(desk, egress, ana) as written:
            written.writes(WORDS)
            await written.shows()
            desk.api.fails("editMessageText", Fault.slow(0.3), calls=None)
            written.writes("more")
            await written.calls("editMessageText", 1)
            await written.commits()
            await asyncio.Event().wait()

    async with desk.egress() as egress:
        task = asyncio.create_task(works(egress))
        await desk.until(lambda: desk.archive.replies.pending != {})
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0.01)
        await asyncio.gather(task, return_exceptions=True)
        desk.api.mend()
        await desk.delivered(egress)
    assert desk.api.screen(ana).answers[-1] == f"{WORDS}more"
