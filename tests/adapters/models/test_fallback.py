"""What is done after each failure of a provider, over HTTP: again, later, the next model, or a sentence."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from goat.adapters.model_fallback import FallbackModel
from goat.errors import ModelError, ModelFault
from goat.records.models import ChatMessage, ModelRequest
from goat.testing.clock import FakeClock
from goat.testing.llm_answers import Answer, Tokens, fails, hangs, raw, says
from goat.testing.models import ScriptedModel

GOOD = says("It is blue.", pieces=3)
HALF = says("It is probably red, I would say.", pieces=6)

CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "main-model"}


def event(text: str, finish: str | None = None) -> str:
    return json.dumps({**CHUNK, "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})


@pytest.mark.parametrize(
    ("status", "tries"),
    [(429, 3), (500, 3), (502, 3), (529, 3), (408, 3), (401, 1), (403, 1), (402, 1), (404, 1), (400, 1)],
)
async def test_telegram_d7_a_class_of_errors_is_tried_so_often_and_then_the_next_model_answers(
    chain: Any, status: int, tries: int
) -> None:
    async with chain([fails(status)] * 5, [GOOD]) as one:
        reply = await one.ask()
    assert (reply.text, one.calls) == ("It is blue.", (tries, 1))
    assert "".join(one.shown) == "It is blue."
    assert reply.failed_calls == tries
    assert reply.notes[0].startswith("spare-model answers, because another could not (main-model: ")
    assert f"HTTP {status}" in reply.notes[0]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (fails(401), "the key was refused"),
        (fails(402), "the account has no credit left"),
        (fails(429, code="insufficient_quota"), "the account has no credit left"),
        (fails(404), "knows no such model or path"),
        (fails(429), "takes no more calls for now"),
        (fails(529), "the endpoint failed"),
        (fails(400, "this model's maximum context length is 4096 tokens"), "the prompt is too long"),
        (fails(400, "no such thing"), "the request was refused"),
    ],
    ids=["401", "402", "quota", "404", "429", "529", "context", "400"],
)
async def test_telegram_d7_the_person_is_told_which_error_it_was(chain: Any, answer: Answer, sentence: str) -> None:
    async with chain([answer] * 3) as one:
        with pytest.raises(ModelError) as told:
            await one.ask()
    assert sentence in told.value.problem
    assert str(told.value).startswith("The model main-model gave no answer: ")
    assert told.value.remedy


async def test_telegram_d7_every_model_that_failed_is_named_with_its_reason(chain: Any) -> None:
    async with chain([fails(401)], [fails(503)] * 3) as one:
        with pytest.raises(ModelError) as told:
            await one.ask()
    assert "the key was refused" in str(told.value)
    assert "spare-model: the endpoint failed (HTTP 503: scripted error 503), 3 times" in str(told.value)
    assert told.value.remedy.startswith("Check MODEL_API_KEY")


async def test_telegram_d7_a_wait_of_up_to_a_minute_is_kept_and_the_same_model_asked_again(chain: Any) -> None:
    async with chain([fails(429, retry_after=40), GOOD], [GOOD]) as one:
        reply = await one.ask()
    assert one.clock.monotonic() >= 40
    assert (one.calls, reply.notes) == ((2, 0), ())


async def test_telegram_d7_beyond_a_minute_the_next_model_is_asked_and_this_one_left_alone_until_then(
    chain: Any,
) -> None:
    async with chain([fails(429, retry_after=3600), GOOD], [GOOD, GOOD]) as one:
        await one.ask()
        assert one.clock.monotonic() == 0
        await one.ask()
        assert one.calls == (1, 2)
        one.clock.move(3700)
        await one.ask()
    assert one.calls == (2, 2)


async def test_waits_add_up_to_no_more_than_a_minute(chain: Any) -> None:
    async with chain([fails(429, retry_after=40)] * 3, [GOOD]) as one:
        await one.ask()
    assert one.calls == (2, 1)
    assert one.clock.monotonic() < 60


async def test_a_model_that_is_the_only_one_is_asked_although_it_wants_to_be_left_alone(chain: Any) -> None:
    async with chain([fails(429, retry_after=3600), GOOD]) as one:
        with pytest.raises(ModelError):
            await one.ask()
        assert (await one.ask()).text == "It is blue."


@pytest.mark.parametrize(("jitter", "waited"), [(0.0, 0.25 + 0.5), (1.0, 0.5 + 1.0)])
async def test_pauses_grow_and_are_spread(chain: Any, jitter: float, waited: float) -> None:
    async with chain([fails(500), fails(500), GOOD], jitter=lambda: jitter) as one:
        await one.ask()
    assert one.clock.monotonic() == pytest.approx(waited)


async def test_telegram_d7_a_stream_cut_in_the_middle_is_asked_for_again_and_its_text_is_in_no_reply_twice(
    chain: Any,
) -> None:
    async with chain([HALF.cut(2), GOOD]) as one:
        reply = await one.ask()
    assert reply.text == "It is blue."
    assert "".join(one.shown) == "".join(delta["content"] for delta in HALF.deltas[:2])
    assert reply.notes == ("The first answer broke off; this is a new one.",)


async def test_telegram_d7_two_models_are_never_mixed_in_one_reply(chain: Any) -> None:
    async with chain([HALF.cut(2), HALF.cut(4)], [GOOD]) as one:
        reply = await one.ask()
    assert reply.text == "It is blue."
    assert "blue" not in "".join(one.shown)
    assert reply.model == "spare-model"


async def test_telegram_d7_a_cut_stream_that_nobody_can_replace_ends_with_what_came_and_a_note(chain: Any) -> None:
    async with chain([HALF.cut(3), fails(401)], [fails(401)]) as one:
        reply = await one.ask()
    assert reply.text == "".join(one.shown) == "".join(delta["content"] for delta in HALF.deltas[:3])
    assert reply.finish_reason == "cut"
    assert reply.notes[0].startswith("The answer breaks off here: ")


async def test_telegram_d7_a_stream_that_is_cut_before_its_first_word_is_simply_asked_for_again(chain: Any) -> None:
    async with chain([HALF.cut(0), GOOD]) as one:
        reply = await one.ask()
    assert reply.text == "".join(one.shown) == "It is blue."
    assert reply.notes == ()


async def test_telegram_d7_a_stream_without_done_is_whole_when_it_says_why_it_ends(chain: Any) -> None:
    async with chain([GOOD.without_done()]) as one:
        assert (await one.ask()).text == "It is blue."


async def test_telegram_d7_a_stream_that_ends_without_a_word_on_why_has_broken_off(chain: Any) -> None:
    async with chain([raw(f"data: {event('It is')}\n\n"), GOOD]) as one:
        assert (await one.ask()).text == "It is blue."
    assert one.calls == (2, 0)


async def test_telegram_d7_keep_alive_comments_are_no_part_of_the_answer(chain: Any) -> None:
    async with chain([replace(GOOD, comments=True)]) as one:
        assert (await one.ask()).text == "It is blue."


async def test_telegram_d7_two_objects_in_one_event_are_both_read(chain: Any) -> None:
    async with chain([raw(f"data: {event('It is ')}{event('blue.', 'stop')}\n\ndata: [DONE]\n\n")]) as one:
        reply = await one.ask()
    assert (reply.text, one.shown) == ("It is blue.", ["It is ", "blue."])


async def test_telegram_d7_a_first_word_that_takes_too_long_goes_to_the_next_model(chain: Any) -> None:
    async with chain([hangs()], [GOOD], timeout_seconds=1) as one:
        reply = await one.ask()
    assert (reply.text, one.calls) == ("It is blue.", (1, 1))
    assert "was silent for 1 second)" in reply.notes[0]


async def test_comments_alone_do_not_keep_a_silent_stream_alive(chain: Any) -> None:
    comments = replace(raw(*[": still here\n\n"] * 200), between=0.05)
    async with chain([comments], [GOOD], timeout_seconds=1, stall_seconds=1) as one:
        assert (await one.ask()).text == "It is blue."


async def test_a_pause_that_is_too_long_ends_with_what_came_when_there_is_no_other_model(chain: Any) -> None:
    async with chain([HALF.hang(2)], stall_seconds=0.2) as one:
        reply = await one.ask()
    assert reply.text == "".join(one.shown) != ""
    assert "was silent for 0.2 seconds" in reply.notes[0]


async def test_a_call_that_takes_too_long_as_a_whole_ends_with_what_came_and_is_not_repeated(chain: Any) -> None:
    async with chain([HALF.slow(between=0.6)], [GOOD], call_seconds=2) as one:
        reply = await one.ask()
    assert HALF.deltas[0]["content"] in reply.text
    assert "the call took longer than 2 seconds" in reply.notes[0]
    assert one.calls == (1, 0)


async def test_telegram_d7_a_prompt_that_is_too_long_is_asked_again_without_the_older_conversation(chain: Any) -> None:
    too_long = fails(400, "the request exceeds the available context size", code="context_length_exceeded")
    async with chain([too_long, GOOD]) as one:
        reply = await one.ask()
    contents = [message["content"] for message in one.main.prompts[1].messages]
    assert contents == ["You are GOAT.", "[data] It is noon.", "What colour is my boat?"]
    assert reply.notes == (
        "The conversation was too long for main-model, so its older part was left out of this answer.",
    )


async def test_telegram_d7_what_is_still_too_long_goes_to_the_next_model_whole(chain: Any) -> None:
    too_long = fails(413, "prompt is too long: 9000 tokens")
    async with chain([too_long, too_long], [GOOD]) as one:
        await one.ask()
    assert one.calls == (2, 1)
    assert len(one.spare.prompts[0].messages) == 5


async def test_the_calls_in_vain_are_in_the_usage_of_the_reply(chain: Any) -> None:
    cut = HALF.costing(Tokens(100, 0)).finishing("length")
    empty = replace(cut, deltas=())
    async with chain([empty, empty], [GOOD.costing(Tokens(50, 7, cached=20))]) as one:
        reply = await one.ask()
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.cached_tokens) == (250, 7, 20)


async def test_leaving_ends_the_call_and_asks_nobody_else(chain: Any) -> None:
    async with chain([HALF.hang(2)], [GOOD]) as one:
        asking = asyncio.create_task(one.ask())
        await one.begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await asyncio.to_thread(one.main.wait_for, lambda: one.main.abandoned == [1])
    assert one.calls == (1, 0)


@pytest.mark.parametrize("fault", list(ModelFault))
async def test_every_kind_of_failure_ends_after_a_few_tries(fault: ModelFault) -> None:
    always = ScriptedModel([ModelError("m", "no", "Do.", fault)])
    with pytest.raises(ModelError):
        await FallbackModel([always, always], FakeClock()).reply(ModelRequest((ChatMessage("user", "Hello?"),)))
    assert len(always.requests) <= 6
