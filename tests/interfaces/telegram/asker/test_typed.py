"""Questions about tools, answered by a word."""

from __future__ import annotations

from typing import Any

import pytest

from goat.testing.bot_api import FakeBotApi, Person


@pytest.mark.parametrize("word", ["yes", "Yes!", "да", "ok do it", "OK.", "👍", "da"])
async def test_telegram_f4_a_typed_yes_answers_the_only_question(room: Any, ana: Person, word: str) -> None:
    call = await room.asks(ana)
    ana.says(word)
    assert room.typed() == ""
    assert (await call).refusal == ""


@pytest.mark.parametrize("word", ["no", "No.", "nu", "👎"])
async def test_telegram_f4_a_typed_no_answers_the_only_question(room: Any, ana: Person, word: str) -> None:
    call = await room.asks(ana)
    ana.says(word)
    assert room.typed() == ""
    assert (await call).refusal


@pytest.mark.parametrize("text", ["yes, and also list the hidden ones", "what would it do?", "yesterday", "", "okra"])
async def test_telegram_f4_other_words_are_no_answer(room: Any, ana: Person, text: str) -> None:
    await room.asks(ana)
    if text:
        ana.says(text)
    else:
        ana.sends_photo()
    assert room.typed() is None
    assert len(room.prompts(ana)) == 1


async def test_telegram_f4_without_a_question_a_yes_is_a_message(room: Any, ana: Person) -> None:
    ana.says("yes")
    assert room.typed() is None


async def test_telegram_f4_with_two_questions_a_yes_must_answer_one(room: Any, ana: Person) -> None:
    first, second = await room.asks(ana, "one"), await room.asks(ana, "two")
    ana.says("yes")
    assert "Several questions are open" in (room.typed() or "")
    assert not first.done()
    assert not second.done()
    ana.replies_to(room.prompts(ana)[1], "yes")
    assert room.typed() == ""
    assert (await second).refusal == ""
    ana.says("no")
    assert room.typed() == ""
    assert (await first).refusal


async def test_telegram_f4_a_yes_that_answers_another_message_is_a_message(room: Any, ana: Person) -> None:
    await room.asks(ana)
    ana.replies_to(ana.says("shall we meet?"), "yes")
    assert room.typed() is None


async def test_telegram_f4_a_risk_is_taken_by_the_button_only(room: Any, ana: Person) -> None:
    call = await room.asks(ana, "rm -rf build")
    (prompt,) = room.prompts(ana)
    assert prompt.text.endswith("\n\nNote: it deletes.")
    ana.says("yes")
    assert "press its button" in (room.typed() or "")
    ana.replies_to(prompt, "yes")
    assert "press its button" in (room.typed() or "")
    assert not call.done()
    await room.pressed(ana.taps(prompt, "✅ Yes"))
    assert (await call).refusal == ""


async def test_telegram_f4_a_risk_can_be_refused_by_a_word(room: Any, ana: Person) -> None:
    call = await room.asks(ana, "rm -rf build")
    ana.says("no")
    assert room.typed() == ""
    assert (await call).refusal


@pytest.mark.parametrize("word", ["yes", "da", "ok", "no"])
async def test_telegram_f4_a_word_below_a_file_is_no_answer(room: Any, ana: Person, word: str) -> None:
    await room.asks(ana)
    ana.sends_photo(caption=word)
    assert room.typed() is None
    ana.sends_voice(caption=word)
    assert room.typed() is None
    ana.says(word, location={"latitude": 44.4, "longitude": 26.1})
    assert room.typed() is None
    assert len(room.prompts(ana)) == 1


@pytest.mark.parametrize("word", ["yes", "ok", "no"])
async def test_telegram_f4_words_of_others_are_no_answer(room: Any, api: FakeBotApi, ana: Person, word: str) -> None:
    await room.asks(ana)
    ben = api.person("Ben")
    ana.forwards(word, ben.user)
    assert room.typed() is None
    ana.quotes_elsewhere(word, "shall we?", ben.user)
    assert room.typed() is None
    ana.says(word, via_bot=ben.user.as_json())
    assert room.typed() is None
    assert len(room.prompts(ana)) == 1


async def test_telegram_f4_an_edit_into_a_yes_is_no_answer(room: Any, ana: Person) -> None:
    await room.asks(ana)
    ana.edits(ana.says("what would it do?"), "yes")
    assert room.typed() is None
    assert len(room.prompts(ana)) == 1


async def test_telegram_f4_a_yes_may_quote_the_question(room: Any, ana: Person) -> None:
    call = await room.asks(ana)
    ana.replies_to(room.prompts(ana)[0], "yes", "May this run?")
    assert room.typed() == ""
    assert (await call).refusal == ""


async def test_telegram_f4_the_romanian_and_is_no_yes(room: Any, ana: Person) -> None:
    await room.asks(ana)
    ana.says("si")
    assert room.typed() is None
