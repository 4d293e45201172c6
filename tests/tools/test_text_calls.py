"""Calls that arrive as text become calls, and nothing of their markup reaches the person."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.tools.text_calls import CallFilter, Found

V = "\uff5c\uff5c"
KNOWN = ("add", "read_file")


def dsml(body: str, name: str = "add", bars: str = V, wrapper: str = "tool_calls") -> str:
    invoke = f'<{bars}DSML{bars}invoke name="{name}">{body}</{bars}DSML{bars}invoke>'
    return f"<{bars}DSML{bars}{wrapper}>\n{invoke}\n</{bars}DSML{bars}{wrapper}>" if wrapper else invoke


def parameter(key: str, value: str, string: str, bars: str = V) -> str:
    return f'<{bars}DSML{bars}parameter name="{key}" string="{string}">{value}</{bars}DSML{bars}parameter>'


FORMS = {
    "dsml json": dsml('{"a": 1, "b": 2}'),
    "dsml parameters": dsml(parameter("a", "1", "false") + parameter("b", "2", "false")),
    "dsml without a wrapper": dsml('{"a": 1, "b": 2}', wrapper=""),
    "dsml function_calls": dsml('{"a": 1, "b": 2}', bars="\uff5c", wrapper="function_calls"),
    "dsml double bars": dsml('{"a": 1, "b": 2}', bars="\u2016"),
    "dsml plain bars": dsml('{"a": 1, "b": 2}', bars="|"),
    "no bars": '<function_calls><invoke name="add"><parameter name="a">1</parameter>'
    '<parameter name="b">2</parameter></invoke></function_calls>',
    "hermes": '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>',
    "qwen": "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\n2\n</parameter>\n"
    "</function>\n</tool_call>",
    "llama function": '<function=add>{"a": 1, "b": 2}</function>',
    "llama python tag": '<|python_tag|>{"name": "add", "parameters": {"a": 1, "b": 2}}<|eom_id|>',
    "mistral": '[TOOL_CALLS][{"name": "add", "arguments": {"a": 1, "b": 2}}]',
    "mistral named": '[TOOL_CALLS]add{"a": 1, "b": 2}',
    "fenced": '```json\n{"tool": "add", "arguments": {"a": 1, "b": 2}}\n```',
    "bare": '{"name": "add", "parameters": {"a": 1, "b": 2}}',
}


def whole(text: str) -> Found:
    return CallFilter(KNOWN).finish(text)


def streamed(pieces: list[str]) -> str:
    one = CallFilter(KNOWN)
    return "".join(one.feed(piece) for piece in pieces)


@pytest.mark.parametrize("form", FORMS)
def test_telegram_d4_every_known_form_becomes_a_call_and_is_never_shown(form: str) -> None:
    found = whole(FORMS[form])
    assert [(call.name, json.loads(call.arguments)) for call in found.calls] == [("add", {"a": 1, "b": 2})]
    assert found.text.strip() == ""
    assert not found.broken


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("form", [form for form in FORMS if form != "bare"])
def test_telegram_d4_no_split_over_pieces_shows_any_markup(form: str, size: int) -> None:
    text = f"Let me see. {FORMS[form]}" if form != "fenced" else f"Let me see. \n{FORMS[form]}"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert streamed(pieces).strip() == "Let me see."
    assert len(whole(text).calls) == 1


def test_f_b47_several_calls_at_once_keep_their_order() -> None:
    text = FORMS["hermes"] + "\n" + FORMS["dsml json"].replace("add", "read_file") + FORMS["llama function"]
    assert [call.name for call in whole(text).calls] == ["add", "read_file", "add"]


def test_f_b48_typed_parameters_keep_their_types_whatever_the_order_of_attributes() -> None:
    swapped = f'<{V}DSML{V}parameter string="false" name="b">[1, true]</{V}DSML{V}parameter>'
    found = whole(dsml(parameter("a", "007", "true") + swapped + parameter("c", "no json", "false")))
    assert json.loads(found.calls[0].arguments) == {"a": "007", "b": [1, True], "c": "no json"}


def test_markup_inside_a_text_parameter_is_no_second_call() -> None:
    found = whole(dsml(parameter("path", FORMS["hermes"], "true"), name="read_file"))
    assert [call.name for call in found.calls] == ["read_file"]
    assert json.loads(found.calls[0].arguments) == {"path": FORMS["hermes"]}


@pytest.mark.parametrize(
    "text",
    [
        dsml('{"a": 1')[:50],
        '<tool_call>{"name": "add", "argu',
        "<tool_call>no json</tool_call>",
        "[TOOL_CALLS][{",
        "<function=add>{",
    ],
)
def test_telegram_d4_what_cannot_be_read_is_reported_and_not_shown(text: str) -> None:
    found = whole(f"Wait.\n{text}")
    assert (found.text.strip(), found.calls, found.broken) == ("Wait.", (), True)


@pytest.mark.parametrize(
    "text",
    [
        f"Use `{FORMS['hermes']}` for that.".replace("\n", ""),
        f"```xml\n{FORMS['hermes']}\n```\nDone.",
        f"```\n{FORMS['llama function']}\n```",
        "if a < b and c > d: print(x[0])",
        "[TODO] write <b>bold</b>",
        '{"name": "unknown", "arguments": {}}',
        '```json\n{"name": "add", "age": 3}\n```',
        "Tags like `<think>` stay.",
    ],
)
def test_telegram_d3_what_the_person_asked_to_see_stays(text: str) -> None:
    assert whole(text) == Found(text)


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("<think>secret plan</think>\n\nHello", "Hello"),
        ("<think>never ends", ""),
        (f"<think>{FORMS['hermes']}</think>Hello", "Hello"),
        ("Hello <thinking>x</thinking>there", "Hello there"),
    ],
)
def test_telegram_d3_thoughts_are_left_out_and_no_call_in_them_counts(text: str, visible: str) -> None:
    found = whole(text)
    assert (found.text, found.calls) == (visible, ())
    assert "secret" not in streamed(list(text))


@given(st.text(alphabet="<>|/`[{\n abc\uff5c", max_size=80), st.integers(1, 5))
def test_a_stream_never_shows_what_the_whole_text_hides(text: str, size: int) -> None:
    shown = streamed([text[at : at + size] for at in range(0, len(text), size)])
    final = whole(text)
    assert final.broken or final.calls or final.text.startswith(shown)


FRAGMENTS = [
    "word ",
    "\n",
    "```",
    "```json\n",
    "```py\n",
    "`",
    "{",
    '{"name": "add", "arguments": {}}',
    "<",
    "</think>",
]
FRAGMENTS += [
    "<think>",
    "<tool_call>",
    "</tool_call>",
    "<function=add>",
    "</function>",
    "[TOOL_CALLS]",
    *FORMS.values(),
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8), st.integers(1, 9))
def test_any_mixture_of_marks_is_streamed_as_it_is_read_whole(parts: list[str], size: int) -> None:
    text = "".join(parts)
    shown = streamed([text[at : at + size] for at in range(0, len(text), size)])
    final = whole(text)
    assert final.text.startswith(shown.rstrip())
