"""Each kind of answer that is no plain text has one defined outcome, streamed or whole, over HTTP."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from goat.errors import ModelError, ModelFault
from goat.records.models import ChatMessage, ModelRequest, ToolCall
from goat.testing.llm_answers import (
    Answer,
    error_inside,
    fails,
    no_choices,
    page,
    raw,
    refuses,
    says,
    says_nothing,
    thinks,
)

GOOD = says("It is blue.", pieces=3)
EMPTY: dict[str, Answer] = {
    "an empty text": says_nothing(""),
    "no text": says_nothing(),
    "no choices": no_choices(),
    "cut before the first word": says_nothing().finishing("length"),
    "white space": says(" \n "),
}
empty = pytest.mark.parametrize("nothing", EMPTY.values(), ids=EMPTY.keys())


@empty
async def test_telegram_d1_an_empty_answer_is_asked_for_once_more_with_a_nudge(chain: Any, nothing: Answer) -> None:
    async with chain([nothing, GOOD]) as one:
        reply = await one.ask()
    assert reply.text == "It is blue."
    assert reply.failed_calls == 1
    first, second = (prompt.messages for prompt in one.main.prompts)
    assert second[:-1] == first
    assert "empty" in second[-1]["content"]


@empty
async def test_telegram_d1_after_two_empty_answers_the_next_model_answers_the_plain_question(
    chain: Any, nothing: Answer
) -> None:
    async with chain([nothing, nothing], [GOOD]) as one:
        reply = await one.ask_whole()
    assert (reply.text, one.calls) == ("It is blue.", (2, 1))
    assert one.spare.prompts[0].messages == one.main.prompts[0].messages
    assert "spare-model answers, because another could not (main-model: " in reply.notes[0]


@empty
async def test_telegram_d1_without_a_next_model_the_person_is_told_and_what_to_do(chain: Any, nothing: Answer) -> None:
    async with chain([nothing, nothing]) as one:
        with pytest.raises(ModelError) as told:
            await one.ask()
    assert told.value.fault is ModelFault.EMPTY
    assert "The model main-model gave no answer: " in str(told.value)
    assert "goat model use" in told.value.remedy or "max_tokens" in told.value.remedy


async def test_telegram_d1_an_error_in_the_place_of_an_answer_is_tried_again(chain: Any) -> None:
    async with chain([error_inside("no provider is free"), GOOD]) as one:
        assert (await one.ask_whole()).text == "It is blue."


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
async def test_telegram_d2_reasoning_alone_is_no_answer_and_never_shown(chain: Any, whole: bool) -> None:
    thought = thinks("The person has a boat; it may be blue.")
    async with chain([thought, thought]) as one:
        with pytest.raises(ModelError, match="it thought, but said nothing, 2 times"):
            await (one.ask_whole() if whole else one.ask())
    assert one.shown == []
    assert one.calls == (2, 0)


async def test_telegram_d2_reasoning_before_an_answer_is_left_out_of_it(chain: Any) -> None:
    async with chain([thinks("The person has a boat.", "It is blue.")]) as one:
        reply = await one.ask()
    assert reply.text == "".join(one.shown) == "It is blue."


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
async def test_telegram_d3_thoughts_in_tags_are_stripped_from_the_stream_and_from_the_reply(
    chain: Any, whole: bool
) -> None:
    script = says("", pieces=["<th", "ink>", "A boat", " …</thi", "nk>", "\n\nIt is", " blue."])
    async with chain([script]) as one:
        reply = await (one.ask_whole() if whole else one.ask())
    assert reply.text == "It is blue."
    assert whole or "".join(one.shown) == "It is blue."


async def test_telegram_d3_a_thought_that_never_ends_is_no_answer(chain: Any) -> None:
    async with chain([says("<think>A boat, a boat"), GOOD]) as one:
        reply = await one.ask()
    assert reply.text == "".join(one.shown) == "It is blue."


async def test_telegram_d3_a_tag_in_a_code_block_stays(chain: Any) -> None:
    text = "So:\n```\n<think>in here</think>\n```\nand `<think>` too."
    async with chain([says(text, pieces=9)]) as one:
        reply = await one.ask()
    assert reply.text == "".join(one.shown) == text


async def test_telegram_d3_a_thought_without_its_opening_tag_is_stripped_and_from_then_on_not_even_shown(
    chain: Any,
) -> None:
    headless = says("", pieces=["A boat …", "\n</think>", "\n\n", "It is ", "blue."])
    async with chain([headless, headless]) as one:
        first = await one.ask()
        one.shown.clear()
        second = await one.ask()
    assert first.text == second.text == "".join(one.shown) == "It is blue."


async def test_a_refusal_in_its_own_field_is_the_answer(chain: Any) -> None:
    async with chain([refuses("I will not help with that.")]) as one:
        reply = await one.ask()
    assert (reply.text, reply.finish_reason) == ("I will not help with that.", "refusal")


async def test_an_answer_at_its_limit_comes_with_a_note(chain: Any) -> None:
    async with chain([says("It is bl").finishing("length")], max_tokens=5) as one:
        reply = await one.ask()
    assert reply.text == "It is bl"
    assert reply.notes == ("The answer ends at its limit of 5 tokens ([model] max_tokens).",)


async def test_an_answer_that_the_filter_ended_comes_with_a_note(chain: Any) -> None:
    async with chain([says("It is").finishing("content_filter")]) as one:
        assert "filter ended the answer early" in (await one.ask()).notes[0]


async def test_an_answer_that_the_filter_held_back_is_the_end_and_asked_of_nobody_else(chain: Any) -> None:
    async with chain([says_nothing("").finishing("content_filter")], [GOOD]) as one:
        with pytest.raises(ModelError, match="the provider's filter held the answer back"):
            await one.ask()
    assert one.calls == (1, 0)


@pytest.mark.parametrize(
    "malformed",
    [raw("data: {broken\n\n"), raw("data: {}\n\n"), page(200), raw("[]", stream=False)],
    ids=["no JSON", "another protocol", "a page", "a list"],
)
async def test_an_answer_that_is_not_the_protocol_goes_to_the_next_model_and_else_names_the_setting(
    chain: Any, malformed: Answer
) -> None:
    async with chain([malformed], [GOOD]) as one:
        assert (await one.ask()).text == "It is blue."
    async with chain([malformed]) as one:
        with pytest.raises(ModelError, match=r"does not answer in OpenAI's chat protocol\. Check \[model\] base_url"):
            await one.ask()


async def test_content_in_parts_is_text(chain: Any) -> None:
    parts = [
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": "It is "},
        {"type": "text", "text": "blue."},
    ]
    body = {"choices": [{"message": {"role": "assistant", "content": parts}, "finish_reason": "stop"}]}
    async with chain([raw(json.dumps(body), stream=False)]) as one:
        assert (await one.ask_whole()).text == "It is blue."


async def test_telegram_d10_what_another_provider_left_in_the_conversation_is_normalised(chain: Any) -> None:
    foreign = "chatcmpl-tool-9f8e7d6c5b4a39281706f5e4d3c2b1a0|fc_68"
    request = ModelRequest(
        (
            ChatMessage("user", "Look both up."),
            ChatMessage("assistant", "", (ToolCall(foreign, "a", "{}"), ToolCall(foreign, "b", "{}"))),
            ChatMessage("tool", "first", tool_call_id=foreign),
            ChatMessage("tool", "second", tool_call_id=foreign),
        )
    )
    async with chain([fails(500), fails(500), fails(500)], [GOOD]) as one:
        await one.ask(request)
    sent = one.spare.prompts[0].messages
    ids = [call["id"] for call in sent[1]["tool_calls"]]
    assert ids == ["call00001", "call00002"]
    assert [(one["tool_call_id"], one["content"]) for one in sent[2:]] == [(ids[0], "first"), (ids[1], "second")]
    assert set(sent[1]) == {"role", "content", "tool_calls"}


async def test_telegram_d10_thoughts_of_one_model_are_not_in_what_the_next_one_is_sent(chain: Any) -> None:
    async with chain([thinks("secret thoughts", "It is blue."), says("Yes.")]) as one:
        reply = await one.ask()
        again = (ChatMessage("assistant", reply.text), ChatMessage("user", "Sure?"))
        await one.ask(replace(ModelRequest(()), messages=(*again,)))
    assert b"secret thoughts" not in one.main.prompts[1].body


async def test_a_schema_binds_the_answer_and_an_answer_beside_it_is_asked_for_again(chain: Any) -> None:
    schema = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
    request = replace(ModelRequest((ChatMessage("user", "What colour?"),)), schema=schema)
    async with chain([says("Blue, I think."), says('{"colour": "blue"}')]) as one:
        reply = await one.ask_whole(request)
    assert reply.text == '{"colour": "blue"}'
    sent = one.main.prompts[0].json["response_format"]
    assert (sent["type"], sent["json_schema"]["schema"]) == ("json_schema", schema)
